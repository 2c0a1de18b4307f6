// quantized_matmul of the linear family: its verifier, gradient, decomposition, and how it iterates.
#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/library/linear_checks.h"
#include "sinter/ir/library/quantized_sizes.h"

namespace sinter::ir {

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::LogicalResult;
using mlir::RankedTensorType;

namespace {

// The numbers of the matrix without their scales, [n, k], in f32.
Expr Numbers(GraphBuilder& b, QuantizedMatmulOp op) {
  const QuantizedSizes s = QuantizedSizes::Of(op);
  const Expr stored = b.wrap(op.getWeights());
  const mlir::Type f32 = b.builder().getF32Type();
  if (s.bits == 8) return b.cast(stored, f32);
  const int64_t half = kQuantizedBlock / 2, blocks = s.k / kQuantizedBlock;
  const Expr pairs = b.cast(b.reshape(stored, {s.n, blocks, half}), f32);
  const Expr high = b.floor(pairs * (1.0 / 16)), low = pairs - high * 16;
  return b.reshape(b.concat({low, high}, 2), {s.n, s.k}) - 8;
}

// Each scale at the elements of its group, [n, k], in f32.
Expr SpreadScales(GraphBuilder& b, QuantizedMatmulOp op) {
  const QuantizedSizes s = QuantizedSizes::Of(op);
  const Expr scales = b.cast(b.wrap(op.getScales()), b.builder().getF32Type());
  return b.reshape(b.broadcast(scales, {s.n, s.groups, s.group}, {0, 1}), {s.n, s.k});
}

Expr Product(GraphBuilder& b, Expr x, Expr y, bool transpose_x, bool transpose_y, RankedTensorType type) {
  return b.wrap(b.builder().create<MatmulOp>(b.loc(), type, x.value, y.value, mlir::Value(), transpose_x,
                                             transpose_y, Activation::none, MathMode::ieee));
}

}  // namespace

LogicalResult QuantizedMatmulOp::verify() {
  RankedTensorType x = getX().getType(), w = getWeights().getType(), scales = getScales().getType();
  RankedTensorType result = getResult().getType();
  if (x.getRank() != 2 || w.getRank() != 2 || scales.getRank() != 2) {
    return emitOpError() << "takes " << x << ", " << w << " and scales " << scales << "; expected rank 2";
  }
  const bool in_pairs = w.getElementType().isUnsignedInteger(8);
  const int64_t m = x.getDimSize(0), k = x.getDimSize(1), n = w.getDimSize(0);
  if (in_pairs && k % kQuantizedBlock != 0) {
    return emitOpError() << "has rows of " << k << " numbers of four bits; expected a multiple of "
                         << kQuantizedBlock;
  }
  const int64_t stored = in_pairs ? k / 2 : k;
  if (w.getDimSize(1) != stored) {
    return emitOpError() << "has rows of " << w.getDimSize(1) << " bytes for " << k
                         << " columns of x; expected " << stored;
  }
  const int64_t groups = scales.getDimSize(1);
  const bool fits =
      groups == 1 || (groups > 1 && k > 0 && k % groups == 0 && k / groups % kQuantizedBlock == 0);
  if (scales.getDimSize(0) != n || !fits) {
    return emitOpError() << "has scales " << SizesText(scales.getShape()) << " for " << n << " rows of " << k
                         << "; expected " << n << "x1, or a row of scales of which each is for a multiple of "
                         << kQuantizedBlock << " elements";
  }
  const SmallVector<int64_t> want = {m, n};
  if (result.getShape() == ArrayRef<int64_t>(want)) return mlir::success();
  return emitOpError() << "has a result of shape " << SizesText(result.getShape()) << "; expected "
                       << SizesText(want);
}

// A scale for a whole row multiplies the sum, in f32. The scales of groups multiply the numbers.
SmallVector<mlir::Value> QuantizedMatmulOp::decompose(GraphBuilder& b) {
  const QuantizedSizes s = QuantizedSizes::Of(*this);
  const Expr x = b.wrap(getX()), numbers = Numbers(b, *this);
  const mlir::Type element = x.element(), f32 = b.builder().getF32Type();
  if (s.groups > 1) {
    const Expr weights = b.cast(numbers * SpreadScales(b, *this), element);
    return {Product(b, x, weights, false, true, getResult().getType()).value};
  }
  const auto wide = RankedTensorType::get({s.m, s.n}, f32);
  const Expr sums = Product(b, x, b.cast(numbers, element), false, true, wide);
  const Expr scales = b.reshape(b.cast(b.wrap(getScales()), f32), {s.n});
  return {b.cast(sums * b.broadcast(scales, {s.m, s.n}, {1}), element).value};
}

// With Y = X (Q S)^T: dX = G (Q S), and dS is the sum over each group of (G^T X) Q.
SmallVector<Expr> QuantizedMatmulOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  const QuantizedSizes s = QuantizedSizes::Of(*this);
  const Expr g = output_gradients[0], x = b.wrap(getX()), numbers = Numbers(b, *this);
  const Expr weights = b.cast(numbers * SpreadScales(b, *this), x.element());
  const Expr dx = Product(b, g, weights, false, false, x.type());
  const auto wide = RankedTensorType::get({s.n, s.k}, b.builder().getF32Type());
  const Expr terms = Product(b, g, x, true, false, wide) * numbers;
  const Expr ds = b.sum(b.reshape(terms, {s.n, s.groups, s.group}), {2});
  return {dx, {}, b.cast(ds, getScales().getType().getElementType())};
}

// Rows of x and of the matrix are cut; a row of the matrix stays whole.
FactorRule QuantizedMatmulOp::getFactorRule() {
  const QuantizedSizes s = QuantizedSizes::Of(*this);
  FactorRule rule =
      SpellFactors(*this, {{s.m, FactorKind::kParallel, 'm'}, {s.n, FactorKind::kParallel, 'n'}},
                   {"m .", "n .", "n ."}, {"m n"});
  rule.linear_in = {{0}, {2}};
  return rule;
}

}  // namespace sinter::ir
