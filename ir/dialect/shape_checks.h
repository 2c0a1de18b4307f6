// Checks that verifiers of several op families share. Each reports what is wrong, naming what was given, and fails.
//
//   if (failed(CheckDim(*this, getDim(), getX().getType()))) return mlir::failure();
//   return CheckResult(*this, {2, 3});
#ifndef SINTER_IR_DIALECT_SHAPE_CHECKS_H_
#define SINTER_IR_DIALECT_SHAPE_CHECKS_H_

#include <string>

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace sinter::ir {

// The limits of every tensor. Products and sums of sizes within them do not overflow 64 bits, nor do bytes.
inline constexpr int64_t kMaxRank = 8;
inline constexpr int64_t kMaxElements = int64_t{1} << 47;

// Returns what is wrong with a shape, such as "has rank 9 (ranks go up to 8)" or "has more than 2^47 elements"; empty: nothing.
// Dimensions of size 0 count as 1, so that every part of a shape is within the limit too.
std::string ShapeFault(llvm::ArrayRef<int64_t> shape);

// Sums and products of sizes, of 0 or more; INT64_MAX, which is no size, where 64 bits do not hold them.
int64_t AddSizes(int64_t a, int64_t b);
int64_t MultiplySizes(int64_t a, int64_t b);
// How many of `from`, `from` + stride, ... are below `to`, which is not below `from`.
inline int64_t CountSteps(int64_t from, int64_t to, int64_t stride) {
  return to == from ? 0 : (to - from - 1) / stride + 1;
}

// `dim` is a dimension of `type`.
mlir::LogicalResult CheckDim(mlir::Operation* op, int64_t dim, mlir::RankedTensorType type);
// `dims` are dimensions of `type`, each named at most once; `ascending` asks for order as well.
mlir::LogicalResult CheckDims(mlir::Operation* op, llvm::ArrayRef<int64_t> dims, mlir::RankedTensorType type,
                              bool ascending);
// The attribute `name` has one entry for each of `rank` dimensions.
mlir::LogicalResult CheckLength(mlir::Operation* op, llvm::StringRef name, llvm::ArrayRef<int64_t> values,
                                int64_t rank);
// The only result has this shape and the element type of operand 0 (or `element`).
mlir::LogicalResult CheckResult(mlir::Operation* op, llvm::ArrayRef<int64_t> shape, mlir::Type element = {});

// The shape without `dims`, and the other dimensions' numbers, ascending.
llvm::SmallVector<int64_t> DropDims(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims);
llvm::SmallVector<int64_t> OtherDims(int64_t rank, llvm::ArrayRef<int64_t> dims);
// The shape with `dim` replaced by the dimensions of `inner`: what gather returns and scatter_add takes.
llvm::SmallVector<int64_t> ReplaceDim(llvm::ArrayRef<int64_t> shape, int64_t dim,
                                      llvm::ArrayRef<int64_t> inner);

// Whether the attribute is a splat of this number (of either zero, for 0).
bool IsSplatOf(mlir::Attribute attribute, double number);

}  // namespace sinter::ir

#endif  // SINTER_IR_DIALECT_SHAPE_CHECKS_H_
