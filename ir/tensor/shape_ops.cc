// Verifiers, folders and decompositions of the shape ops.
// Their element reads are in shape_elements.cc, their gradients in shape_gradients.cc.
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/shape_checks.h"
#include "sinter/ir/dialect/tensor_types.h"

// Generated; the enums come first.
// clang-format off
#include "ir/shape_enums.cc.inc"
#define GET_OP_CLASSES
#include "ir/shape_ops.cc.inc"
// clang-format on

namespace sinter::ir {

using llvm::ArrayRef;
using mlir::LogicalResult;
using mlir::OpFoldResult;
using mlir::RankedTensorType;

void AddShapeOps(SinterDialect* dialect) {
  dialect->addFamily<
#define GET_OP_LIST
#include "ir/shape_ops.cc.inc"
      >();
}

namespace {

// A splat stays a splat when its elements move.
OpFoldResult FoldSplat(mlir::Attribute x, RankedTensorType type) {
  if (auto splat = llvm::dyn_cast_or_null<mlir::SplatElementsAttr>(x)) return splat.resizeSplat(type);
  return {};
}

bool IsIdentity(ArrayRef<int64_t> permutation) {
  return llvm::all_of(llvm::enumerate(permutation),
                      [](auto entry) { return entry.value() == static_cast<int64_t>(entry.index()); });
}

}  // namespace

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult IotaOp::verify() { return CheckDim(*this, getDim(), getType()); }

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = getX().getType(), to = getType();
  if (from.getNumElements() != to.getNumElements()) {
    return emitOpError() << "is a reshape of " << from.getNumElements() << " elements to "
                         << to.getNumElements() << ": " << from << " to " << to;
  }
  return CheckResult(*this, to.getShape());
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getType()) return getX();
  if (auto values = llvm::dyn_cast_or_null<mlir::DenseElementsAttr>(adaptor.getX()))
    return values.reshape(getType());
  if (auto inner = getX().getDefiningOp<ReshapeOp>()) {
    if (inner.getX().getType() == getType()) return inner.getX();
    getXMutable().assign(inner.getX());
    return getResult();
  }
  return {};
}

LogicalResult TransposeOp::verify() {
  RankedTensorType type = getX().getType();
  if (failed(CheckLength(*this, "permutation", getPermutation(), type.getRank())) ||
      failed(CheckDims(*this, getPermutation(), type, /*ascending=*/false))) {
    return mlir::failure();
  }
  llvm::SmallVector<int64_t> shape;
  for (int64_t d : getPermutation()) shape.push_back(type.getDimSize(d));
  return CheckResult(*this, shape);
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (IsIdentity(getPermutation())) return getX();
  if (auto splat = FoldSplat(adaptor.getX(), getType())) return splat;
  if (auto inner = getX().getDefiningOp<TransposeOp>()) {
    llvm::SmallVector<int64_t> composed;
    for (int64_t d : getPermutation()) composed.push_back(inner.getPermutation()[d]);
    getXMutable().assign(inner.getX());
    setPermutation(composed);
    return getResult();
  }
  return {};
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType from = getX().getType(), to = getType();
  if (failed(CheckLength(*this, "dims", getDims(), from.getRank())) ||
      failed(CheckDims(*this, getDims(), to, /*ascending=*/false))) {
    return mlir::failure();
  }
  for (auto [i, d] : llvm::enumerate(getDims())) {
    if (from.getDimSize(i) != 1 && from.getDimSize(i) != to.getDimSize(d)) {
      return emitOpError() << "of " << from << " to " << to << " maps dimension " << i << " of size "
                           << from.getDimSize(i) << " to dimension " << d << " of size " << to.getDimSize(d)
                           << ": sizes must be equal, or the first 1";
    }
  }
  return CheckResult(*this, to.getShape());
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getType() && IsIdentity(getDims())) return getX();
  if (auto splat = FoldSplat(adaptor.getX(), getType())) return splat;
  if (auto inner = getX().getDefiningOp<BroadcastOp>()) {
    llvm::SmallVector<int64_t> composed;
    for (int64_t d : inner.getDims()) composed.push_back(getDims()[d]);
    getXMutable().assign(inner.getX());
    setDims(composed);
    return getResult();
  }
  // A reshape that only adds dimensions of size 1, such as [C] to [C, 1, 1]: the broadcast can add them.
  if (auto inner = getX().getDefiningOp<ReshapeOp>()) {
    llvm::ArrayRef<int64_t> narrow = inner.getX().getType().getShape(), wide = inner.getType().getShape();
    llvm::SmallVector<int64_t> kept;
    for (auto [size, dim] : llvm::zip(wide, getDims())) {
      bool matches = kept.size() < narrow.size() && size == narrow[kept.size()];
      if (!matches && size != 1) return {};
      if (matches) kept.push_back(dim);
    }
    if (kept.size() != narrow.size() || narrow.size() == wide.size()) return {};
    getXMutable().assign(inner.getX());
    setDims(kept);
    return getResult();
  }
  return {};
}

LogicalResult SliceOp::verify() {
  RankedTensorType type = getX().getType();
  if (failed(CheckLength(*this, "starts", getStarts(), type.getRank())) ||
      failed(CheckLength(*this, "limits", getLimits(), type.getRank())) ||
      failed(CheckLength(*this, "strides", getStrides(), type.getRank()))) {
    return mlir::failure();
  }
  llvm::SmallVector<int64_t> shape;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    int64_t start = getStarts()[d], limit = getLimits()[d], stride = getStrides()[d];
    if (start < 0 || limit < start || limit > type.getDimSize(d)) {
      return emitOpError() << "takes " << start << " to " << limit << " of dimension " << d << " of " << type;
    }
    if (stride < 1)
      return emitOpError() << "has stride " << stride << " in dimension " << d << ": strides start at 1";
    shape.push_back(CountSteps(start, limit, stride));
  }
  return CheckResult(*this, shape);
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  // A slice as large as its operand takes all of it.
  if (getX().getType() == getType()) return getX();
  return FoldSplat(adaptor.getX(), getType());
}

LogicalResult ConcatOp::verify() {
  if (getXs().empty()) return emitOpError("has no operands");
  auto first = TypeOf(getXs()[0]);
  if (failed(CheckDim(*this, getDim(), first))) return mlir::failure();
  llvm::SmallVector<int64_t> shape(first.getShape());
  shape[getDim()] = 0;
  for (auto [i, x] : llvm::enumerate(getXs())) {
    auto type = TypeOf(x);
    bool fits = type.getRank() == first.getRank() && type.getElementType() == first.getElementType();
    for (int64_t d = 0; fits && d < first.getRank(); ++d) {
      fits = d == static_cast<int64_t>(getDim()) || type.getDimSize(d) == first.getDimSize(d);
    }
    if (!fits) {
      return emitOpError() << "along dimension " << getDim() << " joins " << first << " and operand " << i
                           << ", " << type << ": only that dimension may differ";
    }
    shape[getDim()] = AddSizes(shape[getDim()], type.getDimSize(getDim()));
  }
  return CheckResult(*this, shape);
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  if (getXs().size() == 1) return getXs()[0];
  return {};
}

LogicalResult SplitOp::verify() {
  RankedTensorType type = getX().getType();
  if (failed(CheckDim(*this, getDim(), type))) return mlir::failure();
  int64_t total = 0;
  for (auto [i, part] : llvm::enumerate(getParts())) {
    auto part_type = TypeOf(part);
    int64_t size = part_type.getRank() == type.getRank() ? part_type.getDimSize(getDim()) : 0;
    auto expected =
        RankedTensorType::get(ReplaceDim(type.getShape(), getDim(), {size}), type.getElementType());
    if (part_type != expected) {
      return emitOpError() << "of " << type << " along dimension " << getDim() << " has part " << i << ", "
                           << part_type << ": only that dimension may differ";
    }
    total = AddSizes(total, size);
  }
  if (total == type.getDimSize(getDim())) return mlir::success();
  return emitOpError() << "has parts of " << total << " in all, dimension " << getDim() << " of " << type
                       << " is of size " << type.getDimSize(getDim());
}

llvm::SmallVector<mlir::Value> SplitOp::decompose(GraphBuilder& b) {
  Expr x = b.wrap(getX());
  llvm::SmallVector<int64_t> starts(x.shape().size(), 0), limits(x.shape()), strides(x.shape().size(), 1);
  llvm::SmallVector<mlir::Value> parts;
  int64_t position = 0;
  for (mlir::Value part : getParts()) {
    starts[getDim()] = position;
    position += TypeOf(part).getDimSize(getDim());
    limits[getDim()] = position;
    parts.push_back(b.slice(x, starts, limits, strides).value);
  }
  return parts;
}

LogicalResult PadOp::verify() {
  RankedTensorType type = getX().getType();
  llvm::SmallVector<int64_t> shape(type.getShape());
  for (auto [name, values] : {std::pair<llvm::StringRef, ArrayRef<int64_t>>{"low", getLow()},
                              {"high", getHigh()},
                              {"interior", getInterior()}}) {
    if (failed(CheckLength(*this, name, values, type.getRank()))) return mlir::failure();
    for (auto [d, value] : llvm::enumerate(values)) {
      if (value < 0)
        return emitOpError() << "has " << name << " " << value << " in dimension " << d
                             << ": a slice removes";
    }
  }
  for (int64_t d = 0; d < type.getRank(); ++d) {
    const int64_t gaps = std::max<int64_t>(0, type.getDimSize(d) - 1);
    for (int64_t more : {getLow()[d], getHigh()[d], MultiplySizes(gaps, getInterior()[d])})
      shape[d] = AddSizes(shape[d], more);
  }
  const bool is_float = llvm::isa<mlir::FloatType>(type.getElementType());
  if (!is_float && !getValue().isInteger()) {
    return emitOpError() << "has the value " << getValue().convertToDouble() << ", which "
                         << type.getElementType() << " cannot hold: a whole number is wanted";
  }
  return CheckResult(*this, shape);
}

LogicalResult ReverseOp::verify() {
  return CheckDims(*this, getDims(), getX().getType(), /*ascending=*/false);
}

LogicalResult GatherOp::verify() {
  RankedTensorType type = getX().getType();
  if (failed(CheckDim(*this, getDim(), type))) return mlir::failure();
  if (type.getDimSize(getDim()) == 0 && getIndices().getType().getNumElements() > 0) {
    return emitOpError() << "takes elements along dimension " << getDim() << " of " << type
                         << ", which has none";
  }
  return CheckResult(*this, ReplaceDim(type.getShape(), getDim(), getIndices().getType().getShape()));
}

LogicalResult TakeAlongOp::verify() {
  RankedTensorType type = getX().getType(), indices = getIndices().getType();
  if (failed(CheckDim(*this, getDim(), type))) return mlir::failure();
  bool fits = indices.getRank() == type.getRank();
  for (int64_t d = 0; fits && d < type.getRank(); ++d) {
    fits = d == static_cast<int64_t>(getDim()) || indices.getDimSize(d) == type.getDimSize(d);
  }
  if (!fits) {
    return emitOpError() << "along dimension " << getDim() << " of " << type << " has indices " << indices
                         << ": only that dimension may differ";
  }
  if (type.getDimSize(getDim()) == 0 && indices.getNumElements() > 0) {
    return emitOpError() << "takes elements along dimension " << getDim() << " of " << type
                         << ", which has none";
  }
  return CheckResult(*this, indices.getShape());
}

template <typename Op>
LogicalResult CheckUpdates(Op op) {
  RankedTensorType type = op.getX().getType();
  if (failed(CheckDim(op, op.getDim(), type))) return mlir::failure();
  auto shape = ReplaceDim(type.getShape(), op.getDim(), op.getIndices().getType().getShape());
  auto expected = RankedTensorType::get(shape, type.getElementType());
  if (op.getUpdates().getType() == expected) return mlir::success();
  return op.emitOpError() << "to " << type << " at " << op.getIndices().getType() << " along dimension "
                          << op.getDim() << " takes updates " << expected << ", not "
                          << op.getUpdates().getType();
}

LogicalResult ScatterAddOp::verify() { return CheckUpdates(*this); }
LogicalResult ScatterOp::verify() { return CheckUpdates(*this); }

// Elements that no index names keep their values, so the result may overwrite `x`.
bool ScatterAddOp::mayUpdateInPlace(unsigned operand, unsigned) { return operand == 0; }
bool ScatterOp::mayUpdateInPlace(unsigned operand, unsigned) { return operand == 0; }

LogicalResult OneHotOp::verify() {
  RankedTensorType indices = getIndices().getType();
  if (getType().getRank() == indices.getRank() + 1 &&
      getType().getShape().drop_back() == indices.getShape()) {
    return mlir::success();
  }
  return emitOpError() << "of " << indices << " gives " << getType()
                       << ": the same dimensions and one more are wanted";
}

}  // namespace sinter::ir
