// Having a value in another shape by reshaping what it is computed from: a view of memory there costs nothing.
//
//   if (CanReshape(x, {64, 1024})) x = Reshape(builder, x, {64, 1024});
#ifndef SINTER_PASSES_RESHAPE_CHAIN_H_
#define SINTER_PASSES_RESHAPE_CHAIN_H_

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace sinter {

// Whether `value` lies in memory whatever is fused: a function argument, a part of an input, a library call's result, a
// stored constant.
bool IsInMemory(mlir::Value value);

// Whether `value` is computed, by pointwise ops that nothing else reads and broadcasts that `shape` does not mix with
// repeated dimensions, from values in memory and splats only.
bool CanReshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
// Builds what CanReshape promised.
mlir::Value Reshape(mlir::OpBuilder& builder, mlir::Value value, llvm::ArrayRef<int64_t> shape);

// A pointwise op over another shape; `operand` gives its operands in that shape.
mlir::Value CloneInShape(mlir::OpBuilder& builder, mlir::Operation* op, llvm::ArrayRef<int64_t> shape,
                         llvm::function_ref<mlir::Value(mlir::Value)> operand);

}  // namespace sinter

#endif  // SINTER_PASSES_RESHAPE_CHAIN_H_
