#include "sinter/frontend/ops/losses.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/frontend/graph/broadcasting.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/graph/literals.h"
#include "sinter/frontend/graph/number_bounds.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter {
namespace {

// Returns a tensor of x's element type that holds the number. Not ok, with an error kept, if that type does
// not hold it.
Tensor Filled(std::string_view name, const Tensor& x, const Shape& shape, const Number& number, Where where) {
  Call call(name, where, {x});
  if (!call.ok() || !CheckLiteral(call, number, x.dtype())) return {};
  return call.Done(call.b().full(shape, call.element(x.dtype()), number.real()));
}

ir::LossReduction Lower(Reduction reduction) { return static_cast<ir::LossReduction>(reduction); }

template <typename Op, typename... Attributes>
Tensor Loss(std::string_view name, const Tensor& x, const Operand& given, Reduction reduction, Where where,
            Attributes... attributes) {
  if (!Call(name, where, {x}).ok()) return {};
  const Tensor target =
      given.is_tensor() ? given.tensor() : Filled(name, x, x.shape(), given.number(), where);
  Call call(name, where, {x, target});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype()) || x.dtype() != target.dtype())
    return call.Fail("takes floats of one element type");
  if (x.shape() != target.shape())
    return call.Fail("takes a target of the same shape; losses do not broadcast");
  auto type = call.type(x.dtype(), reduction == Reduction::kNone ? x.shape() : Shape{});
  return call.Done(
      call.b()
          .builder()
          .create<Op>(call.loc(), type, call.value(0), call.value(1), Lower(reduction), attributes...)
          .getResult());
}

// Reduces the losses of the examples or elements.
Tensor Reduced(const Tensor& each, Reduction reduction) {
  return reduction == Reduction::kNone ? each : reduction == Reduction::kSum ? Sum(each) : Mean(each);
}

// Calls make(x, targets) as a loss of this name. The targets are of x's type, or of its element type and the
// shape `wanted`.
template <typename Make>
Tensor Elementwise(std::string_view name, const Tensor& x, const Operand& given, Reduction reduction,
                   Where where, const std::string& wrong, Make make,
                   std::optional<Shape> wanted = std::nullopt) {
  std::vector<Tensor> operands = {x};
  if (given.is_tensor()) operands.push_back(given.tensor());
  CompositeCall call(name, where, operands);
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype())) return call.Fail("takes floats; Cast(x, F32) first");
  if (!wrong.empty()) return call.Fail(wrong);
  const Shape shape = wanted.value_or(x.shape());
  if (given.is_tensor() && (given.tensor().dtype() != x.dtype() || given.tensor().shape() != shape)) {
    return call.Fail(
        absl::StrCat("needs a target of type ", TypeString(x.dtype(), shape), "; losses do not broadcast"));
  }
  const Tensor target = given.is_tensor() ? given.tensor() : Filled(name, x, shape, given.number(), where);
  return target.ok() ? Reduced(make(target), reduction) : Tensor();
}

// The same for losses of two tensors of one type.
template <typename Make>
Tensor OfPair(std::string_view name, const Tensor& x, const Tensor& y, const Operand& given,
              Reduction reduction, Where where, std::optional<Shape> wanted, Make make) {
  CompositeCall call(name, where, {x, y});
  if (!call.ok()) return {};
  if (x.dtype() != y.dtype() || x.shape() != y.shape()) return call.Fail("takes tensors of one type");
  return Elementwise(name, x, given, reduction, where, "", make, std::move(wanted));
}

Shape WithoutLast(const Tensor& x) {
  Shape shape = x.shape();
  if (!shape.empty()) shape.pop_back();
  return shape;
}

// Says what is wrong with the shape of labels; empty if nothing is. `what` are the scores of the classes.
std::string WrongLabels(const char* what, const Tensor& scores, const Tensor& labels) {
  const Shape examples = WithoutLast(scores), shape = labels.shape();
  if (shape == examples) return "";
  std::string says = absl::StrCat("needs labels of type ", TypeString(labels.dtype(), examples),
                                  ": the shape of ", what, " without the classes, which come last");
  Shape behind = scores.shape(), order;
  if (scores.rank() < 3) return says;
  behind.erase(behind.begin() + 1);
  if (shape != behind) return says;
  for (int64_t d = 0; d < scores.rank(); ++d) order.push_back(d == 0 ? 0 : d + 1 < scores.rank() ? d + 1 : 1);
  return absl::StrCat(says, "; if they are dimension 1, as in PyTorch, move them: Transpose(", what, ", {",
                      absl::StrJoin(order, ", "), "})");
}

// Returns the loss of labels without weights and smoothing.
Tensor PlainCrossEntropy(const Tensor& logits, const Tensor& labels, Reduction reduction,
                         std::optional<int64_t> ignore_label, Where where) {
  Call call("SoftmaxCrossEntropy", where, {logits, labels});
  if (!call.ok()) return {};
  if (!IsFloat(logits.dtype())) return call.Fail("takes float logits; Cast(logits, F32) first");
  if (labels.dtype() != DType::kI32 && labels.dtype() != DType::kI64) {
    return call.Fail("takes i32 or i64 labels; Cast(labels, I32) first");
  }
  if (ignore_label && !CheckLiteral(call, *ignore_label, labels.dtype())) return {};
  if (ignore_label && !Number(*ignore_label).real_is_exact())
    return call.Fail(
        absl::StrCat("ignores the label ", *ignore_label, ", which is no double; choose a smaller number"));
  Shape examples = logits.shape();
  if (examples.empty()) return call.Fail("takes logits of rank 1 or more");
  examples.pop_back();
  if (const std::string wrong = WrongLabels("logits", logits, labels); !wrong.empty())
    return call.Fail(wrong);
  mlir::OpBuilder& builder = call.b().builder();
  auto type = call.type(logits.dtype(), reduction == Reduction::kNone ? examples : Shape{});
  auto ignore = ignore_label ? builder.getI64IntegerAttr(*ignore_label) : mlir::IntegerAttr();
  auto kind = ir::LossReductionAttr::get(builder.getContext(), Lower(reduction));
  return call.Done(
      builder.create<ir::SoftmaxCrossEntropyOp>(call.loc(), type, call.value(0), call.value(1), kind, ignore)
          .getResult());
}

// Describes an error in the options, as the rest of a sentence; empty if there is none.
std::string WrongIn(const Tensor& logits, const CrossEntropyOptions& o) {
  if (std::string wrong = OutOfBounds("a label_smoothing", o.label_smoothing, {.low = 0, .high = 1});
      !wrong.empty()) {
    return wrong;
  }
  if (!o.class_weights) return "";
  const Shape classes = {logits.rank() == 0 ? 1 : logits.dim(-1)};
  if (o.class_weights->dtype() == logits.dtype() && o.class_weights->shape() == classes) return "";
  return absl::StrCat("needs class_weights of type ", TypeString(logits.dtype(), classes));
}

// f64 stays; everything else is computed in f32.
DType ComputeType(const Tensor& x) { return x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32; }

// Returns the loss of labels with weights or smoothing, from that of each label alone and the smooth term.
Tensor WeightedCrossEntropy(const Tensor& logits, const Tensor& labels, const CrossEntropyOptions& o,
                            const Tensor& nll, const Tensor& smooth) {
  const DType in = ComputeType(logits);
  const Tensor is_kept = o.ignore_label ? NotEqual(labels, *o.ignore_label) : Equal(labels, labels);
  Tensor counts = Cast(is_kept, in);
  if (o.class_weights) {
    // An ignored label may be outside of the classes; its weight is not used.
    counts = counts * Gather(Cast(*o.class_weights, in), Select(is_kept, labels, 0), 0);
  }
  Tensor each = Cast(nll, in) * (o.class_weights ? counts : Operand(1.0));
  if (smooth.ok()) {
    // A label outside of the classes makes the loss NaN.
    each = each * (1 - o.label_smoothing) + Select(is_kept, smooth, 0.0) * o.label_smoothing;
  }
  const Tensor result = o.reduction == Reduction::kNone  ? each
                        : o.reduction == Reduction::kSum ? Sum(each)
                                                         : Sum(each) / Sum(counts);
  return Cast(result, logits.dtype());
}

// The mean over the classes of -weight * log(probability), as log of the sum of exponentials less logits.
Tensor SmoothTerm(const Tensor& logits, const CrossEntropyOptions& o) {
  const DType in = ComputeType(logits);
  const Tensor x = Cast(logits, in), all = LogSumExp(x, {-1});
  if (!o.class_weights) return all - Mean(x, {-1});
  const Tensor weights = Cast(*o.class_weights, in);
  return all * Mean(weights) - Mean(x * weights, {-1});
}

Tensor SoftCrossEntropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& o) {
  const DType in = ComputeType(logits);
  Tensor wanted = Cast(targets, in);
  if (o.label_smoothing > 0) {
    wanted = wanted * (1 - o.label_smoothing) + o.label_smoothing / static_cast<double>(logits.dim(-1));
  }
  if (o.class_weights) wanted = wanted * Cast(*o.class_weights, in);
  return Cast(Reduced(-Sum(wanted * LogSoftmax(Cast(logits, in)), {-1}), o.reduction), logits.dtype());
}

}  // namespace

Tensor SoftmaxCrossEntropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options,
                           Where where) {
  std::vector<Tensor> operands = {logits, targets};
  if (options.class_weights) operands.push_back(*options.class_weights);
  CompositeCall call("SoftmaxCrossEntropy", where, operands);
  if (!call.ok()) return {};
  if (IsFloat(logits.dtype())) {
    if (std::string wrong = WrongIn(logits, options); !wrong.empty()) return call.Fail(wrong);
  }
  if (IsFloat(targets.dtype()) && IsFloat(logits.dtype())) {
    if (options.ignore_label) return call.Fail("ignores a label, and its targets are probabilities");
    if (targets.dtype() != logits.dtype() || targets.shape() != logits.shape() || logits.rank() == 0) {
      return call.Fail(
          "needs i32 or i64 labels (Cast(labels, I32) first), or probabilities of the logits' type");
    }
    return SoftCrossEntropy(logits, targets, options);
  }
  const bool is_plain = options.label_smoothing == 0 && !options.class_weights;
  const Tensor plain = PlainCrossEntropy(logits, targets, is_plain ? options.reduction : Reduction::kNone,
                                         options.ignore_label, where);
  if (is_plain || !plain.ok()) return plain;
  return WeightedCrossEntropy(logits, targets, options, plain,
                              options.label_smoothing > 0 ? SmoothTerm(logits, options) : Tensor());
}

Tensor NllLoss(const Tensor& log_probabilities, const Tensor& labels, const CrossEntropyOptions& options,
               Where where) {
  std::vector<Tensor> operands = {log_probabilities, labels};
  if (options.class_weights) operands.push_back(*options.class_weights);
  CompositeCall call("NllLoss", where, operands);
  if (!call.ok()) return {};
  const Tensor& x = log_probabilities;
  if (!IsFloat(x.dtype()) || x.rank() == 0) return call.Fail("takes floats of rank 1 or more");
  if (labels.dtype() != DType::kI32 && labels.dtype() != DType::kI64) {
    return call.Fail("takes i32 or i64 labels; Cast(labels, I32) first");
  }
  if (const std::string wrong = WrongLabels("log_probabilities", x, labels); !wrong.empty()) {
    return call.Fail(wrong);
  }
  if (std::string wrong = WrongIn(x, options); !wrong.empty()) return call.Fail(wrong);
  const Tensor counts =
      options.ignore_label ? NotEqual(labels, *options.ignore_label) : Equal(labels, labels);
  const Tensor is_class = labels >= 0 && labels < x.dim(-1);
  const Tensor safe = Select(is_class, labels, 0);
  Tensor nll = -Squeeze(TakeAlong(Cast(x, ComputeType(x)), ExpandDims(safe, -1), -1), -1);
  nll = Select(counts, Select(is_class, nll, std::nan("")), 0.0);
  const Tensor mean = -Mean(
      Cast(x, ComputeType(x)) *
          (options.class_weights ? Operand(Cast(*options.class_weights, ComputeType(x))) : Operand(1.0)),
      {-1});
  return WeightedCrossEntropy(x, labels, options, nll, options.label_smoothing > 0 ? mean : Tensor());
}

Tensor MseLoss(const Tensor& x, const Operand& target, Reduction reduction, Where where) {
  return Loss<ir::MseLossOp>("MseLoss", x, target, reduction, where);
}
Tensor L1Loss(const Tensor& x, const Operand& target, Reduction reduction, Where where) {
  return Loss<ir::L1LossOp>("L1Loss", x, target, reduction, where);
}
Tensor HuberLoss(const Tensor& x, const Operand& target, double delta, Reduction reduction, Where where) {
  Call call("HuberLoss", where, {x});
  if (!call.ok()) return {};
  if (std::string wrong = OutOfBounds("a delta", delta, {.above = 0}); !wrong.empty())
    return call.Fail(wrong);
  if (IsFloat(x.dtype()) && !CheckLiteral(call, delta, x.dtype())) return {};
  return Loss<ir::HuberLossOp>("HuberLoss", x, target, reduction, where, llvm::APFloat(delta));
}
Tensor BceWithLogitsLoss(const Tensor& x, const Operand& target, Reduction reduction, Where where) {
  return Loss<ir::BceWithLogitsLossOp>("BceWithLogitsLoss", x, target, reduction, where);
}

namespace {

// True if a factor is 1 as a number.
bool IsOne(const Operand& factor) { return !factor.is_tensor() && factor.number().real() == 1; }

// Says what is wrong with a factor of the elements of x; empty if nothing is.
std::string WrongFactor(const char* what, const Tensor& x, const Operand& factor) {
  if (!factor.is_tensor()) return OutOfBounds(absl::StrCat("a ", what), factor.number().real(), {});
  const Tensor& tensor = factor.tensor();
  const std::optional<Shape> common = BroadcastShapes({x.shape(), tensor.shape()});
  if (tensor.dtype() == x.dtype() && common && *common == x.shape()) return "";
  return absl::StrCat("needs a ", what, " of type ", std::string(DTypeName(x.dtype())),
                      " that broadcasts to the shape of ", x.ToString(), ", got ", tensor.ToString());
}

}  // namespace

Tensor BceWithLogitsLoss(const Tensor& x, const Operand& target, const BceWithLogitsOptions& options,
                         Where where) {
  const auto& [positive, weight, reduction] = options;
  if (IsOne(positive) && IsOne(weight)) return BceWithLogitsLoss(x, target, reduction, where);
  std::vector<Tensor> operands = {x};
  for (const Operand* const operand : {&target, &positive, &weight}) {
    if (operand->is_tensor()) operands.push_back(operand->tensor());
  }
  CompositeCall call("BceWithLogitsLoss", where, operands);
  if (!call.ok()) return {};
  std::string wrong = WrongFactor("positive_weight", x, positive);
  if (wrong.empty()) wrong = WrongFactor("weight", x, weight);
  return Elementwise("BceWithLogitsLoss", x, target, reduction, where, wrong, [&](const Tensor& t) {
    const Tensor of_zero = (1.0 - t) * x, entropy = Softplus(-x);
    if (IsOne(positive)) return weight * (of_zero + entropy);
    const Operand more =
        positive.is_tensor() ? Operand(positive.tensor() - 1.0) : positive.number().real() - 1;
    const Tensor each = of_zero + (more * t + 1.0) * entropy;
    return IsOne(weight) ? each : weight * each;
  });
}

Tensor SmoothL1Loss(const Tensor& x, const Operand& target, double beta, Reduction reduction, Where where) {
  CompositeCall call("SmoothL1Loss", where, {x});
  if (!call.ok()) return {};
  if (std::string wrong = OutOfBounds("a beta", beta, {.above = 0}); !wrong.empty()) return call.Fail(wrong);
  const Tensor huber = HuberLoss(x, target, beta, reduction, where);
  return huber.ok() ? huber * (1 / beta) : Tensor();
}

Tensor BceLoss(const Tensor& probabilities, const Operand& target, Reduction reduction, Where where) {
  const Tensor& p = probabilities;
  return Elementwise("BceLoss", p, target, reduction, where, "", [&](const Tensor& t) {
    // Gradients stop where a logarithm is infinite, as they would be NaN there.
    const Tensor is_positive = p > 0.0, is_below_one = p < 1.0;
    const Tensor log_p = Log(Select(is_positive, p, 1.0)), log_rest = Log1p(-Select(is_below_one, p, 0.0));
    return -(t * Select(is_positive, Maximum(log_p, -100.0), -100.0) +
             (1.0 - t) * Select(is_below_one, Maximum(log_rest, -100.0), -100.0));
  });
}

Tensor FocalLoss(const Tensor& logits, const Operand& target, const FocalLossOptions& options, Where where) {
  const auto [alpha, gamma, reduction] = options;
  std::string wrong = OutOfBounds("an alpha", alpha, {.low = 0, .high = 1});
  if (wrong.empty()) wrong = OutOfBounds("a gamma", gamma, {.low = 0});
  return Elementwise("FocalLoss", logits, target, reduction, where, wrong, [&](const Tensor& t) {
    const Tensor entropy = BceWithLogitsLoss(logits, t, Reduction::kNone);
    // 1 - p of the right answer.
    const Tensor missed = Exp(LogSigmoid(logits * (1.0 - 2.0 * t)) * gamma);
    return (t * (2 * alpha - 1) + (1 - alpha)) * missed * entropy;
  });
}

Tensor KlDivLoss(const Tensor& log_q, const Tensor& p, Reduction reduction, Where where) {
  return Elementwise("KlDivLoss", log_q, p, reduction, where, "",
                     [&](const Tensor&) { return XLogY(p, p) - p * log_q; });
}

Tensor PoissonNllLoss(const Tensor& log_mean, const Operand& target, Reduction reduction, Where where) {
  return Elementwise("PoissonNllLoss", log_mean, target, reduction, where, "",
                     [&](const Tensor& t) { return Exp(log_mean) - t * log_mean; });
}

Tensor PoissonNllLoss(const Tensor& x, const Operand& target, const PoissonNllOptions& options, Where where) {
  return Elementwise("PoissonNllLoss", x, target, options.reduction, where,
                     OutOfBounds("an epsilon", options.epsilon, {.low = 0}), [&](const Tensor& t) {
                       const Tensor each = options.is_log ? Exp(x) - t * x : x - t * Log(x + options.epsilon);
                       if (!options.full) return each;
                       const Tensor is_above = t > 1.0, safe = Select(is_above, t, 1.0);
                       const Tensor stirling = safe * Log(safe) - safe + Log(safe * (2 * M_PI)) * 0.5;
                       return each + Select(is_above, stirling, 0.0);
                     });
}

Tensor GaussianNllLoss(const Tensor& mean, const Tensor& variance, const Operand& target, double epsilon,
                       Reduction reduction, Where where) {
  return GaussianNllLoss(mean, variance, target, {.epsilon = epsilon, .reduction = reduction}, where);
}

Tensor GaussianNllLoss(const Tensor& mean, const Tensor& variance, const Operand& target,
                       const GaussianNllOptions& options, Where where) {
  const auto [is_full, epsilon, reduction] = options;
  CompositeCall call("GaussianNllLoss", where, {mean, variance});
  if (!call.ok()) return {};
  if (mean.dtype() != variance.dtype() || mean.shape() != variance.shape()) {
    return call.Fail("takes a mean and a variance of one type");
  }
  return Elementwise("GaussianNllLoss", mean, target, reduction, where,
                     OutOfBounds("an epsilon", epsilon, {.above = 0}), [&](const Tensor& t) {
                       const Tensor v = Maximum(variance, epsilon);
                       const Tensor each = (Log(v) + Square(mean - t) / v) * 0.5;
                       return is_full ? each + 0.5 * std::log(2 * M_PI) : each;
                     });
}

Tensor HingeLoss(const Tensor& x, const Operand& target, double margin, Reduction reduction, Where where) {
  return Elementwise("HingeLoss", x, target, reduction, where, "",
                     [&](const Tensor& t) { return Relu(margin - t * x); });
}

Tensor SoftMarginLoss(const Tensor& x, const Operand& target, Reduction reduction, Where where) {
  return Elementwise("SoftMarginLoss", x, target, reduction, where, "",
                     [&](const Tensor& t) { return Softplus(-(t * x)); });
}

Tensor MarginRankingLoss(const Tensor& x, const Tensor& y, const Operand& target, double margin,
                         Reduction reduction, Where where) {
  return OfPair("MarginRankingLoss", x, y, target, reduction, where, std::nullopt,
                [&](const Tensor& t) { return Relu(margin - t * (x - y)); });
}

Tensor CosineEmbeddingLoss(const Tensor& x, const Tensor& y, const Operand& target, double margin,
                           Reduction reduction, Where where) {
  return OfPair("CosineEmbeddingLoss", x, y, target, reduction, where, WithoutLast(x), [&](const Tensor& t) {
    const Tensor cosine = CosineSimilarity(x, y);
    return Select(t > cosine * 0.0, 1.0 - cosine, Relu(cosine - margin));
  });
}

Tensor TripletMarginLoss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin,
                         double epsilon, Reduction reduction, Where where) {
  CompositeCall call("TripletMarginLoss", where, {anchor, positive, negative});
  if (!call.ok()) return {};
  if (!IsFloat(anchor.dtype()) || anchor.rank() == 0) return call.Fail("takes floats of rank 1 or more");
  for (const Tensor& other : {positive, negative}) {
    if (other.dtype() != anchor.dtype() || other.shape() != anchor.shape()) {
      return call.Fail("takes tensors of one type");
    }
  }
  const Tensor near = Norm(anchor - positive + epsilon, {-1}), far = Norm(anchor - negative + epsilon, {-1});
  return Reduced(Relu(near - far + margin), reduction);
}

Tensor InfoNceLoss(const Tensor& queries, const Tensor& keys, double temperature, Reduction reduction,
                   Where where) {
  CompositeCall call("InfoNceLoss", where, {queries, keys});
  if (!call.ok()) return {};
  if (!IsFloat(queries.dtype()) || queries.rank() != 2 || keys.dtype() != queries.dtype() ||
      keys.shape() != queries.shape()) {
    return call.Fail("takes floats [N, features] of one type");
  }
  if (std::string wrong = OutOfBounds("a temperature", temperature, {.above = 0}); !wrong.empty()) {
    return call.Fail(wrong);
  }
  const Tensor scores =
      MatMul(Normalize(queries), Normalize(keys), {.transpose_b = true}) * (1 / temperature);
  return SoftmaxCrossEntropy(scores, Builder(queries.function()).Iota(I32, {queries.dim(0)}),
                             {.reduction = reduction});
}

}  // namespace sinter
