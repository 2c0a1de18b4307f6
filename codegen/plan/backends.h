// The back ends of a plan's calls, in order, and the code that they generate.
//
//   Backends backends(context);
//   SINTER_ASSIGN_OR_RETURN(CallBackend* backend, backends.Choose(call));   // In select-kernels.
//   SINTER_ASSIGN_OR_RETURN(CallBackend* backend, backends.Of(call));       // In emit: by its name.
#ifndef SINTER_CODEGEN_PLAN_BACKENDS_H_
#define SINTER_CODEGEN_PLAN_BACKENDS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/codegen/cpu/cpu_code.h"
#include "sinter/codegen/cuda/cuda_kernels.h"
#include "sinter/codegen/steps/call_backend.h"

namespace sinter::codegen {

class Backends {
 public:
  explicit Backends(mlir::MLIRContext* context);

  // Returns the first back end that computes the call. UNIMPLEMENTED, with the user's line, if there is none.
  absl::StatusOr<CallBackend*> Choose(plan_ir::CallOp call) const;
  // Returns the back end that the call names. INVALID_ARGUMENT, with the user's line, if it names none, or
  // one that does not exist or does not compute it.
  absl::StatusOr<CallBackend*> Of(plan_ir::CallOp call) const;

  // The code that the back ends have generated.
  CpuCode& cpu_code() { return cpu_code_; }
  CudaKernels& cuda_kernels() { return cuda_kernels_; }

 private:
  CpuCode cpu_code_;
  CudaKernels cuda_kernels_;
  std::vector<std::unique_ptr<CallBackend>> backends_;
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_PLAN_BACKENDS_H_
