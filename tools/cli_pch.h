// What every program that reads options includes, precompiled once: CLI11's header takes longer than the rest of it.
#include "CLI/CLI.hpp"
#include "sinter/runtime/host/runtime_pch.h"
