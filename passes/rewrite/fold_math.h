// Mathematical functions of constants, by the code that computes them in a run.
//
//   if (IsMathFunction(op)) value = FoldMathFunction(op, {x});
//
// MLIR's folders ask the C library, which has several versions of a function and picks one by the CPU: the same program would
// give another plan on another machine. These ask kernels/cpu/vector_math.h, which gives the same bits on all of them, the
// bits of a run.
#ifndef SINTER_PASSES_REWRITE_FOLD_MATH_H_
#define SINTER_PASSES_REWRITE_FOLD_MATH_H_

#include "mlir/IR/Operation.h"

namespace sinter {

// Whether `op` is of the dialect math and has results that must be rounded: not what only moves bits or gives an integer.
bool IsMathFunction(mlir::Operation* op);

// The result, of f32 or f64. Null: an operand is not constant, or the vector math has no such function, so that MLIR's folder
// must not be asked either.
mlir::Attribute FoldMathFunction(mlir::Operation* op, llvm::ArrayRef<mlir::Attribute> operands);

}  // namespace sinter

#endif  // SINTER_PASSES_REWRITE_FOLD_MATH_H_
