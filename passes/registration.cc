#include "sinter/passes/passes.h"

namespace sinter {
namespace {

#define GEN_PASS_REGISTRATION
#include "passes/passes.h.inc"

}  // namespace

void RegisterPasses() { registerSinterPasses(); }

}  // namespace sinter
