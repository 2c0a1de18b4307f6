// Reshapes a value by reshaping its inputs in memory, where a reshape is a free view.
//
//   if (CanReshape(x, {64, 1024})) x = Reshape(builder, x, {64, 1024});
#ifndef SINTER_PASSES_RESHAPE_CHAIN_H_
#define SINTER_PASSES_RESHAPE_CHAIN_H_

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace sinter {

// True if `value` is in memory for any fusion: a function argument, a part of an input, a library call's
// result, or a stored constant.
bool IsInMemory(mlir::Value value);

// True if `value` is computed from values in memory and splats, only by pointwise ops that nothing else reads
// and broadcasts whose repeated dimensions `shape` does not merge with others.
bool CanReshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
// Builds the reshaped value. Requires CanReshape.
mlir::Value Reshape(mlir::OpBuilder& builder, mlir::Value value, llvm::ArrayRef<int64_t> shape);

// Clones a pointwise op in another shape; `operand` returns its operands in that shape.
mlir::Value CloneInShape(mlir::OpBuilder& builder, mlir::Operation* op, llvm::ArrayRef<int64_t> shape,
                         llvm::function_ref<mlir::Value(mlir::Value)> operand);

}  // namespace sinter

#endif  // SINTER_PASSES_RESHAPE_CHAIN_H_
