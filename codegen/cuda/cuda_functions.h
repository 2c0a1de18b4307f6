// The CUDA function for each math op of generated code.
// It is CUDA's own, or a function of kernels/cuda/prelude.cuh that is faster and as accurate.
//
//   CudaFunction(exp_op, /*single=*/true)      // "sn_exp"
#ifndef SINTER_CODEGEN_CUDA_CUDA_FUNCTIONS_H_
#define SINTER_CODEGEN_CUDA_CUDA_FUNCTIONS_H_

#include "llvm/ADT/StringRef.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Operation.h"

namespace sinter::codegen {

// Returns the function for an op of the math dialect, in f32 (`single`) or f64; empty if there is none.
llvm::StringRef CudaFunction(mlir::Operation* op, bool single);

// Returns x if the op is 1 + tanh(x) in f32, as in GELU, for sn_one_plus_tanh; null for other sums.
mlir::Value TanhAddedToOne(mlir::arith::AddFOp op);

// True for 1 / (1 + exp(x)) in f32, the division of a sigmoid. The divisor is at least 1, so sn_reciprocal
// applies.
bool IsOneOverOneAndExp(mlir::arith::DivFOp op);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CUDA_FUNCTIONS_H_
