// Lowers a member's call of a collective to a step of the plan.
//
//   SINTER_ASSIGN_OR_RETURN(Offset<fb::CollectiveStep> body, LowerCollective(call, plan));
#ifndef SINTER_CODEGEN_PLAN_LOWER_COLLECTIVE_H_
#define SINTER_CODEGEN_PLAN_LOWER_COLLECTIVE_H_

#include "absl/status/statusor.h"
#include "runtime/plan_generated.h"
#include "sinter/ir/plan/plan_ops.h"

namespace sinter::codegen {

struct PlanContents;

// `call` holds one op of the collective family. InvalidArgument, with the user's line, if its tensors have
// several element types.
absl::StatusOr<flatbuffers::Offset<fb::CollectiveStep>> LowerCollective(plan_ir::CallOp call,
                                                                        PlanContents& plan);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_PLAN_LOWER_COLLECTIVE_H_
