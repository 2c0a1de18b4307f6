// Verifiers, folders, accumulators and decompositions; the gradients are in reduce_gradients.cc.
#include <limits>

#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/shape_checks.h"

#define GET_OP_CLASSES
#include "ir/reduce_ops.cc.inc"

namespace sinter::ir {

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::LogicalResult;

void AddReduceOps(SinterDialect* dialect) {
  dialect->addFamily<
#define GET_OP_LIST
#include "ir/reduce_ops.cc.inc"
      >();
}

namespace {

template <typename Op>
LogicalResult VerifyReduction(Op op) {
  if (failed(CheckDims(op, op.getDims(), op.getX().getType(), /*ascending=*/true))) return mlir::failure();
  return CheckResult(op, DropDims(op.getX().getType().getShape(), op.getDims()));
}

template <typename Op>
LogicalResult VerifyArgReduction(Op op) {
  mlir::RankedTensorType type = op.getX().getType();
  if (failed(CheckDim(op, op.getDim(), type))) return mlir::failure();
  if (type.getDimSize(op.getDim()) == 0) {
    return op.emitOpError() << "along dimension " << op.getDim() << " of " << type
                            << ", which has no elements";
  }
  int64_t dim = op.getDim();
  return CheckResult(op, DropDims(type.getShape(), {dim}), op.getType().getElementType());
}

// Accumulator of argmax and argmin: (value, position). Equal values, and NaNs, go to the smaller position for
// any order of `a` and `b`, so that lanes of a vector combine like neighbours. The start value has the
// largest position.
SmallVector<Scalar> CombineArg(ScalarBuilder& s, ArrayRef<Scalar> a, ArrayRef<Scalar> b, bool max) {
  Scalar wins = max ? s.gt(b[0], a[0]) : s.lt(b[0], a[0]);
  Scalar ties = s.eq(b[0], a[0]);
  if (llvm::isa<mlir::FloatType>(a[0].type())) {
    Scalar a_nan = s.isNan(a[0]), b_nan = s.isNan(b[0]);
    wins = s.logicalOr(wins, s.logicalAnd(b_nan, s.logicalNot(a_nan)));
    ties = s.logicalOr(ties, s.logicalAnd(a_nan, b_nan));
  }
  Scalar take = s.logicalOr(wins, s.logicalAnd(ties, s.lt(b[1], a[1])));
  return {s.select(take, b[0], a[0]), s.select(take, b[1], a[1])};
}

SmallVector<Scalar> LiftArg(ScalarBuilder& s, Scalar element, mlir::Value index, mlir::Type position) {
  // i32 and i64 are their own compute types.
  return {element, s.wrap(s.builder().create<mlir::arith::IndexCastOp>(s.loc(), position, index))};
}

// Composites work in f32: sums of bf16 and f16 would be rounded, and sums of f16 could overflow, before the
// division.
Expr Widen(GraphBuilder& b, Expr x) { return b.cast(x, ScalarBuilder::ComputeType(x.element())); }

}  // namespace

// One accumulator, an identity and an associative operation.
#define SINTER_SIMPLE_REDUCTION(Class, identity, combine)                                                \
  LogicalResult Class::verify() { return VerifyReduction(*this); }                                       \
  ArrayRef<int64_t> Class::getReducedDims() { return getDims(); }                                        \
  SmallVector<Scalar> Class::emitIdentity(ScalarBuilder& s) {                                            \
    mlir::Type element = getX().getType().getElementType();                                              \
    return {identity};                                                                                   \
  }                                                                                                      \
  SmallVector<Scalar> Class::emitLift(ScalarBuilder&, Scalar element, mlir::Value) { return {element}; } \
  SmallVector<Scalar> Class::emitCombine(ScalarBuilder& s, ArrayRef<Scalar> a, ArrayRef<Scalar> b) {     \
    return {s.combine(a[0], b[0])};                                                                      \
  }                                                                                                      \
  Scalar Class::emitFinish(ScalarBuilder&, ArrayRef<Scalar> acc) { return acc[0]; }

SINTER_SIMPLE_REDUCTION(SumOp, s.constantOf(element, 0), add)
SINTER_SIMPLE_REDUCTION(ProdOp, s.constantOf(element, 1), mul)
SINTER_SIMPLE_REDUCTION(MaxOp, s.lowest(element), maximum)
SINTER_SIMPLE_REDUCTION(MinOp, s.highest(element), minimum)
SINTER_SIMPLE_REDUCTION(AnyOp, s.constantOf(element, 0), logicalOr)
SINTER_SIMPLE_REDUCTION(AllOp, s.constantOf(element, 1), logicalAnd)
#undef SINTER_SIMPLE_REDUCTION

mlir::OpFoldResult SumOp::fold(FoldAdaptor) {
  if (getDims().empty()) return getX();
  return {};
}

#define SINTER_ARG_REDUCTION(Class, identity, max)                                                   \
  LogicalResult Class::verify() { return VerifyArgReduction(*this); }                                \
  mlir::DenseI64ArrayAttr Class::getDimsAttr() {                                                     \
    return mlir::DenseI64ArrayAttr::get(getContext(), {static_cast<int64_t>(getDim())});             \
  }                                                                                                  \
  ArrayRef<int64_t> Class::getReducedDims() { return getDimsAttr().asArrayRef(); }                   \
  SmallVector<Scalar> Class::emitIdentity(ScalarBuilder& s) {                                        \
    return {s.identity(getX().getType().getElementType()), s.highest(getType().getElementType())};   \
  }                                                                                                  \
  SmallVector<Scalar> Class::emitLift(ScalarBuilder& s, Scalar element, mlir::Value index) {         \
    return LiftArg(s, element, index, getType().getElementType());                                   \
  }                                                                                                  \
  SmallVector<Scalar> Class::emitCombine(ScalarBuilder& s, ArrayRef<Scalar> a, ArrayRef<Scalar> b) { \
    return CombineArg(s, a, b, max);                                                                 \
  }                                                                                                  \
  Scalar Class::emitFinish(ScalarBuilder&, ArrayRef<Scalar> acc) { return acc[1]; }

SINTER_ARG_REDUCTION(ArgmaxOp, lowest, true)
SINTER_ARG_REDUCTION(ArgminOp, highest, false)
#undef SINTER_ARG_REDUCTION

LogicalResult MeanOp::verify() { return VerifyReduction(*this); }
SmallVector<mlir::Value> MeanOp::decompose(GraphBuilder& b) {
  Expr x = Widen(b, b.wrap(getX()));
  double count = 1;
  for (int64_t d : getDims()) count *= static_cast<double>(x.shape()[d]);
  return {b.cast(b.sum(x, getDims()) / count, getType().getElementType()).value};
}

LogicalResult LogsumexpOp::verify() { return VerifyReduction(*this); }
SmallVector<mlir::Value> LogsumexpOp::decompose(GraphBuilder& b) {
  Expr x = Widen(b, b.wrap(getX()));
  Expr top = b.max(x, getDims());
  // An infinite maximum would give infinity - infinity, so the shift is 0 then. The shift cancels: stopping
  // its gradient loses nothing.
  auto finite = mlir::RankedTensorType::get(top.shape(), b.builder().getI1Type());
  Expr is_finite = b.wrap(b.builder().create<IsFiniteOp>(b.loc(), finite, top.value));
  Expr shift = b.select(is_finite, top, b.zeros(top));
  shift = b.wrap(b.builder().create<StopGradientOp>(b.loc(), shift.value.getType(), shift.value));
  Expr shifted = x - b.broadcastAlong(shift, x, OtherDims(x.shape().size(), getDims()));
  Expr result = b.log(b.sum(b.exp(shifted), getDims())) + shift;
  return {b.cast(result, getType().getElementType()).value};
}

LogicalResult NormOp::verify() { return VerifyReduction(*this); }
SmallVector<mlir::Value> NormOp::decompose(GraphBuilder& b) {
  Expr x = Widen(b, b.wrap(getX()));
  Expr sum = b.sum(b.square(x), getDims());
  // The root has no derivative at 0; the select makes the gradient there 0, not NaN.
  Expr is_zero = b.eq(sum, b.zeros(sum));
  Expr root = b.select(is_zero, b.zeros(sum), b.sqrt(b.select(is_zero, b.ones(sum), sum)));
  return {b.cast(root, getType().getElementType()).value};
}

LogicalResult CumsumOp::verify() { return CheckDim(*this, getDim(), getX().getType()); }
// Each element is read before its position is written, in both directions.
bool CumsumOp::mayUpdateInPlace(unsigned operand, unsigned) { return operand == 0; }
FactorRule CumsumOp::getFactorRule() {
  FactorRule rule = SameFactors(*this, [&](int64_t d) { return d != static_cast<int64_t>(getDim()); });
  rule.linear_in = {{0}};
  return rule;
}

LogicalResult TopKOp::verify() {
  mlir::RankedTensorType x = getX().getType(), values = getValues().getType();
  if (x.getRank() == 0) return emitOpError() << "takes elements of " << x << "; expected rank 1 or more";
  const int64_t size = x.getShape().back(), k = static_cast<int64_t>(getK());
  if (k < 1 || k > size || size > std::numeric_limits<int32_t>::max()) {
    return emitOpError() << "takes the " << k << " largest of " << size
                         << " elements; expected 1 to as many, of fewer than 2^31";
  }
  SmallVector<int64_t> want(x.getShape());
  want.back() = k;
  if (values.getShape() == ArrayRef<int64_t>(want) && values.getElementType() == x.getElementType() &&
      getPositions().getType().getShape() == ArrayRef<int64_t>(want)) {
    return mlir::success();
  }
  return emitOpError() << "has results " << values << " and " << getPositions().getType()
                       << "; expected the operand's type and i32, with a last dimension of " << k;
}

// The gradient of an element is that of the result which took it, or 0: a sum over the k results.
SmallVector<Expr> TopKOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  if (!output_gradients[0]) return {Expr()};
  Expr x = b.wrap(getX()), positions = b.wrap(getPositions());
  const int64_t size = x.shape().back(), k = static_cast<int64_t>(getK());
  const int64_t rows = positions.type().getNumElements() / k;
  const int64_t spread[] = {rows, k, size};
  auto of_rows = [&](Expr e) { return b.broadcast(b.reshape(e, {rows, k}), spread, {0, 1}); };
  Expr g = of_rows(output_gradients[0]);
  Expr place = b.iota(spread, b.builder().getI32Type(), 2);
  Expr own = b.select(b.eq(of_rows(positions), place), g, b.zeros(g));
  return {b.reshape(b.sum(own, {1}), x.shape())};
}

FactorRule TopKOp::getFactorRule() {
  return SameFactors(*this, [&](int64_t d) { return d != getX().getType().getRank() - 1; });
}

LogicalResult SortOp::verify() {
  mlir::RankedTensorType x = getX().getType();
  if (x.getRank() == 0) return emitOpError() << "sorts elements of " << x << "; expected rank 1 or more";
  if (x.getShape().back() > std::numeric_limits<int32_t>::max()) {
    return emitOpError() << "sorts rows of " << x.getShape().back() << " elements; expected fewer than 2^31";
  }
  if (getValues().getType() == x && getPositions().getType().getShape() == x.getShape())
    return mlir::success();
  return emitOpError() << "has results " << getValues().getType() << " and " << getPositions().getType()
                       << "; expected the operand's type, and i32 of its shape";
}

// Each element takes the gradient of the place that it went to.
SmallVector<Expr> SortOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  if (!output_gradients[0]) return {Expr()};
  Expr g = output_gradients[0];
  const int64_t size = g.shape().back(), count = g.type().getNumElements();
  if (count == 0) return {g};
  Expr row = b.iota({count / size, size}, b.builder().getI64Type(), 0);
  Expr place = b.reshape(b.cast(b.wrap(getPositions()), row.element()), row.shape());
  Expr flat = b.reshape(row * static_cast<double>(size) + place, {count});
  auto scattered = b.builder().create<ScatterOp>(b.loc(), b.full({count}, g.element(), 0).type(),
                                                 b.full({count}, g.element(), 0).value, flat.value,
                                                 b.reshape(g, {count}).value, ScatterKind::set, 0);
  return {b.reshape(b.wrap(scattered), g.shape())};
}

FactorRule SortOp::getFactorRule() {
  return SameFactors(*this, [&](int64_t d) { return d != getX().getType().getRank() - 1; });
}

}  // namespace sinter::ir
