// Lowers the MLIR module of kernels (fused_kernel.h) to LLVM IR for shared_object.h.
//
//   llvm::LLVMContext context;
//   SINTER_ASSIGN_OR_RETURN(auto llvm_module, LowerKernelsToLlvm(kernels.module(), context));
//
// The MLIR module is consumed: it ends in the LLVM dialect. Math ops become calls of the sn_* vector math.
#ifndef SINTER_CODEGEN_CPU_LOWER_KERNELS_TO_LLVM_H_
#define SINTER_CODEGEN_CPU_LOWER_KERNELS_TO_LLVM_H_

#include <memory>

#include "absl/status/statusor.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "mlir/IR/BuiltinOps.h"

namespace sinter::codegen {

absl::StatusOr<std::unique_ptr<llvm::Module>> LowerKernelsToLlvm(mlir::ModuleOp module,
                                                                 llvm::LLVMContext& context);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_LOWER_KERNELS_TO_LLVM_H_
