// The back end of collectives: a member's call becomes one step of the plan.
//
//   std::unique_ptr<CallBackend> collectives = MakeCollectiveBackend();
#ifndef SINTER_CODEGEN_PLAN_LOWER_COLLECTIVE_H_
#define SINTER_CODEGEN_PLAN_LOWER_COLLECTIVE_H_

#include <memory>

#include "sinter/codegen/steps/call_backend.h"

namespace sinter::codegen {

// Emit returns InvalidArgument, with the user's line, if a collective's tensors have several element types.
std::unique_ptr<CallBackend> MakeCollectiveBackend();

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_PLAN_LOWER_COLLECTIVE_H_
