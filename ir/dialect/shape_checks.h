// Checks that the verifiers of several op families share; each reports the faulty value and fails.
//
//   if (failed(CheckDim(*this, getDim(), getX().getType()))) return mlir::failure();
//   return CheckResult(*this, {2, 3});
#ifndef SINTER_IR_DIALECT_SHAPE_CHECKS_H_
#define SINTER_IR_DIALECT_SHAPE_CHECKS_H_

#include <string>

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace sinter::ir {

// Limits of every tensor. Within them, products and sums of sizes, and byte counts, do not overflow 64 bits.
inline constexpr int64_t kMaxRank = 8;
inline constexpr int64_t kMaxElements = int64_t{1} << 47;

// Returns the fault of a shape, such as "has rank 9 (ranks go up to 8)" or "has more than 2^47 elements";
// empty if it has none. Dimensions of size 0 count as 1, so every part of a shape is also within the limit.
std::string ShapeFault(llvm::ArrayRef<int64_t> shape);

// Sum and product of non-negative sizes. On overflow of 64 bits: INT64_MAX, which is no valid size.
int64_t AddSizes(int64_t a, int64_t b);
int64_t MultiplySizes(int64_t a, int64_t b);
// Returns how many of `from`, `from` + stride, ... are below `to`. Requires `to` >= `from`.
inline int64_t CountSteps(int64_t from, int64_t to, int64_t stride) {
  return to == from ? 0 : (to - from - 1) / stride + 1;
}

// Checks that `dim` is a dimension of `type`.
mlir::LogicalResult CheckDim(mlir::Operation* op, int64_t dim, mlir::RankedTensorType type);
// Checks that `dims` are dimensions of `type`, each at most once; with `ascending`, also their order.
mlir::LogicalResult CheckDims(mlir::Operation* op, llvm::ArrayRef<int64_t> dims, mlir::RankedTensorType type,
                              bool ascending);
// Checks that the attribute `name` has one entry for each of `rank` dimensions.
mlir::LogicalResult CheckLength(mlir::Operation* op, llvm::StringRef name, llvm::ArrayRef<int64_t> values,
                                int64_t rank);
// Checks that the only result has this shape and the element type `element` (null: that of operand 0).
mlir::LogicalResult CheckResult(mlir::Operation* op, llvm::ArrayRef<int64_t> shape, mlir::Type element = {});

// DropDims: the shape without `dims`. OtherDims: the numbers of the other dimensions, ascending.
llvm::SmallVector<int64_t> DropDims(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims);
llvm::SmallVector<int64_t> OtherDims(int64_t rank, llvm::ArrayRef<int64_t> dims);
// The shape with `dim` replaced by the dimensions of `inner`: the result of gather, the updates of
// scatter_add.
llvm::SmallVector<int64_t> ReplaceDim(llvm::ArrayRef<int64_t> shape, int64_t dim,
                                      llvm::ArrayRef<int64_t> inner);

// True if the attribute is a splat of this number; 0 matches both zeros.
bool IsSplatOf(mlir::Attribute attribute, double number);

}  // namespace sinter::ir

#endif  // SINTER_IR_DIALECT_SHAPE_CHECKS_H_
