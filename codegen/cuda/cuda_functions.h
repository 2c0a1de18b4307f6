// Which of CUDA's functions, or of kernels/cuda/prelude.cuh where those are quicker and as good, computes what generated code
// asks for.
//
//   CudaFunction(exp_op, /*single=*/true)      // "sn_exp"
#ifndef SINTER_CODEGEN_CUDA_CUDA_FUNCTIONS_H_
#define SINTER_CODEGEN_CUDA_CUDA_FUNCTIONS_H_

#include "llvm/ADT/StringRef.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Operation.h"

namespace sinter::codegen {

// Of an op of the math dialect, for f32 (`single`) or f64. Empty: there is none.
llvm::StringRef CudaFunction(mlir::Operation* op, bool single);

// Of 1 + tanh(x) in f32, as in GELU: x, for sn_one_plus_tanh. Null: the sum is another.
mlir::Value TanhAddedToOne(mlir::arith::AddFOp op);

// Whether it is 1 / (1 + e to some power) in f32, a sigmoid's division: that of a number of at least 1, for sn_reciprocal.
bool IsOneOverOneAndExp(mlir::arith::DivFOp op);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CUDA_FUNCTIONS_H_
