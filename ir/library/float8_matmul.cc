// scaled_matmul and float8_matmul of the linear family: verifiers, gradients, decompositions, and how they
// iterate.
//
// The recipes are those of "FP8 Formats for Deep Learning" (Micikevicius et al., 2022) with scales from the
// values at hand, as torchao's float8 training has them.
#include <cmath>

#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/library/linear_checks.h"
#include "sinter/ir/library/matmul_sizes.h"

namespace sinter::ir {

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::LogicalResult;
using mlir::RankedTensorType;
using mlir::Value;

namespace {

constexpr double kLargestE4M3 = 448, kLargestE5M2 = 57344;
// Magnitudes below it are scaled as if this were the largest, so that zeros have a finite scale.
constexpr double kLeastMagnitude = 1e-12;

double LargestOf(mlir::Type element) {
  return llvm::isa<mlir::Float8E5M2Type>(element) ? kLargestE5M2 : kLargestE4M3;
}

// The largest power of two that is at most x, exactly, for x of at least 2^-126; other x stay, such as 0 and
// NaN. 2^-126 is doubled as long as it is at most x: by 2^64 twice, then by 2^32, 2^16, ..., 2.
Expr RoundDownToPowerOfTwo(GraphBuilder& b, Expr x) {
  const Expr least = b.fill(x, std::ldexp(1.0, -126));
  Expr power = least;
  for (const int bits : {64, 64, 32, 16, 8, 4, 2, 1}) {
    const Expr more = power * std::ldexp(1.0, bits);
    power = b.select(b.le(more, x), more, power);
  }
  return b.select(b.ge(x, least), power, x);
}

// An operand as 8-bit floats in rows of k, and the factor of each row, or of all, that gives its values back.
struct Scaled {
  Expr values, scale;
};

// How an operand of a float8_matmul is scaled and rounded.
struct Rounding {
  mlir::Type element;
  bool by_row = false;        // A scale for each row of k, else one for the operand.
  bool to_power = false;      // Scales are rounded down to powers of two.
  bool k_is_first = false;    // The operand is [k, rows], else [rows, k].
  bool spread_scale = false;  // One scale, repeated for each row.
};

// The largest magnitude along `reduced`. That of a whole operand is found in two steps, so that the first one
// shares the loops of what computes the rows.
Expr Magnitude(GraphBuilder& b, Expr x, int64_t along_k, bool by_row) {
  const Expr magnitudes = b.abs(x);
  if (by_row) return b.max(magnitudes, {along_k});
  return b.max(b.max(magnitudes, {1}), {0});
}

// The scale is computed in f32: its quotient is the one that f64 would give, rounded once.
Scaled Round(GraphBuilder& b, Expr x, const Rounding& how) {
  const mlir::Type f32 = b.builder().getF32Type();
  const int64_t along_k = how.k_is_first ? 0 : 1, along_rows = 1 - along_k;
  const int64_t rows = x.shape()[static_cast<size_t>(along_rows)];
  const double largest = LargestOf(how.element);
  const SmallVector<int64_t> kept = how.by_row ? SmallVector<int64_t>{along_rows} : SmallVector<int64_t>{};
  const Expr magnitude = b.cast(Magnitude(b, x, along_k, how.by_row), f32);
  const Expr bounded = b.maximum(magnitude, b.fill(magnitude, kLeastMagnitude));
  Expr scale = largest / bounded;
  if (how.to_power) scale = RoundDownToPowerOfTwo(b, scale);
  const Expr wide = b.cast(x, f32);
  Expr scaled = wide * b.broadcastAlong(scale, wide, kept);
  scaled = b.minimum(b.maximum(scaled, b.fill(scaled, -largest)), b.fill(scaled, largest));
  Expr values = b.cast(scaled, how.element), inverse = 1.0 / scale;
  if (how.k_is_first) values = b.transpose(values, {1, 0});
  if (how.spread_scale) inverse = b.broadcast(inverse, {rows}, {});
  return {values, inverse};
}

// The number of the operand that is a gradient, or -1. The attribute's accessor has no sign.
int64_t GradientOf(Float8MatmulOp op) { return static_cast<int64_t>(op.getGradient()); }

// How operand `number` of the product is rounded.
Rounding RoundingOf(Float8MatmulOp op, int64_t number) {
  const bool is_a = number == 0, is_gradient = GradientOf(op) == number;
  const bool is_tensorwise = op.getRecipe() == Float8Recipe::tensorwise;
  mlir::MLIRContext* const context = op.getContext();
  Rounding how;
  how.element = is_tensorwise && is_gradient ? mlir::Type(mlir::Float8E5M2Type::get(context))
                                             : mlir::Type(mlir::Float8E4M3FNType::get(context));
  // The weights in x's gradient: the operand that is no gradient.
  how.spread_scale = op.getRecipe() == Float8Recipe::rowwise_with_bf16_weight_gradient &&
                     GradientOf(op) >= 0 && !is_gradient;
  how.by_row = !is_tensorwise && !how.spread_scale;
  how.to_power = !is_tensorwise;
  how.k_is_first = is_a ? op.getTransposeA() : !op.getTransposeB();
  return how;
}

LogicalResult CheckScales(ScaledMatmulOp op, int64_t m, int64_t n) {
  RankedTensorType a = op.getScaleA().getType(), b = op.getScaleB().getType();
  const bool are_numbers = a.getRank() == 0 && b.getRank() == 0;
  const bool are_rows = a.getShape() == ArrayRef<int64_t>({m}) && b.getShape() == ArrayRef<int64_t>({n});
  if (are_numbers || are_rows) return mlir::success();
  return op.emitOpError() << "has scales of type " << a << " and " << b << "; expected rank 0 for both, or ["
                          << m << "] and [" << n << "]";
}

LogicalResult CheckResultSizes(mlir::Operation* op, RankedTensorType result, int64_t m, int64_t n) {
  if (result.getShape() == ArrayRef<int64_t>({m, n})) return mlir::success();
  return op->emitOpError() << "has a result of shape " << SizesText(result.getShape()) << "; expected "
                           << SizesText({m, n});
}

}  // namespace

// scaled_matmul
// -----------------------------------------------------------------------------------------------------------

LogicalResult ScaledMatmulOp::verify() {
  RankedTensorType a = getA().getType(), b = getB().getType();
  if (a.getRank() != 2 || b.getRank() != 2 || a.getDimSize(1) != b.getDimSize(1)) {
    return emitOpError() << "multiplies " << a << " and " << b
                         << "; expected rank 2 and rows of equal lengths";
  }
  const int64_t m = a.getDimSize(0), n = b.getDimSize(0);
  if (mlir::failed(CheckScales(*this, m, n))) return mlir::failure();
  return CheckResultSizes(*this, getType(), m, n);
}

// bf16 holds both types of 8 bits, so that the products are the same.
SmallVector<Value> ScaledMatmulOp::decompose(GraphBuilder& b) {
  const mlir::Type bf16 = b.builder().getBF16Type(), f32 = b.builder().getF32Type();
  const auto wide = RankedTensorType::get(getType().getShape(), f32);
  const Expr x = b.cast(b.wrap(getA()), bf16), y = b.cast(b.wrap(getB()), bf16);
  Expr sums = b.wrap(b.builder().create<MatmulOp>(b.loc(), wide, x.value, y.value, Value(),
                                                  /*transpose_a=*/false, /*transpose_b=*/true,
                                                  Activation::none, MathMode::ieee));
  const bool by_row = getScaleA().getType().getRank() == 1;
  const SmallVector<int64_t> rows = by_row ? SmallVector<int64_t>{0} : SmallVector<int64_t>{},
                             columns = by_row ? SmallVector<int64_t>{1} : SmallVector<int64_t>{};
  sums = sums * b.broadcastAlong(b.wrap(getScaleA()), sums, rows);
  sums = sums * b.broadcastAlong(b.wrap(getScaleB()), sums, columns);
  return {b.cast(sums, getType().getElementType()).value};
}

FactorRule ScaledMatmulOp::getFactorRule() {
  const int64_t m = getType().getDimSize(0), n = getType().getDimSize(1), k = getA().getType().getDimSize(1);
  const bool by_row = getScaleA().getType().getRank() == 1;
  return SpellFactors(
      *this, {{m, FactorKind::kParallel, 'm'}, {n, FactorKind::kParallel, 'n'}, {k, FactorKind::kSum, 'k'}},
      {"m k", "n k", by_row ? "m" : "", by_row ? "n" : ""}, {"m n"});
}

// float8_matmul
// -----------------------------------------------------------------------------------------------------------

LogicalResult Float8MatmulOp::verify() {
  RankedTensorType a = getA().getType(), b = getB().getType();
  if (a.getRank() != 2 || b.getRank() != 2) {
    return emitOpError() << "multiplies " << a << " and " << b << "; expected rank 2";
  }
  const MatmulSizes s = MatmulSizes::Of(*this);
  if (b.getDimSize(getTransposeB() ? 1 : 0) != s.k) {
    return emitOpError() << "multiplies " << a << " and " << b << "; expected equal inner dimensions";
  }
  if (GradientOf(*this) < -1 || GradientOf(*this) > 1) {
    return emitOpError() << "has gradient " << GradientOf(*this)
                         << "; expected the number of an operand, 0 or 1, "
                         << "or -1 for none";
  }
  return CheckResultSizes(*this, getType(), s.m, s.n);
}

SmallVector<Value> Float8MatmulOp::decompose(GraphBuilder& b) {
  const Scaled x = Round(b, b.wrap(getA()), RoundingOf(*this, 0));
  const Scaled y = Round(b, b.wrap(getB()), RoundingOf(*this, 1));
  return {b.builder().create<ScaledMatmulOp>(b.loc(), getType(), x.values.value, y.values.value,
                                             x.scale.value, y.scale.value, /*fast=*/GradientOf(*this) < 0)};
}

// With C = A' B': dA' = G B'^T and dB' = A'^T G, as for matmul. b is the weights.
SmallVector<Expr> Float8MatmulOp::buildGradient(GraphBuilder& builder, ArrayRef<Expr> output_gradients) {
  const Expr g = output_gradients[0], a = builder.wrap(getA()), b = builder.wrap(getB());
  const bool ta = getTransposeA(), tb = getTransposeB();
  mlir::OpBuilder& at = builder.builder();
  const auto product = [&](Expr x, Expr y, bool transpose_x, bool transpose_y, int64_t gradient, Expr like) {
    return builder.wrap(at.create<Float8MatmulOp>(builder.loc(), like.type(), x.value, y.value, getRecipe(),
                                                  transpose_x, transpose_y, gradient));
  };
  const auto wide = [&](Expr x, Expr y, bool transpose_x, bool transpose_y, Expr like) {
    return builder.wrap(at.create<MatmulOp>(builder.loc(), like.type(), x.value, y.value, Value(),
                                            transpose_x, transpose_y, Activation::none, MathMode::ieee));
  };
  const Expr da = ta ? product(b, g, tb, true, 1, a) : product(g, b, false, !tb, 0, a);
  if (getRecipe() == Float8Recipe::rowwise_with_bf16_weight_gradient) {
    return {da, tb ? wide(g, a, true, ta, b) : wide(a, g, !ta, false, b)};
  }
  return {da, tb ? product(g, a, true, ta, 0, b) : product(a, g, !ta, false, 1, b)};
}

}  // namespace sinter::ir
