#include "sinter/ir/dialect/shape_checks.h"

#include <algorithm>
#include <limits>

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"

namespace sinter::ir {

using llvm::ArrayRef;
using mlir::LogicalResult;
using mlir::RankedTensorType;

std::string ShapeFault(ArrayRef<int64_t> shape) {
  if (static_cast<int64_t>(shape.size()) > kMaxRank)
    return "has rank " + std::to_string(shape.size()) + " (ranks go up to " + std::to_string(kMaxRank) + ")";
  int64_t elements = 1;
  for (int64_t size : shape) {
    if (size < 0) return "has a negative size";
    elements = MultiplySizes(elements, std::max<int64_t>(size, 1));
  }
  return elements > kMaxElements ? "has more than 2^47 elements" : "";
}

int64_t AddSizes(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

int64_t MultiplySizes(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

LogicalResult CheckDim(mlir::Operation* op, int64_t dim, RankedTensorType type) {
  if (dim >= 0 && dim < type.getRank()) return mlir::success();
  return op->emitOpError() << "has dimension " << dim << ", but " << type << " has rank " << type.getRank();
}

LogicalResult CheckDims(mlir::Operation* op, ArrayRef<int64_t> dims, RankedTensorType type, bool ascending) {
  for (auto [i, dim] : llvm::enumerate(dims)) {
    if (failed(CheckDim(op, dim, type))) return mlir::failure();
    if (llvm::is_contained(dims.take_front(i), dim))
      return op->emitOpError() << "names dimension " << dim << " twice";
    if (ascending && i > 0 && dim < dims[i - 1]) {
      return op->emitOpError() << "names dimension " << dim << " after " << dims[i - 1]
                               << ": the order is ascending";
    }
  }
  return mlir::success();
}

LogicalResult CheckLength(mlir::Operation* op, llvm::StringRef name, ArrayRef<int64_t> values, int64_t rank) {
  if (static_cast<int64_t>(values.size()) == rank) return mlir::success();
  return op->emitOpError() << "has " << values.size() << " numbers in `" << name << "` for rank " << rank;
}

LogicalResult CheckResult(mlir::Operation* op, ArrayRef<int64_t> shape, mlir::Type element) {
  auto operand = llvm::cast<RankedTensorType>(op->getOperand(0).getType());
  auto expected = RankedTensorType::get(shape, element ? element : operand.getElementType());
  if (op->getResult(0).getType() == expected) return mlir::success();
  return op->emitOpError() << "of " << operand << " gives " << expected << ", not "
                           << op->getResult(0).getType();
}

llvm::SmallVector<int64_t> DropDims(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  llvm::SmallVector<int64_t> kept;
  for (int64_t d : OtherDims(shape.size(), dims)) kept.push_back(shape[d]);
  return kept;
}

llvm::SmallVector<int64_t> OtherDims(int64_t rank, ArrayRef<int64_t> dims) {
  llvm::SmallVector<int64_t> others;
  for (int64_t d = 0; d < rank; ++d) {
    if (!llvm::is_contained(dims, d)) others.push_back(d);
  }
  return others;
}

llvm::SmallVector<int64_t> ReplaceDim(ArrayRef<int64_t> shape, int64_t dim, ArrayRef<int64_t> inner) {
  llvm::SmallVector<int64_t> result(shape.take_front(dim));
  result.append(inner.begin(), inner.end());
  result.append(shape.begin() + dim + 1, shape.end());
  return result;
}

bool IsSplatOf(mlir::Attribute attribute, double number) {
  auto splat = llvm::dyn_cast_or_null<mlir::SplatElementsAttr>(attribute);
  if (!splat) return false;
  if (llvm::isa<mlir::FloatType>(splat.getElementType())) {
    auto value = splat.getSplatValue<llvm::APFloat>();
    return number == 0 ? value.isZero() : value.isExactlyValue(number);
  }
  auto value = splat.getSplatValue<llvm::APInt>();
  return value == llvm::APInt(value.getBitWidth(), static_cast<int64_t>(number), /*isSigned=*/true);
}

}  // namespace sinter::ir
