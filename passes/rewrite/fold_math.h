// Folds mathematical functions of constants with the code that computes them at run time.
//
//   if (IsMathFunction(op)) value = FoldMathFunction(op, {x});
//
// MLIR's folders call the C library, which selects one of several versions of a function by the CPU: a
// program would give different plans on different machines. This folder calls kernels/cpu/math/vector_math.h,
// which gives the same bits on all machines and at run time.
#ifndef SINTER_PASSES_REWRITE_FOLD_MATH_H_
#define SINTER_PASSES_REWRITE_FOLD_MATH_H_

#include "mlir/IR/Operation.h"

namespace sinter {

// True if `op` is an op of the dialect math with rounded results; ops that only move bits or give integers do
// not count.
bool IsMathFunction(mlir::Operation* op);

// Returns the result, of f32 or f64. Null if an operand is not constant or the vector math lacks the
// function; MLIR's folder must not be used then either.
mlir::Attribute FoldMathFunction(mlir::Operation* op, llvm::ArrayRef<mlir::Attribute> operands);

}  // namespace sinter

#endif  // SINTER_PASSES_REWRITE_FOLD_MATH_H_
