// Helpers for tensor types; all values of graphs are tensors.
//
//   TypeOf(value).getElementType();  ShapeOf(value).front();  NumElements(value);  NumBytes(value);
//   SizesAround(value, 1).inner;     // Elements of dimensions 2, 3, ...
//   Resized(TypeOf(value), 0, 64);   // The same type with size 64 in dimension 0.
//
// A value of another type ends the program: no op of the dialect `sinter` has such a value.
#ifndef SINTER_IR_DIALECT_TENSOR_TYPES_H_
#define SINTER_IR_DIALECT_TENSOR_TYPES_H_

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace sinter::ir {

inline mlir::RankedTensorType TypeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}
inline llvm::ArrayRef<int64_t> ShapeOf(mlir::Value value) { return TypeOf(value).getShape(); }
inline int64_t NumElements(mlir::Value value) { return TypeOf(value).getNumElements(); }
// Returns the elements from a coordinate of each dimension to the next, in a contiguous tensor.
inline llvm::SmallVector<int64_t> RowMajorStrides(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}
// Bytes of an element in memory; a bool takes one byte.
inline int64_t ElementBytes(mlir::Type element) { return (element.getIntOrFloatBitWidth() + 7) / 8; }
inline int64_t NumBytes(mlir::Value value) {
  return NumElements(value) * ElementBytes(TypeOf(value).getElementType());
}

// Elements before and after dimension `dim`: the tensor is [outer, size of dim, inner].
struct SizesAround {
  int64_t outer = 1, inner = 1;
  SizesAround(mlir::Value value, int64_t dim) {
    for (auto [d, size] : llvm::enumerate(ShapeOf(value))) {
      if (static_cast<int64_t>(d) < dim) outer *= size;
      if (static_cast<int64_t>(d) > dim) inner *= size;
    }
  }
};

// The least multiple of `multiple` that is at least `x`.
inline int64_t RoundUp(int64_t x, int64_t multiple) { return llvm::divideCeilSigned(x, multiple) * multiple; }

inline mlir::RankedTensorType Resized(mlir::RankedTensorType type, int64_t dim, int64_t size) {
  llvm::SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  return mlir::RankedTensorType::get(shape, type.getElementType());
}

}  // namespace sinter::ir

#endif  // SINTER_IR_DIALECT_TENSOR_TYPES_H_
