// The code of user-defined kernels on CPUs. Their steps are KernelSteps, by LibraryLowerings; this is what those call.
//
//   if (HasElementwiseKernels(module)) {
//     SINTER_RETURN_IF_ERROR(LinkElementwiseKernels(module, target, *llvm_module));
//   }
#ifndef SINTER_CODEGEN_CPU_ELEMENTWISE_KERNELS_H_
#define SINTER_CODEGEN_CPU_ELEMENTWISE_KERNELS_H_

#include "absl/status/status.h"
#include "llvm/IR/Module.h"
#include "mlir/IR/BuiltinOps.h"
#include "sinter/codegen/cpu/target_machine.h"

namespace sinter::codegen {

// Whether a planned module calls any on a CPU.
bool HasElementwiseKernels(mlir::ModuleOp module);

// Compiles all that the planned module calls on CPUs, equal ones once, into `code`, which is optimised afterwards.
// INVALID_ARGUMENT: the user's line and the compiler's messages. FAILED_PRECONDITION: built without the Clang library.
absl::Status LinkElementwiseKernels(mlir::ModuleOp module, const CpuTarget& target, llvm::Module& code);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_ELEMENTWISE_KERNELS_H_
