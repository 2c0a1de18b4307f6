// DifferentiableInterface of the reductions.
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/shape_checks.h"

namespace sinter::ir {

using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

// Spreads a reduction's result over the operand's shape.
Expr Spread(Expr reduced, Expr x, ArrayRef<int64_t> dims) {
  return x.builder->broadcastAlong(reduced, x, OtherDims(x.shape().size(), dims));
}

// Elements equal to the extreme one share its gradient evenly.
SmallVector<Expr> ExtremeGradient(GraphBuilder& b, Expr x, Expr r, Expr g, ArrayRef<int64_t> dims) {
  Expr chosen = b.eq(x, Spread(r, x, dims));
  Expr count = b.sum(b.select(chosen, b.ones(x), b.zeros(x)), dims);
  return {b.select(chosen, Spread(g / count, x, dims), b.zeros(x))};
}

}  // namespace

SmallVector<Expr> SumOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  return {Spread(output_gradients[0], b.wrap(getX()), getDims())};
}

// The derivative towards an element is the product of the other elements. With every zero replaced by 1, that
// is product / element if no other element is zero, else 0. This never divides by zero.
SmallVector<Expr> ProdOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  Expr x = b.wrap(getX());
  Expr is_zero = b.eq(x, b.zeros(x));
  Expr one_if_zero = b.select(is_zero, b.ones(x), b.zeros(x));
  Expr safe = b.select(is_zero, b.ones(x), x);
  Expr product = b.wrap(b.builder().create<ProdOp>(b.loc(), getType(), safe.value, getDims()));
  Expr other_zeros = Spread(b.sum(one_if_zero, getDims()), x, getDims()) - one_if_zero;
  Expr others = b.select(b.eq(other_zeros, b.zeros(x)), Spread(product, x, getDims()) / safe, b.zeros(x));
  return {Spread(output_gradients[0], x, getDims()) * others};
}

SmallVector<Expr> MaxOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  return ExtremeGradient(b, b.wrap(getX()), b.wrap(getResult()), output_gradients[0], getDims());
}

SmallVector<Expr> MinOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  return ExtremeGradient(b, b.wrap(getX()), b.wrap(getResult()), output_gradients[0], getDims());
}

SmallVector<Expr> AnyOp::buildGradient(GraphBuilder&, ArrayRef<Expr>) { return {Expr()}; }
SmallVector<Expr> AllOp::buildGradient(GraphBuilder&, ArrayRef<Expr>) { return {Expr()}; }

SmallVector<Expr> CumsumOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  return {b.wrap(
      b.builder().create<CumsumOp>(b.loc(), getType(), output_gradients[0].value, getDim(), !getReverse()))};
}

}  // namespace sinter::ir
