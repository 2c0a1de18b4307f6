// The interface of what computes calls: generated kernels of a device, hand-written kernels, libraries.
//
//   if (backend.Computes(call)) {
//     SINTER_ASSIGN_OR_RETURN(int64_t bytes, backend.WorkspaceBytes(call));   // In select-kernels.
//     SINTER_RETURN_IF_ERROR(backend.Emit(call, writer));                     // In emit.
//   }
//
// codegen/plan/backends.cc lists all back ends in order. To add one, add its files and a row of that list.
#ifndef SINTER_CODEGEN_STEPS_CALL_BACKEND_H_
#define SINTER_CODEGEN_STEPS_CALL_BACKEND_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "llvm/ADT/StringRef.h"
#include "sinter/codegen/steps/step_writer.h"
#include "sinter/ir/plan/plan_ops.h"

namespace sinter::codegen {

class CallBackend {
 public:
  virtual ~CallBackend() = default;

  // The name that select-kernels writes to a call: "cuda.catalog".
  virtual llvm::StringRef name() const = 0;
  // True if this back end computes calls of this kind on the call's device. The first back end of the list
  // for which this is true computes the call.
  virtual bool Computes(plan_ir::CallOp call) const = 0;
  // Returns the bytes of workspace that the call needs, without memory that a library allocates itself at
  // Load. Builds no text. UNIMPLEMENTED, with the user's line and the reason, for a form of the op that this
  // back end does not compute.
  virtual absl::StatusOr<int64_t> WorkspaceBytes(plan_ir::CallOp call) = 0;
  // Adds the call's steps to `writer`, and the code that they run to the plan's generated code.
  // INVALID_ARGUMENT if the call has less workspace than it needs.
  virtual absl::Status Emit(plan_ir::CallOp call, StepWriter& writer) = 0;
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_STEPS_CALL_BACKEND_H_
