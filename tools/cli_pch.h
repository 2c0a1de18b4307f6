// Precompiled header of the programs that parse options.
// CLI11's header takes longer to compile than the rest of such a program.
#include "CLI/CLI.hpp"
#include "sinter/runtime/host/runtime_pch.h"
