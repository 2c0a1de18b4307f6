// Verifiers and gradients of the family of Fourier transforms, and how its ops iterate.
#include <string>

#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/shape_checks.h"
#include "sinter/ir/dialect/tensor_types.h"

#define GET_OP_CLASSES
#include "ir/fourier_ops.cc.inc"

namespace sinter::ir {

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::LogicalResult;
using mlir::RankedTensorType;

void AddFourierOps(SinterDialect* dialect) {
  dialect->addFamily<
#define GET_OP_LIST
#include "ir/fourier_ops.cc.inc"
      >();
}

// Verifiers
// -----------------------------------------------------------------------------------------------------------

namespace {

LogicalResult CheckComplex(mlir::Operation* op, RankedTensorType x) {
  const int64_t rank = x.getRank();
  if (rank < 2 || x.getDimSize(rank - 1) != 2) {
    return op->emitOpError() << "takes complex numbers of type " << x << "; expected [..., n, 2]";
  }
  if (x.getDimSize(rank - 2) > 0) return mlir::success();
  return op->emitOpError() << "transforms 0 numbers; expected at least one";
}

// Checks real numbers [..., n] and the first half of their transform, complex numbers [..., n / 2 + 1, 2].
LogicalResult CheckHalf(mlir::Operation* op, RankedTensorType real, RankedTensorType half) {
  if (real.getRank() < 1) {
    return op->emitOpError() << "has real numbers of type " << real << "; expected rank 1 or more";
  }
  const int64_t n = real.getShape().back();
  if (n < 1) return op->emitOpError() << "transforms 0 numbers; expected at least one";
  SmallVector<int64_t> shape(real.getShape().drop_back(1));
  shape.append({n / 2 + 1, 2});
  const auto want = RankedTensorType::get(shape, real.getElementType());
  if (half == want) return mlir::success();
  return op->emitOpError() << "has complex numbers of type " << half << " for real ones of type " << real
                           << "; expected " << want;
}

}  // namespace

LogicalResult FftOp::verify() { return CheckComplex(*this, getX().getType()); }
LogicalResult RfftOp::verify() { return CheckHalf(*this, getX().getType(), getResult().getType()); }
LogicalResult IrfftOp::verify() { return CheckHalf(*this, getResult().getType(), getX().getType()); }

// The kernels read a transform's numbers before they write them.
bool FftOp::mayUpdateInPlace(unsigned, unsigned) { return true; }

// How they iterate
// -----------------------------------------------------------------------------------------------------------

namespace {

// The transforms are independent: a factor for each of the first `leading` dimensions. They are linear.
FactorRule TransformFactors(mlir::Operation* op, RankedTensorType x, int64_t leading, const char* operand,
                            const char* result) {
  SmallVector<Factor> factors;
  std::string batch;
  for (int64_t d = 0; d < leading; ++d) {
    const char name = static_cast<char>('a' + d);
    factors.push_back({x.getDimSize(d), FactorKind::kParallel, name});
    batch += std::string(1, name) + " ";
  }
  FactorRule rule = SpellFactors(op, factors, {batch + operand}, {batch + result});
  rule.linear_in = {{0}};
  return rule;
}

}  // namespace

FactorRule FftOp::getFactorRule() {
  RankedTensorType x = getX().getType();
  return TransformFactors(*this, x, x.getRank() - 2, ". .", ". .");
}
FactorRule RfftOp::getFactorRule() {
  RankedTensorType x = getX().getType();
  return TransformFactors(*this, x, x.getRank() - 1, ".", ". .");
}
FactorRule IrfftOp::getFactorRule() {
  RankedTensorType x = getX().getType();
  return TransformFactors(*this, x, x.getRank() - 2, ". .", ".");
}

// Gradients
// -----------------------------------------------------------------------------------------------------------

namespace {

// x [..., n / 2 + 1, 2] with the numbers that also stand for their conjugates times `weight`: all but number
// 0, and number n / 2 of an even n.
Expr WeightPairs(Expr x, int64_t n, double weight) {
  if (n <= 2) return x;
  GraphBuilder& b = *x.builder;
  const int64_t rank = static_cast<int64_t>(x.shape().size());
  const int64_t sizes[] = {n / 2 + 1, 2};
  Expr at = b.iota(sizes, b.builder().getI64Type(), 0);
  Expr is_pair = b.logicalAnd(b.gt(at, b.zeros(at)), b.lt(at, b.fill(at, static_cast<double>((n + 1) / 2))));
  Expr one = b.full(sizes, x.element(), 1);
  return x * b.broadcastAlong(b.select(is_pair, one * weight, one), x, {rank - 2, rank - 1});
}

}  // namespace

SmallVector<Expr> FftOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  Expr g = output_gradients[0];
  return {b.wrap(b.builder().create<FftOp>(b.loc(), g.type(), g.value, !getInverse()))};
}

SmallVector<Expr> RfftOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  RankedTensorType x = getX().getType();
  Expr g = WeightPairs(output_gradients[0], x.getShape().back(), 0.5);
  return {b.wrap(b.builder().create<IrfftOp>(b.loc(), x, g.value))};
}

SmallVector<Expr> IrfftOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  Expr g = output_gradients[0];
  Expr half = b.wrap(b.builder().create<RfftOp>(b.loc(), getX().getType(), g.value));
  return {WeightPairs(half, g.shape().back(), 2)};
}

}  // namespace sinter::ir
