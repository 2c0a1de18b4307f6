// Compiles the code of user kernels on CPUs; LibraryLowerings makes the KernelSteps that call it.
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

// True if a planned module calls a user kernel on a CPU.
bool HasElementwiseKernels(mlir::ModuleOp module);

// Compiles all user kernels that the planned module calls on CPUs, equal kernels once, and links them into
// `code`, which is optimised later. INVALID_ARGUMENT: the user's line and the compiler's messages.
// FAILED_PRECONDITION: Sinter was built without the Clang library.
absl::Status LinkElementwiseKernels(mlir::ModuleOp module, const CpuTarget& target, llvm::Module& code);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_ELEMENTWISE_KERNELS_H_
