#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/shape_checks.h"
#include "sinter/ir/dialect/tensor_types.h"

// clang-format off: the enums come after the header that declares them.
#include "ir/composite_enums.cc.inc"
// clang-format on
#define GET_OP_CLASSES
#include "ir/composite_ops.cc.inc"

namespace sinter::ir {

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::LogicalResult;
using mlir::RankedTensorType;
using mlir::Value;

void AddCompositeOps(SinterDialect* dialect) {
  dialect->addFamily<
#define GET_OP_LIST
#include "ir/composite_ops.cc.inc"
      >();
}

// Verifiers ------------------------------------------------------------------------------------------------

namespace {

LogicalResult CheckType(mlir::Operation* op, llvm::StringRef what, mlir::Type given, mlir::Type expected) {
  if (given == expected) return mlir::success();
  return op->emitOpError() << "has " << what << " of type " << given << "; expected " << expected;
}

LogicalResult CheckFinite(mlir::Operation* op, llvm::StringRef what, const llvm::APFloat& value,
                          bool may_be_zero) {
  if (value.isFinite() && !value.isNegative() && (may_be_zero || !value.isZero())) return mlir::success();
  return op->emitOpError() << "has " << what << " " << value.convertToDouble()
                           << "; expected a finite number " << (may_be_zero ? "of at least 0" : "above 0");
}

// Scale, offset and statistics have one number a channel, in x's element type; f32 is also allowed for low
// precision.
LogicalResult CheckChannels(mlir::Operation* op, RankedTensorType x, int64_t channels, llvm::StringRef what,
                            mlir::Type given) {
  auto type = llvm::cast<RankedTensorType>(given);
  bool f32_of_narrow =
      type.getElementType().isF32() && (x.getElementType().isBF16() || x.getElementType().isF16());
  if (type.getShape() == ArrayRef<int64_t>({channels}) &&
      (type.getElementType() == x.getElementType() || f32_of_narrow)) {
    return mlir::success();
  }
  return op->emitOpError() << "has " << what << " of type " << type << "; expected "
                           << RankedTensorType::get({channels}, x.getElementType());
}

RankedTensorType Reduced(LossReduction reduction, RankedTensorType each) {
  return reduction == LossReduction::none ? each : RankedTensorType::get({}, each.getElementType());
}

template <typename Op>
LogicalResult CheckLoss(Op op) {
  RankedTensorType x = op.getX().getType();
  if (mlir::failed(CheckType(op, "a target", op.getTarget().getType(), x))) return mlir::failure();
  return CheckType(op, "a result", op.getResult().getType(), Reduced(op.getReduction(), x));
}

template <typename Op>
LogicalResult CheckSoftmax(Op op) {
  if (mlir::failed(CheckDim(op, op.getDim(), op.getX().getType()))) return mlir::failure();
  return CheckType(op, "a result", op.getResult().getType(), op.getX().getType());
}

// Norms over the last dimension: layer_norm has an offset, rms_norm has none.
template <typename Op>
LogicalResult CheckRowNorm(Op op) {
  RankedTensorType x = op.getX().getType();
  if (x.getRank() < 1) return op.emitOpError() << "normalises " << x << "; expected rank 1 or more";
  for (auto [i, operand] : llvm::enumerate(op->getOperands().drop_front())) {
    if (mlir::failed(
            CheckChannels(op, x, x.getShape().back(), i == 0 ? "scale" : "offset", operand.getType()))) {
      return mlir::failure();
    }
  }
  if (mlir::failed(CheckFinite(op, "epsilon", op.getEpsilon(), true))) return mlir::failure();
  return CheckType(op, "a result", op.getResult().getType(), x);
}

template <typename Op>
LogicalResult CheckBatchNorm(Op op, ArrayRef<std::pair<llvm::StringRef, Value>> channels) {
  RankedTensorType x = op.getX().getType();
  if (mlir::failed(CheckDim(op, op.getDim(), x))) return mlir::failure();
  for (auto [what, value] : channels) {
    if (mlir::failed(CheckChannels(op, x, x.getDimSize(op.getDim()), what, value.getType())))
      return mlir::failure();
  }
  if (mlir::failed(CheckFinite(op, "epsilon", op.getEpsilon(), true))) return mlir::failure();
  return CheckType(op, "a result", op.getResult().getType(), x);
}

}  // namespace

LogicalResult SoftmaxOp::verify() { return CheckSoftmax(*this); }
LogicalResult LogSoftmaxOp::verify() { return CheckSoftmax(*this); }

LogicalResult SoftmaxCrossEntropyOp::verify() {
  RankedTensorType logits = getLogits().getType(), labels = getLabels().getType();
  if (logits.getRank() < 1 || logits.getShape().drop_back() != labels.getShape()) {
    return emitOpError() << "has logits of type " << logits << " and labels of type " << labels
                         << "; expected logits [..., classes] and labels [...]";
  }
  auto each = RankedTensorType::get(labels.getShape(), logits.getElementType());
  return CheckType(*this, "a result", getResult().getType(), Reduced(getReduction(), each));
}

LogicalResult LayerNormOp::verify() { return CheckRowNorm(*this); }
LogicalResult RmsNormOp::verify() { return CheckRowNorm(*this); }

LogicalResult BatchNormTrainingOp::verify() {
  RankedTensorType x = getX().getType();
  int64_t groups = getGroups();
  if (groups < 1 || (groups > 1 && (getDim() == 0 || x.getRank() == 8 || x.getDimSize(0) % groups != 0))) {
    return emitOpError()
           << "cuts " << x << " in " << groups
           << " groups; expected equal parts of dimension 0, which is not that of the channels, and a rank "
              "below 8";
  }
  return CheckBatchNorm(
      *this,
      {{"scale", getScale()}, {"offset", getOffset()}, {"mean", getMean()}, {"variance", getVariance()}});
}

LogicalResult BatchNormInferenceOp::verify() {
  return CheckBatchNorm(
      *this,
      {{"scale", getScale()}, {"offset", getOffset()}, {"mean", getMean()}, {"variance", getVariance()}});
}

LogicalResult DropoutOp::verify() {
  double p = getProbability().convertToDouble();
  if (!(p >= 0 && p < 1))
    return emitOpError() << "drops with probability " << p << "; expected one in [0, 1)";
  if (getSeed().getType().getRank() != 0 || getStep().getType().getRank() != 0) {
    return emitOpError() << "has a seed of type " << getSeed().getType() << " and a step of type "
                         << getStep().getType() << "; expected rank 0";
  }
  return CheckType(*this, "a result", getResult().getType(), getX().getType());
}

LogicalResult MseLossOp::verify() { return CheckLoss(*this); }
LogicalResult L1LossOp::verify() { return CheckLoss(*this); }
LogicalResult BceWithLogitsLossOp::verify() { return CheckLoss(*this); }
LogicalResult HuberLossOp::verify() {
  if (mlir::failed(CheckFinite(*this, "delta", getDelta(), false))) return mlir::failure();
  return CheckLoss(*this);
}

// The language of the definitions --------------------------------------------------------------------------

namespace {

// Casts bf16 and f16 to f32 at the borders of a composite: sums of many terms need it.
Expr Wide(GraphBuilder& b, Value value) {
  Expr x = b.wrap(value);
  return x.element().isBF16() || x.element().isF16() ? b.cast(x, b.builder().getF32Type()) : x;
}
// `like` gives the element type.
Value Narrow(Expr x, Value like) { return x.builder->cast(x, TypeOf(like).getElementType()).value; }
Expr NarrowExpr(Expr x, Value like) { return x.builder->wrap(Narrow(x, like)); }

SmallVector<int64_t> AllDims(Expr x) { return llvm::to_vector(llvm::seq<int64_t>(0, x.type().getRank())); }
SmallVector<int64_t> DimsBut(Expr x, int64_t dim) {
  SmallVector<int64_t> dims = AllDims(x);
  dims.erase(dims.begin() + dim);
  return dims;
}
int64_t CountAlong(Expr x, ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t d : dims) count *= x.shape()[d];
  return count;
}
// Spreads the result of reducing `like` along `dim` over that dimension.
Expr Spread(Expr reduced, Expr like, int64_t dim) {
  return like.builder->broadcastAlong(reduced, like, DimsBut(like, dim));
}
// Spreads one number a channel over all other dimensions of `like`.
Expr PerChannel(Expr channels, Expr like, int64_t dim) {
  return like.builder->broadcastAlong(channels, like, {dim});
}

// x - max(x), its exp, and the sum of that along `dim`: common to softmax, its logarithm and their gradients.
struct Exponentials {
  Expr max, shifted, exp, sum;

  Exponentials(Expr x, int64_t dim) {
    GraphBuilder& b = *x.builder;
    max = b.max(x, {dim});
    shifted = x - Spread(max, x, dim);
    exp = b.exp(shifted);
    sum = b.sum(exp, {dim});
  }
  Expr softmax(int64_t dim) const { return exp * Spread(1.0 / sum, exp, dim); }
};

Expr ReduceLoss(Expr each, LossReduction reduction) {
  if (reduction == LossReduction::none) return each;
  SmallVector<int64_t> dims = AllDims(each);
  Expr sum = each.builder->sum(each, dims);
  return reduction == LossReduction::sum ? sum : sum / static_cast<double>(CountAlong(each, dims));
}

template <typename Op>
SmallVector<Value> DecomposeLoss(Op op, GraphBuilder& b, llvm::function_ref<Expr(Expr, Expr)> each) {
  Expr loss = each(Wide(b, op.getX()), Wide(b, op.getTarget()));
  return {Narrow(ReduceLoss(loss, op.getReduction()), op.getResult())};
}

// Values that the loss and its gradient compute from the labels.
struct Labels {
  int64_t dim;    // The dimension of the classes.
  Expr is_class;  // True where the coordinate along `dim` is the label.
  Expr counted;   // True where the example counts; null if all examples count.
  Expr is_valid;  // True where the label names a class.

  Labels(SoftmaxCrossEntropyOp op, Expr x) {
    GraphBuilder& b = *x.builder;
    Expr label = b.wrap(op.getLabels());
    dim = x.type().getRank() - 1;
    is_valid = b.logicalAnd(b.ge(label, b.zeros(label)),
                            b.lt(label, b.fill(label, static_cast<double>(x.shape()[dim]))));
    if (auto ignored = op.getIgnoreLabel()) {
      counted = b.ne(label, b.fill(label, static_cast<double>(static_cast<int64_t>(*ignored))));
    }
    // 32 bits give as many lanes a vector as the logits have; is_valid has checked the full label.
    Expr narrow = b.cast(label, b.builder().getI32Type());
    is_class = b.eq(b.iota(x.shape(), narrow.element(), dim), Spread(narrow, x, dim));
  }
  // Number of examples that count, at least 1.
  Expr count(Expr x) const {
    GraphBuilder& b = *x.builder;
    if (!counted) return b.full({}, x.element(), std::max<int64_t>(1, is_valid.type().getNumElements()));
    Expr sum = b.sum(b.cast(counted, x.element()), AllDims(counted));
    return b.maximum(sum, b.ones(sum));
  }
};

}  // namespace

// Softmax --------------------------------------------------------------------------------------------------

SmallVector<Value> SoftmaxOp::decompose(GraphBuilder& b) {
  return {Narrow(Exponentials(Wide(b, getX()), getDim()).softmax(getDim()), getResult())};
}

// With r = softmax(x): dx = r (g - sum(g r)).
SmallVector<Expr> SoftmaxOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  int64_t dim = getDim();
  Expr g = Wide(b, output_gradients[0].value), r = Wide(b, getResult());
  return {NarrowExpr(r * (g - Spread(b.sum(g * r, {dim}), g, dim)), getX())};
}

SmallVector<Value> LogSoftmaxOp::decompose(GraphBuilder& b) {
  Exponentials e(Wide(b, getX()), getDim());
  return {Narrow(e.shifted - Spread(b.log(e.sum), e.shifted, getDim()), getResult())};
}

// dx = g - softmax(x) sum(g), and softmax(x) = exp(r).
SmallVector<Expr> LogSoftmaxOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  int64_t dim = getDim();
  Expr g = Wide(b, output_gradients[0].value), r = Wide(b, getResult());
  return {NarrowExpr(g - b.exp(r) * Spread(b.sum(g, {dim}), g, dim), getX())};
}

SmallVector<Value> SoftmaxCrossEntropyOp::decompose(GraphBuilder& b) {
  Expr x = Wide(b, getLogits());
  Labels labels(*this, x);
  Exponentials e(x, labels.dim);
  // The label's own logit is found in the same pass as the maximum, which is bound by memory.
  Expr own = b.sum(b.select(labels.is_class, x, b.zeros(x)), {labels.dim}) - e.max;
  Expr each = b.log(e.sum) - own;
  each = b.select(labels.is_valid, each, b.fill(each, std::numeric_limits<double>::quiet_NaN()));
  if (labels.counted) each = b.select(labels.counted, each, b.zeros(each));
  Expr loss = getReduction() == LossReduction::none ? each : b.sum(each, AllDims(each));
  if (getReduction() == LossReduction::mean) loss = loss / labels.count(x);
  return {Narrow(loss, getResult())};
}

// dx = (softmax(x) - onehot(label)) times the example's weight. CSE merges the exponentials with those of the
// loss, so only the logits have to be kept.
SmallVector<Expr> SoftmaxCrossEntropyOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  Expr x = Wide(b, getLogits()), g = Wide(b, output_gradients[0].value);
  Labels labels(*this, x);
  if (getReduction() == LossReduction::mean) g = g / labels.count(x);
  Expr weight = getReduction() == LossReduction::none ? g : b.splat(g, labels.is_valid);
  if (labels.counted) weight = b.select(labels.counted, weight, b.zeros(weight));
  Expr one_hot = b.select(labels.is_class, b.ones(x), b.zeros(x));
  Expr gradient = (Exponentials(x, labels.dim).softmax(labels.dim) - one_hot) * Spread(weight, x, labels.dim);
  return {NarrowExpr(gradient, getLogits()), Expr()};
}

// Norms ----------------------------------------------------------------------------------------------------

namespace {

Expr Average(Expr x, ArrayRef<int64_t> dims) {
  return x.builder->sum(x, dims) / static_cast<double>(CountAlong(x, dims));
}

// Formulas of a variance. kCentered: the mean of (x - mean)^2, two passes over x. kUncentered: mean(x^2) -
// mean(x)^2, one pass. One pass is enough for bf16 x: with a mean of r deviations, rounding x has already
// changed the variance by r^2 * 2^-16 / 12 in proportion; the difference of two f32 sums loses no more.
enum class Moments { kCentered, kUncentered };

// The values of a normalisation of x along `dims`. `kept` are the other dimensions.
struct Standardized {
  SmallVector<int64_t> dims, kept;
  Expr mean, centered, variance, scale, result;

  Standardized(Expr x, ArrayRef<int64_t> along, double epsilon, bool subtract_mean,
               Moments moments = Moments::kCentered)
      : dims(along) {
    GraphBuilder& b = *x.builder;
    for (int64_t d : AllDims(x)) {
      if (!llvm::is_contained(along, d)) kept.push_back(d);
    }
    centered = x;
    if (subtract_mean) {
      mean = Average(x, dims);
      centered = x - b.broadcastAlong(mean, x, kept);
    }
    if (subtract_mean && moments == Moments::kUncentered) {
      Expr difference = Average(b.square(x), dims) - b.square(mean);
      variance = b.maximum(difference, b.zeros(difference));
    } else {
      variance = Average(b.square(centered), dims);
    }
    scale = b.rsqrt(variance + epsilon);
    result = centered * b.broadcastAlong(scale, x, kept);
  }
  // The gradient of x, given the gradient `g` of `result`.
  Expr gradient(Expr g) const {
    GraphBuilder& b = *g.builder;
    Expr along_result = b.broadcastAlong(Average(g * result, dims), g, kept);
    Expr inner = g - result * along_result;
    if (mean) inner = inner - b.broadcastAlong(Average(g, dims), g, kept);
    return inner * b.broadcastAlong(scale, g, kept);
  }
};

Standardized RowNorm(GraphBuilder& b, Value x, const llvm::APFloat& epsilon, bool subtract_mean) {
  Expr wide = Wide(b, x);
  return Standardized(wide, {wide.type().getRank() - 1}, epsilon.convertToDouble(), subtract_mean);
}

}  // namespace

SmallVector<Value> LayerNormOp::decompose(GraphBuilder& b) {
  Expr x = RowNorm(b, getX(), getEpsilon(), true).result;
  int64_t dim = x.type().getRank() - 1;
  return {Narrow(x * PerChannel(Wide(b, getScale()), x, dim) + PerChannel(Wide(b, getOffset()), x, dim),
                 getResult())};
}

SmallVector<Expr> LayerNormOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  Expr g = Wide(b, output_gradients[0].value);
  Standardized s = RowNorm(b, getX(), getEpsilon(), true);
  int64_t dim = g.type().getRank() - 1;
  return {NarrowExpr(s.gradient(g * PerChannel(Wide(b, getScale()), g, dim)), getX()),
          NarrowExpr(b.sum(g * s.result, s.kept), getScale()), NarrowExpr(b.sum(g, s.kept), getOffset())};
}

SmallVector<Value> RmsNormOp::decompose(GraphBuilder& b) {
  Expr x = RowNorm(b, getX(), getEpsilon(), false).result;
  return {Narrow(x * PerChannel(Wide(b, getScale()), x, x.type().getRank() - 1), getResult())};
}

SmallVector<Expr> RmsNormOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  Expr g = Wide(b, output_gradients[0].value);
  Standardized s = RowNorm(b, getX(), getEpsilon(), false);
  return {NarrowExpr(s.gradient(g * PerChannel(Wide(b, getScale()), g, g.type().getRank() - 1)), getX()),
          NarrowExpr(b.sum(g * s.result, s.kept), getScale())};
}

namespace {

// The images of a batch norm. With several parts, a leading dimension of the parts is added.
struct BatchParts {
  int64_t parts, dim;  // The dimension of the channels.
  Expr x;
  Standardized norm;

  explicit BatchParts(BatchNormTrainingOp op, GraphBuilder& b)
      : parts(op.getGroups()),
        dim(op.getDim() + (parts > 1 ? 1 : 0)),
        x(split(Wide(b, op.getX()))),
        norm(x, along(), op.getEpsilon().convertToDouble(), true,
             op.getX().getType().getElementType().isBF16() ? Moments::kUncentered : Moments::kCentered) {}

  Expr split(Expr whole) const {
    if (parts == 1) return whole;
    SmallVector<int64_t> shape(whole.shape());
    shape[0] /= parts;
    shape.insert(shape.begin(), parts);
    return whole.builder->reshape(whole, shape);
  }
  Expr join(Expr split, Value like) const {
    return parts == 1 ? split : split.builder->reshape(split, TypeOf(like).getShape());
  }
  // Reduces one number for each part and channel to one for each channel.
  Expr sum(Expr each) const { return parts == 1 ? each : each.builder->sum(each, {0}); }
  Expr average(Expr each) const { return parts == 1 ? each : sum(each) / static_cast<double>(parts); }
  Expr perChannel(Expr channels) const { return PerChannel(channels, x, dim); }

 private:
  SmallVector<int64_t> along() const {
    SmallVector<int64_t> dims;
    for (int64_t d : AllDims(x)) {
      if (d != dim && (parts == 1 || d != 0)) dims.push_back(d);
    }
    return dims;
  }
};

}  // namespace

SmallVector<Value> BatchNormTrainingOp::decompose(GraphBuilder& b) {
  BatchParts batch(*this, b);
  Expr result =
      batch.norm.result * batch.perChannel(Wide(b, getScale())) + batch.perChannel(Wide(b, getOffset()));
  return {Narrow(batch.join(result, getX()), getResult()), Narrow(batch.average(batch.norm.mean), getMean()),
          Narrow(batch.average(batch.norm.variance), getVariance())};
}

SmallVector<Expr> BatchNormTrainingOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  BatchParts batch(*this, b);
  const Standardized& s = batch.norm;
  Expr dx, dscale, doffset;
  double count = static_cast<double>(CountAlong(batch.x, s.dims) * batch.parts);
  auto accumulate = [](Expr& sum, Expr term) { sum = sum ? sum + term : term; };
  if (output_gradients[0]) {
    Expr g = batch.split(Wide(b, output_gradients[0].value));
    // The gradients of scale and offset use the same two sums as the means in x's gradient.
    Expr sum = b.sum(g, s.dims), along_result = b.sum(g * s.result, s.dims);
    auto spread = [&](Expr each) { return b.broadcastAlong(each, g, s.kept); };
    const auto part = static_cast<double>(CountAlong(g, s.dims));
    Expr inner = g - spread(sum / part) - s.result * spread(along_result / part);
    accumulate(dx, inner * spread(s.scale) * batch.perChannel(Wide(b, getScale())));
    dscale = NarrowExpr(batch.sum(along_result), getScale());
    doffset = NarrowExpr(batch.sum(sum), getOffset());
  }
  if (output_gradients[1]) accumulate(dx, batch.perChannel(Wide(b, output_gradients[1].value) / count));
  if (output_gradients[2]) {
    accumulate(dx, s.centered * batch.perChannel(Wide(b, output_gradients[2].value) * (2 / count)));
  }
  return {NarrowExpr(batch.join(dx, getX()), getX()), dscale, doffset};
}

SmallVector<Value> BatchNormInferenceOp::decompose(GraphBuilder& b) {
  Expr x = Wide(b, getX());
  Expr scale = Wide(b, getScale()) * b.rsqrt(Wide(b, getVariance()) + getEpsilon().convertToDouble());
  Expr centered = x - PerChannel(Wide(b, getMean()), x, getDim());
  return {Narrow(centered * PerChannel(scale, x, getDim()) + PerChannel(Wide(b, getOffset()), x, getDim()),
                 getResult())};
}

// Dropout and losses ---------------------------------------------------------------------------------------

SmallVector<Value> DropoutOp::decompose(GraphBuilder& b) {
  double keep = 1 - getProbability().convertToDouble();
  Expr x = Wide(b, getX());
  Expr kept = b.wrap(b.builder().create<RandomBernoulliOp>(
      b.loc(), RankedTensorType::get(x.shape(), b.builder().getI1Type()), getSeed(), getStep(), getStream(),
      llvm::APFloat(keep), mlir::ValueRange(), nullptr));
  return {Narrow(b.select(kept, x * (1 / keep), b.zeros(x)), getResult())};
}

SmallVector<Value> MseLossOp::decompose(GraphBuilder& b) {
  return DecomposeLoss(*this, b, [&](Expr x, Expr target) { return b.square(x - target); });
}

SmallVector<Value> L1LossOp::decompose(GraphBuilder& b) {
  return DecomposeLoss(*this, b, [&](Expr x, Expr target) { return b.abs(x - target); });
}

SmallVector<Value> HuberLossOp::decompose(GraphBuilder& b) {
  double delta = getDelta().convertToDouble();
  return DecomposeLoss(*this, b, [&](Expr x, Expr target) {
    Expr d = x - target, size = b.abs(d);
    return b.select(b.le(size, b.fill(size, delta)), b.square(d) * 0.5, (size - delta / 2) * delta);
  });
}

SmallVector<Value> BceWithLogitsLossOp::decompose(GraphBuilder& b) {
  return DecomposeLoss(*this, b, [&](Expr x, Expr target) { return b.softplus(x) - x * target; });
}

}  // namespace sinter::ir
