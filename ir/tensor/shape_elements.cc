// FusibleInterface of the shape ops: the operand element of each result element.
#include <limits>

#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/scalar/float8.h"

namespace sinter::ir {

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::AffineExpr;
using mlir::AffineMap;
using mlir::Value;
using mlir::ValueRange;

namespace {

AffineMap MapOf(mlir::Operation* op, ArrayRef<AffineExpr> exprs) {
  auto type = TypeOf(op->getResult(0));
  return AffineMap::get(type.getRank(), 0, exprs, op->getContext());
}

// Reads the operand at the coordinates of the op's affine map.
Scalar ReadMapped(mlir::Operation* op, AffineMap map, ElementBuilder& e, ValueRange coords) {
  SmallVector<Value> at;
  for (AffineExpr expr : map.getResults()) {
    // Every map here is a constant or coordinate * factor + offset.
    Value value = e.index(0);
    auto visit = [&](auto& self, AffineExpr x) -> Value {
      if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(x)) return e.index(constant.getValue());
      if (auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(x)) return coords[dim.getPosition()];
      auto binary = llvm::cast<mlir::AffineBinaryOpExpr>(x);
      Value a = self(self, binary.getLHS()), b = self(self, binary.getRHS());
      return binary.getKind() == mlir::AffineExprKind::Mul ? e.mul(a, b) : e.add(a, b);
    };
    value = visit(visit, expr);
    at.push_back(value);
  }
  return e.element(op->getOperand(0), at);
}

Value Clamp(ElementBuilder& e, Value index, int64_t size) {
  return e.min(e.max(index, e.index(0)), e.index(size - 1));
}

// Splits two shapes with equally many elements into the finest runs of dimensions that hold the same
// elements: [2, 3, 4] and [6, 2, 2] give ([2, 3], [6]) and ([4], [2, 2]).
struct Run {
  size_t from_begin, from_end, to_begin, to_end;
};
SmallVector<Run> MatchRuns(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  SmallVector<Run> runs;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    Run run{i, i, j, j};
    int64_t a = 1, b = 1;
    if (i < from.size()) a = from[i++];
    if (j < to.size()) b = to[j++];
    while (a != b) {
      if (a < b && i < from.size()) {
        a *= from[i++];
      } else if (j < to.size()) {
        b *= to[j++];
      } else {
        a *= from[i++];
      }
    }
    run.from_end = i, run.to_end = j;
    runs.push_back(run);
  }
  return runs;
}

}  // namespace

Scalar ConstantOp::emitElement(ElementBuilder& e, ValueRange, unsigned) {
  auto splat = llvm::dyn_cast<mlir::SplatElementsAttr>(getValue());
  assert(splat && "only splats enter a fused loop: VerifyFusedBody");
  ScalarBuilder& s = e.s();
  mlir::Type element = getType().getElementType(), type = ScalarBuilder::ComputeType(element);
  if (IsStoredFloat(element)) {
    llvm::APInt bits = splat.getSplatValue<llvm::APFloat>().bitcastToAPInt();
    auto attribute = mlir::IntegerAttr::get(s.builder().getI8Type(), bits);
    return s.wrapStored(s.builder().create<mlir::arith::ConstantOp>(s.loc(), attribute), element);
  }
  if (llvm::isa<mlir::FloatType>(element))
    return s.constantOf(element, splat.getSplatValue<llvm::APFloat>().convertToDouble());
  auto attribute = mlir::IntegerAttr::get(type, splat.getSplatValue<llvm::APInt>());
  return s.wrap(s.builder().create<mlir::arith::ConstantOp>(s.loc(), attribute),
                ScalarBuilder::IsUnsigned(element));
}
AffineMap ConstantOp::getOperandMap(unsigned) { return {}; }

Scalar IotaOp::emitElement(ElementBuilder& e, ValueRange coords, unsigned) {
  if (!getOrigin()) return e.fromIndex(coords[getDim()], getType().getElementType());
  Scalar position = e.fromIndex(coords[getDim()], e.s().builder().getI64Type());
  return e.s().cast(position + e.element(getOrigin(), {}), getType().getElementType());
}
// The origin has rank 0.
AffineMap IotaOp::getOperandMap(unsigned) { return MapOf(*this, {}); }

Scalar ReshapeOp::emitElement(ElementBuilder& e, ValueRange coords, unsigned operand) {
  if (AffineMap map = getOperandMap(0)) return ReadMapped(*this, map, e, coords);
  ArrayRef<int64_t> from = getX().getType().getShape(), to = getType().getShape();
  SmallVector<Value> at;
  if (getType().getNumElements() == 0) {
    at.assign(from.size(), e.index(0));
  } else {
    for (Run run : MatchRuns(from, to)) {
      Value position = e.linearize(coords.slice(run.to_begin, run.to_end - run.to_begin),
                                   to.slice(run.to_begin, run.to_end - run.to_begin));
      at.append(e.delinearize(position, from.slice(run.from_begin, run.from_end - run.from_begin)));
    }
  }
  return e.element(getX(), at);
}
// Affine if the shapes differ only in dimensions of size 1.
AffineMap ReshapeOp::getOperandMap(unsigned) {
  SmallVector<AffineExpr> exprs;
  ArrayRef<int64_t> to = getType().getShape();
  size_t j = 0;
  for (int64_t size : getX().getType().getShape()) {
    if (size == 1) {
      exprs.push_back(mlir::getAffineConstantExpr(0, getContext()));
      continue;
    }
    while (j < to.size() && to[j] == 1) ++j;
    if (j == to.size() || to[j] != size) return {};
    exprs.push_back(mlir::getAffineDimExpr(j++, getContext()));
  }
  for (; j < to.size(); ++j) {
    if (to[j] != 1) return {};
  }
  return MapOf(*this, exprs);
}

Scalar TransposeOp::emitElement(ElementBuilder& e, ValueRange coords, unsigned) {
  return ReadMapped(*this, getOperandMap(0), e, coords);
}
AffineMap TransposeOp::getOperandMap(unsigned) {
  SmallVector<AffineExpr> exprs(getPermutation().size());
  for (auto [i, d] : llvm::enumerate(getPermutation())) exprs[d] = mlir::getAffineDimExpr(i, getContext());
  return MapOf(*this, exprs);
}

Scalar BroadcastOp::emitElement(ElementBuilder& e, ValueRange coords, unsigned) {
  return ReadMapped(*this, getOperandMap(0), e, coords);
}
AffineMap BroadcastOp::getOperandMap(unsigned) {
  SmallVector<AffineExpr> exprs;
  for (auto [i, d] : llvm::enumerate(getDims())) {
    exprs.push_back(getX().getType().getDimSize(i) == 1 ? mlir::getAffineConstantExpr(0, getContext())
                                                        : mlir::getAffineDimExpr(d, getContext()));
  }
  return MapOf(*this, exprs);
}

Scalar SliceOp::emitElement(ElementBuilder& e, ValueRange coords, unsigned) {
  return ReadMapped(*this, getOperandMap(0), e, coords);
}
AffineMap SliceOp::getOperandMap(unsigned) {
  SmallVector<AffineExpr> exprs;
  for (auto [d, start] : llvm::enumerate(getStarts())) {
    exprs.push_back(mlir::getAffineDimExpr(d, getContext()) * getStrides()[d] + start);
  }
  return MapOf(*this, exprs);
}

Scalar ReverseOp::emitElement(ElementBuilder& e, ValueRange coords, unsigned) {
  SmallVector<Value> at(coords);
  for (int64_t d : getDims()) at[d] = e.sub(e.index(getType().getDimSize(d) - 1), coords[d]);
  return e.element(getX(), at);
}
AffineMap ReverseOp::getOperandMap(unsigned) {
  SmallVector<AffineExpr> exprs;
  for (int64_t d = 0; d < getType().getRank(); ++d) exprs.push_back(mlir::getAffineDimExpr(d, getContext()));
  for (int64_t d : getDims()) exprs[d] = (getType().getDimSize(d) - 1) - exprs[d];
  return MapOf(*this, exprs);
}

Scalar ConcatOp::emitElement(ElementBuilder& e, ValueRange coords, unsigned) {
  int64_t dim = getDim(), end = getType().getDimSize(dim);
  Scalar result;
  // From the last operand to the first: the select takes an operand below the end of its range.
  for (Value x : llvm::reverse(getXs())) {
    int64_t size = TypeOf(x).getDimSize(dim), begin = end - size;
    if (size == 0) continue;
    SmallVector<Value> at(coords);
    if (begin > 0) at[dim] = e.max(e.sub(coords[dim], e.index(begin)), e.index(0));
    if (result) at[dim] = e.min(at[dim], e.index(size - 1));
    Scalar element = e.element(x, at);
    result = result ? e.s().select(e.s().wrap(e.lt(coords[dim], e.index(end))), element, result) : element;
    end = begin;
  }
  return result ? result : e.s().constantOf(getType().getElementType(), 0);
}
AffineMap ConcatOp::getOperandMap(unsigned) { return {}; }

Scalar PadOp::emitElement(ElementBuilder& e, ValueRange coords, unsigned) {
  ScalarBuilder& s = e.s();
  mlir::RankedTensorType type = getX().getType();
  Scalar value = s.constantOf(type.getElementType(), getValue().convertToDouble());
  // Rounds the value to bf16 or f16.
  value = s.cast(value, type.getElementType());
  if (type.getNumElements() == 0) return value;
  Value inside;
  auto require = [&](Value condition) { inside = inside ? e.logicalAnd(inside, condition) : condition; };
  SmallVector<Value> at(coords);
  for (int64_t d = 0; d < type.getRank(); ++d) {
    int64_t low = getLow()[d], stride = getInterior()[d] + 1, last = (type.getDimSize(d) - 1) * stride;
    if (low == 0 && stride == 1 && getHigh()[d] == 0) continue;
    Value position = e.sub(coords[d], e.index(low));
    if (low > 0) require(e.ge(position, e.index(0)));
    if (getHigh()[d] > 0) require(e.lt(position, e.index(last + 1)));
    Value clamped = Clamp(e, position, last + 1);
    if (stride > 1) require(e.lt(e.rem(clamped, e.index(stride)), e.index(1)));
    at[d] = e.div(clamped, e.index(stride));
  }
  Scalar element = e.element(getX(), at);
  return inside ? s.select(s.wrap(inside), element, value) : element;
}
AffineMap PadOp::getOperandMap(unsigned) { return {}; }

Scalar GatherOp::emitElement(ElementBuilder& e, ValueRange coords, unsigned) {
  int64_t dim = getDim(), rank = getIndices().getType().getRank(), size = getX().getType().getDimSize(dim);
  Value index = Clamp(e, e.toIndex(e.element(getIndices(), coords.slice(dim, rank))), size);
  SmallVector<Value> at(coords.take_front(dim));
  at.push_back(index);
  llvm::append_range(at, coords.drop_front(dim + rank));
  return e.element(getX(), at);
}
// The reads of `x` depend on the indices; the reads of the indices are affine.
AffineMap GatherOp::getOperandMap(unsigned operand) {
  if (operand == 0) return {};
  SmallVector<AffineExpr> exprs;
  for (int64_t d = 0; d < getIndices().getType().getRank(); ++d) {
    exprs.push_back(mlir::getAffineDimExpr(getDim() + d, getContext()));
  }
  return MapOf(*this, exprs);
}

Scalar TakeAlongOp::emitElement(ElementBuilder& e, ValueRange coords, unsigned) {
  SmallVector<Value> at(coords);
  at[getDim()] = Clamp(e, e.toIndex(e.element(getIndices(), coords)), getX().getType().getDimSize(getDim()));
  return e.element(getX(), at);
}
AffineMap TakeAlongOp::getOperandMap(unsigned operand) {
  return operand == 0 ? AffineMap() : IdentityOperandMap(*this);
}

Scalar OneHotOp::emitElement(ElementBuilder& e, ValueRange coords, unsigned) {
  ScalarBuilder& s = e.s();
  mlir::Type element = getType().getElementType();
  Scalar index = e.element(getIndices(), coords.drop_back());
  Scalar hit = s.eq(index, e.fromIndex(coords.back(), getIndices().getType().getElementType()));
  return s.select(hit, s.constantOf(element, 1), s.constantOf(element, 0));
}
AffineMap OneHotOp::getOperandMap(unsigned) {
  unsigned rank = getType().getRank();
  return AffineMap::getMultiDimIdentityMap(rank, getContext()).getMajorSubMap(rank - 1);
}

}  // namespace sinter::ir
