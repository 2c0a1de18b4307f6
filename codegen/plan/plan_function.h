// Writes one plan.function into a plan file: its ports, its buffers, its steps.
//
//   SINTER_ASSIGN_OR_RETURN(Offset<fb::Function> table, WriteFunction(function, plan, backends));
#ifndef SINTER_CODEGEN_PLAN_PLAN_FUNCTION_H_
#define SINTER_CODEGEN_PLAN_PLAN_FUNCTION_H_

#include "absl/status/statusor.h"
#include "runtime/plan_generated.h"
#include "sinter/codegen/plan/backends.h"
#include "sinter/codegen/steps/plan_contents.h"
#include "sinter/ir/plan/plan_ops.h"

namespace sinter::codegen {

// The back end that each call names writes the call's steps, and adds to the code of `backends`.
absl::StatusOr<flatbuffers::Offset<fb::Function>> WriteFunction(plan_ir::FunctionOp function,
                                                                PlanContents& plan, Backends& backends);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_PLAN_PLAN_FUNCTION_H_
