#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/element_types.h"

#include "llvm/ADT/APSInt.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/shape_checks.h"

namespace sinter::ir {

using llvm::ArrayRef;
using mlir::RankedTensorType;

namespace {

template <typename Op>
Expr Unary(Expr x) {
  GraphBuilder& b = *x.builder;
  return b.wrap(b.builder().create<Op>(b.loc(), x.value.getType(), x.value));
}

template <typename Op>
Expr Binary(Expr x, Expr y) {
  GraphBuilder& b = *x.builder;
  return b.wrap(b.builder().create<Op>(b.loc(), x.value.getType(), x.value, y.value));
}

template <typename Op>
Expr Reduce(Expr x, ArrayRef<int64_t> dims) {
  GraphBuilder& b = *x.builder;
  llvm::SmallVector<int64_t> shape;
  for (auto [d, size] : llvm::enumerate(x.shape())) {
    if (!llvm::is_contained(dims, static_cast<int64_t>(d))) shape.push_back(size);
  }
  return b.wrap(b.builder().create<Op>(b.loc(), RankedTensorType::get(shape, x.element()), x.value,
                                       b.builder().getDenseI64ArrayAttr(dims)));
}

}  // namespace

Expr GraphBuilder::fill(Expr like, double value) { return full(like.shape(), like.element(), value); }

Expr GraphBuilder::full(ArrayRef<int64_t> shape, mlir::Type element, double value) {
  auto type = RankedTensorType::get(shape, element);
  mlir::Attribute attribute;
  if (auto float_type = llvm::dyn_cast<mlir::FloatType>(element)) {
    attribute = builder_.getFloatAttr(float_type, value);
  } else {
    // Saturates; i1 is treated as unsigned.
    llvm::APSInt integer(element.getIntOrFloatBitWidth(),
                         element.isUnsignedInteger() || element.isInteger(1));
    bool is_exact = false;
    llvm::APFloat(value).convertToInteger(integer, llvm::APFloat::rmTowardZero, &is_exact);
    attribute = mlir::IntegerAttr::get(element, integer);
  }
  return wrap(builder_.create<ConstantOp>(loc_, mlir::DenseElementsAttr::get(type, attribute)));
}

Expr GraphBuilder::iota(ArrayRef<int64_t> shape, mlir::Type element, int64_t dim) {
  return wrap(builder_.create<IotaOp>(loc_, RankedTensorType::get(shape, element), dim, mlir::Value()));
}

Expr GraphBuilder::add(Expr x, Expr y) { return Binary<AddOp>(x, y); }
Expr GraphBuilder::sub(Expr x, Expr y) { return Binary<SubOp>(x, y); }
Expr GraphBuilder::mul(Expr x, Expr y) { return Binary<MulOp>(x, y); }
Expr GraphBuilder::div(Expr x, Expr y) { return Binary<DivOp>(x, y); }
Expr GraphBuilder::pow(Expr x, Expr y) { return Binary<PowOp>(x, y); }
Expr GraphBuilder::maximum(Expr x, Expr y) { return Binary<MaximumOp>(x, y); }
Expr GraphBuilder::minimum(Expr x, Expr y) { return Binary<MinimumOp>(x, y); }
Expr GraphBuilder::neg(Expr x) { return Unary<NegOp>(x); }
Expr GraphBuilder::abs(Expr x) { return Unary<AbsOp>(x); }
Expr GraphBuilder::sign(Expr x) { return Unary<SignOp>(x); }
Expr GraphBuilder::floor(Expr x) { return Unary<FloorOp>(x); }
Expr GraphBuilder::ceil(Expr x) { return Unary<CeilOp>(x); }
Expr GraphBuilder::trunc(Expr x) { return select(lt(x, zeros(x)), ceil(x), floor(x)); }
Expr GraphBuilder::exp(Expr x) { return Unary<ExpOp>(x); }
Expr GraphBuilder::expm1(Expr x) { return Unary<Expm1Op>(x); }
Expr GraphBuilder::log(Expr x) { return Unary<LogOp>(x); }
Expr GraphBuilder::log1p(Expr x) { return Unary<Log1pOp>(x); }
Expr GraphBuilder::sqrt(Expr x) { return Unary<SqrtOp>(x); }
Expr GraphBuilder::rsqrt(Expr x) { return Unary<RsqrtOp>(x); }
Expr GraphBuilder::square(Expr x) { return Unary<SquareOp>(x); }
Expr GraphBuilder::sin(Expr x) { return Unary<SinOp>(x); }
Expr GraphBuilder::cos(Expr x) { return Unary<CosOp>(x); }
Expr GraphBuilder::tanh(Expr x) { return Unary<TanhOp>(x); }
Expr GraphBuilder::erf(Expr x) { return Unary<ErfOp>(x); }
Expr GraphBuilder::sigmoid(Expr x) { return Unary<SigmoidOp>(x); }
Expr GraphBuilder::softplus(Expr x) { return Unary<SoftplusOp>(x); }

Expr GraphBuilder::compare(Comparison predicate, Expr x, Expr y) {
  auto type = RankedTensorType::get(x.shape(), builder_.getI1Type());
  return wrap(builder_.create<CompareOp>(loc_, type, predicate, x.value, y.value));
}
Expr GraphBuilder::eq(Expr x, Expr y) { return compare(Comparison::eq, x, y); }
Expr GraphBuilder::ne(Expr x, Expr y) { return compare(Comparison::ne, x, y); }
Expr GraphBuilder::lt(Expr x, Expr y) { return compare(Comparison::lt, x, y); }
Expr GraphBuilder::le(Expr x, Expr y) { return compare(Comparison::le, x, y); }
Expr GraphBuilder::gt(Expr x, Expr y) { return compare(Comparison::gt, x, y); }
Expr GraphBuilder::ge(Expr x, Expr y) { return compare(Comparison::ge, x, y); }
Expr GraphBuilder::logicalAnd(Expr x, Expr y) { return Binary<LogicalAndOp>(x, y); }
Expr GraphBuilder::logicalNot(Expr x) { return Unary<LogicalNotOp>(x); }

Expr GraphBuilder::select(Expr condition, Expr on_true, Expr on_false) {
  return wrap(builder_.create<SelectOp>(loc_, on_true.value.getType(), condition.value, on_true.value,
                                        on_false.value));
}

Expr GraphBuilder::cast(Expr x, mlir::Type element) {
  if (x.element() == element) return x;
  return wrap(builder_.create<CastOp>(loc_, RankedTensorType::get(x.shape(), element), x.value));
}

Expr GraphBuilder::reshape(Expr x, ArrayRef<int64_t> shape) {
  if (x.shape() == shape) return x;
  return wrap(builder_.create<ReshapeOp>(loc_, RankedTensorType::get(shape, x.element()), x.value));
}

Expr GraphBuilder::transpose(Expr x, ArrayRef<int64_t> permutation) {
  llvm::SmallVector<int64_t> shape;
  for (int64_t d : permutation) shape.push_back(x.shape()[d]);
  return wrap(
      builder_.create<TransposeOp>(loc_, RankedTensorType::get(shape, x.element()), x.value, permutation));
}

Expr GraphBuilder::broadcast(Expr x, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  return wrap(builder_.create<BroadcastOp>(loc_, RankedTensorType::get(shape, x.element()), x.value, dims));
}

Expr GraphBuilder::slice(Expr x, ArrayRef<int64_t> starts, ArrayRef<int64_t> limits,
                         ArrayRef<int64_t> strides) {
  llvm::SmallVector<int64_t> shape;
  for (size_t d = 0; d < starts.size(); ++d) {
    shape.push_back(CountSteps(starts[d], limits[d], strides[d]));
  }
  return wrap(builder_.create<SliceOp>(loc_, RankedTensorType::get(shape, x.element()), x.value, starts,
                                       limits, strides));
}

Expr GraphBuilder::pad(Expr x, ArrayRef<int64_t> low, ArrayRef<int64_t> high, ArrayRef<int64_t> interior,
                       double value) {
  llvm::SmallVector<int64_t> shape;
  for (auto [d, size] : llvm::enumerate(x.shape())) {
    shape.push_back(low[d] + high[d] + size + (size > 0 ? (size - 1) * interior[d] : 0));
  }
  return wrap(builder_.create<PadOp>(loc_, RankedTensorType::get(shape, x.element()), x.value, low, high,
                                     interior, llvm::APFloat(value)));
}

Expr GraphBuilder::concat(ArrayRef<Expr> xs, int64_t dim) {
  llvm::SmallVector<int64_t> shape(xs[0].shape());
  llvm::SmallVector<mlir::Value> values;
  shape[dim] = 0;
  for (Expr x : xs) {
    shape[dim] += x.shape()[dim];
    values.push_back(x.value);
  }
  return wrap(builder_.create<ConcatOp>(loc_, RankedTensorType::get(shape, xs[0].element()), values, dim));
}

Expr GraphBuilder::reverse(Expr x, ArrayRef<int64_t> dims) {
  return wrap(builder_.create<ReverseOp>(loc_, x.value.getType(), x.value, dims));
}

Expr GraphBuilder::sum(Expr x, ArrayRef<int64_t> dims) { return Reduce<SumOp>(x, dims); }
Expr GraphBuilder::mean(Expr x, ArrayRef<int64_t> dims) { return Reduce<MeanOp>(x, dims); }
Expr GraphBuilder::max(Expr x, ArrayRef<int64_t> dims) { return Reduce<MaxOp>(x, dims); }

// With u = sqrt(2/pi) (x + 0.044715 x^3), t = tanh(u): d/dx = (1 + t)/2 + x (1 - t^2) u' / 2.
Expr GraphBuilder::geluTanhGradient(Expr g, Expr x) {
  constexpr double kScale = 0.7978845608028654, kCube = 0.044715;
  Expr squared = x * x;
  Expr t = tanh(x * (squared * kCube + 1.0) * kScale);
  Expr slope = (squared * (3.0 * kCube) + 1.0) * kScale;
  return g * ((t + 1.0) * 0.5 + x * (1.0 - t * t) * slope * 0.5);
}

Expr GraphBuilder::castGradient(Expr g, Expr x) {
  if (!IsComputedFloat(g.element()) || !IsComputedFloat(x.element())) return {};
  return cast(g, x.element());
}

}  // namespace sinter::ir
