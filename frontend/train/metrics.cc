#include "sinter/frontend/train/metrics.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/frontend/ops/scatter.h"
#include "sinter/frontend/train/metric_values.h"
#include "sinter/ir/dialect/op_requests.h"

namespace sinter {
namespace metrics {
namespace {

bool IsIndex(DType dtype) { return dtype == DType::kI32 || dtype == DType::kI64; }

// True if `shape` begins with the dimensions of `prefix`.
bool BeginsWith(const Shape& shape, const Shape& prefix) {
  return prefix.size() <= shape.size() && std::equal(prefix.begin(), prefix.end(), shape.begin());
}

// Describes what is wrong with weights of values of this shape, as the rest of a sentence; empty if nothing.
std::string WrongWeights(const Shape& shape, const std::optional<Tensor>& weights) {
  if (!weights) return "";
  if (!IsFloat(weights->dtype())) return "takes weights of floats; Cast(weights, F32) first";
  if (BeginsWith(shape, weights->shape())) return "";
  return absl::StrCat("takes weights of the shape of the values, ", TypeString(weights->dtype(), shape),
                      ", or of its first dimensions, not ", weights->ToString());
}

// Returns the weights as this type and shape.
Tensor Spread(const Tensor& weights, DType dtype, const Shape& shape) {
  Shape padded = weights.shape();
  padded.resize(shape.size(), 1);
  return BroadcastTo(Reshape(Cast(weights, dtype), padded), shape);
}

// Returns f64[2]: the sum of the weighted values, and of the weights. Values and weights have one shape.
Tensor SumAndCount(const Tensor& values, const std::optional<Tensor>& weights) {
  Tensor sum, count;
  const Tensor wide = Cast(StopGradient(values), DType::kF64);
  if (weights) {
    const Tensor spread = Spread(StopGradient(*weights), DType::kF64, values.shape());
    // A value that does not count may be infinite.
    sum = Sum(Select(Equal(spread, 0.0), 0.0, wide * spread));
    count = Sum(spread);
  } else {
    sum = Sum(wide);
    count = Builder(values.function()).Full(DType::kF64, {}, static_cast<double>(values.size()));
  }
  return Stack({sum, count});
}

std::vector<Tensor> OperandsOf(std::vector<Tensor> operands, const std::optional<Tensor>& weights) {
  if (weights) operands.push_back(*weights);
  return operands;
}

Tensor MeanTable(std::string_view name, const Tensor& values, const std::optional<Tensor>& weights,
                 Where where) {
  CompositeCall call(name, where, OperandsOf({values}, weights));
  if (!call.ok()) return {};
  const std::string wrong = WrongWeights(values.shape(), weights);
  if (!wrong.empty()) return call.Fail(wrong);
  if (values.size() == 0) return call.Fail("takes at least one value");
  return SumAndCount(values, weights);
}

Tensor MeanOfRun(const Tensor& values, const std::optional<Tensor>& weights, Where where) {
  if (!values.ok() || !IsFloat(values.dtype())) return {};
  CompositeCall call("metrics::Mean", where, OperandsOf({values}, weights));
  if (!call.ok()) return {};
  if (!weights) return sinter::Mean(values);
  const Tensor spread = Spread(*weights, values.dtype(), values.shape());
  return Sum(values * spread) / Sum(spread);
}

std::string WrongLabels(const Tensor& logits, const Tensor& labels, const Options& options) {
  if (!IsFloat(logits.dtype())) return "takes logits of floats";
  if (!IsIndex(labels.dtype())) return "takes labels of i32 or i64; Cast(labels, I32) first";
  Shape wanted = logits.shape();
  if (wanted.empty()) return "takes logits [..., classes]";
  wanted.pop_back();
  if (labels.shape() != wanted)
    return absl::StrCat("takes labels ", TypeString(labels.dtype(), wanted), ", one for each row of logits");
  return WrongWeights(wanted, options.weights);
}

// Returns the weights of the labels in f32 with those of ignored labels 0; nullopt if all count.
std::optional<Tensor> WeightsOf(const Tensor& labels, const Options& options) {
  std::optional<Tensor> weights;
  if (options.weights) weights = Spread(*options.weights, DType::kF32, labels.shape());
  if (!options.ignore_label) return weights;
  const Tensor counts = Cast(NotEqual(labels, *options.ignore_label), DType::kF32);
  return weights ? Select(Equal(counts, 0.0), 0.0, *weights) : counts;
}

Tensor AccuracyTable(const Tensor& logits, const Tensor& labels, const Options& options, Where where) {
  CompositeCall call("metrics::Accuracy", where, OperandsOf({logits, labels}, options.weights));
  if (!call.ok()) return {};
  const std::string wrong = WrongLabels(logits, labels, options);
  if (!wrong.empty()) return call.Fail(wrong);
  return SumAndCount(Equal(ArgMax(logits, -1, labels.dtype()), labels), WeightsOf(labels, options));
}

Tensor TopKAccuracyTable(const Tensor& logits, const Tensor& labels, int64_t k, const Options& options,
                         Where where) {
  CompositeCall call("metrics::TopKAccuracy", where, OperandsOf({logits, labels}, options.weights));
  if (!call.ok()) return {};
  std::string wrong = WrongLabels(logits, labels, options);
  if (wrong.empty() && k < 1) wrong = absl::StrCat("needs a k of at least 1, got ", k);
  if (!wrong.empty()) return call.Fail(wrong);
  const int64_t classes = logits.dim(-1);
  const Tensor column = ExpandDims(labels, labels.rank());
  const Tensor own = TakeAlong(logits, Clamp(column, 0, classes - 1), -1);
  // Classes before the label's: those of larger logits, and of equal ones those of lower numbers.
  Shape numbers(logits.rank(), 1);
  numbers.back() = classes;
  Builder b(logits.function());
  const Tensor number = BroadcastTo(b.Iota(labels.dtype(), numbers, labels.rank()), logits.shape());
  const Tensor before = logits > own || (Equal(logits, own) && number < column);
  const Tensor rank = Sum(Cast(before, DType::kI32), {-1});
  const Tensor is_class = labels >= 0 && labels < classes && !IsNan(Squeeze(own, -1));
  return SumAndCount(rank < k && is_class, WeightsOf(labels, options));
}

// Returns f64[rows, columns]: the weights of the pairs of numbers that occur.
Tensor PairTable(const Tensor& row, int64_t rows, const Tensor& column, int64_t columns,
                 const std::optional<Tensor>& weights) {
  const Shape flat = {row.size()};
  Tensor left = OneHot(Reshape(row, flat), rows, DType::kF32);
  const Tensor right = OneHot(Reshape(column, flat), columns, DType::kF32);
  if (weights) left = left * Reshape(StopGradient(Cast(*weights, DType::kF32)), {row.size(), 1});
  return Cast(MatMul(left, right, {.transpose_a = true}), DType::kF64);
}

Tensor ConfusionTable(std::string_view name, const Tensor& logits, const Tensor& labels, Average average,
                      const Options& options, Where where) {
  CompositeCall call(name, where, OperandsOf({logits, labels}, options.weights));
  if (!call.ok()) return {};
  const std::string wrong = WrongLabels(logits, labels, options);
  if (!wrong.empty()) return call.Fail(wrong);
  const int64_t classes = logits.dim(-1);
  if (average == Average::kBinary && classes != 2)
    return call.Fail(absl::StrCat("with Average::kBinary needs two classes, got ", classes));
  const Tensor predicted = ArgMax(logits, -1, labels.dtype());
  // Labels outside of the classes get none.
  return PairTable(labels, classes, predicted, classes, WeightsOf(labels, options));
}

Tensor AucTable(const Tensor& scores, const Tensor& targets, const AucOptions& options, Where where) {
  CompositeCall call("metrics::Auc", where, OperandsOf({scores, targets}, options.weights));
  if (!call.ok()) return {};
  if (!IsFloat(scores.dtype()) || !IsFloat(targets.dtype())) return call.Fail("takes floats");
  if (scores.shape() != targets.shape()) return call.Fail("takes targets of the scores' shape");
  if (!(options.low < options.high))
    return call.Fail(absl::StrCat("needs low < high, got ", options.low, " and ", options.high));
  if (options.bins < 2) return call.Fail(absl::StrCat("needs at least 2 bins, got ", options.bins));
  const std::string wrong = WrongWeights(scores.shape(), options.weights);
  if (!wrong.empty()) return call.Fail(wrong);
  const auto bins = static_cast<double>(options.bins);
  const Tensor place = (Cast(scores, DType::kF64) - options.low) * (bins / (options.high - options.low));
  const Tensor bin = Cast(Clamp(Floor(place), 0, options.bins - 1), DType::kI32);
  std::optional<Tensor> weights;
  if (options.weights) weights = Spread(*options.weights, DType::kF32, scores.shape());
  return PairTable(Cast(targets > 0.5, DType::kI32), 2, bin, options.bins, weights);
}

// Returns f64[3, n]: each score, its weight if it is negative, and its weight if it is positive.
Tensor ExactAucTable(const Tensor& scores, const Tensor& targets, const ExactAucOptions& options,
                     Where where) {
  CompositeCall call("metrics::ExactAuc", where, OperandsOf({scores, targets}, options.weights));
  if (!call.ok()) return {};
  if (!IsFloat(scores.dtype()) || !IsFloat(targets.dtype())) return call.Fail("takes floats");
  if (scores.shape() != targets.shape()) return call.Fail("takes targets of the scores' shape");
  const std::string wrong = WrongWeights(scores.shape(), options.weights);
  if (!wrong.empty()) return call.Fail(wrong);
  if (scores.size() == 0) return call.Fail("takes at least one score");
  if (options.examples < scores.size()) {
    return call.Fail(absl::StrCat("has room for ", options.examples, " examples, and one run has ",
                                  scores.size(),
                                  "; set .examples to those of all runs between two readings"));
  }
  const Shape flat = {scores.size()};
  Tensor weight = Builder(scores.function()).Full(DType::kF64, flat, 1);
  if (options.weights) {
    weight = Reshape(Spread(StopGradient(*options.weights), DType::kF64, scores.shape()), flat);
  }
  const Tensor is_positive = Reshape(targets > 0.5, flat);
  return Stack({Reshape(Cast(StopGradient(scores), DType::kF64), flat), Select(is_positive, 0, weight),
                Select(is_positive, weight, 0)});
}

Tensor BinaryTable(const Tensor& scores, const Tensor& targets, double threshold,
                   const std::optional<Tensor>& weights, Where where) {
  CompositeCall call("metrics::BinaryAccuracy", where, OperandsOf({scores, targets}, weights));
  if (!call.ok()) return {};
  if (!IsFloat(scores.dtype()) || !IsFloat(targets.dtype())) return call.Fail("takes floats");
  if (scores.shape() != targets.shape()) return call.Fail("takes targets of the scores' shape");
  const std::string wrong = WrongWeights(scores.shape(), weights);
  if (!wrong.empty()) return call.Fail(wrong);
  return SumAndCount(Equal(scores > threshold, targets > 0.5), weights);
}

std::string WithAverage(const std::string& kind, Average average) {
  static constexpr const char* kNames[] = {"macro", "weighted", "binary"};
  return absl::StrCat(kind, "_", kNames[static_cast<int>(average)]);
}

}  // namespace

Mean::Mean(const Tensor& values, const std::optional<Tensor>& weights, Where where)
    : Measure("mean", MeanTable("metrics::Mean", values, weights, where)) {
  if (table().ok()) value_ = MeanOfRun(values, weights, where);
}

Perplexity::Perplexity(const Tensor& losses, const std::optional<Tensor>& weights, Where where)
    : Measure("perplexity", MeanTable("metrics::Perplexity", losses, weights, where)) {}

Accuracy::Accuracy(const Tensor& logits, const Tensor& labels, const Options& options, Where where)
    : Measure("mean", AccuracyTable(logits, labels, options, where)) {}

BinaryAccuracy::BinaryAccuracy(const Tensor& scores, const Tensor& targets, double threshold,
                               const std::optional<Tensor>& weights, Where where)
    : Measure("mean", BinaryTable(scores, targets, threshold, weights, where)) {}

TopKAccuracy::TopKAccuracy(const Tensor& logits, const Tensor& labels, int64_t k, const Options& options,
                           Where where)
    : Measure("mean", TopKAccuracyTable(logits, labels, k, options, where)) {}

Confusion::Confusion(const Tensor& logits, const Tensor& labels, const Options& options, Where where)
    : Measure("confusion",
              ConfusionTable("metrics::Confusion", logits, labels, Average::kMacro, options, where)) {}

Precision::Precision(const Tensor& logits, const Tensor& labels, Average average, const Options& options,
                     Where where)
    : Measure(WithAverage("precision", average),
              ConfusionTable("metrics::Precision", logits, labels, average, options, where)) {}

Recall::Recall(const Tensor& logits, const Tensor& labels, Average average, const Options& options,
               Where where)
    : Measure(WithAverage("recall", average),
              ConfusionTable("metrics::Recall", logits, labels, average, options, where)) {}

F1::F1(const Tensor& logits, const Tensor& labels, Average average, const Options& options, Where where)
    : Measure(WithAverage("f1", average),
              ConfusionTable("metrics::F1", logits, labels, average, options, where)) {}

Auc::Auc(const Tensor& scores, const Tensor& targets, const AucOptions& options, Where where)
    : Measure("auc", AucTable(scores, targets, options, where)) {}

ExactAuc::ExactAuc(const Tensor& scores, const Tensor& targets, const ExactAucOptions& options, Where where)
    : Measure("exact_auc", ExactAucTable(scores, targets, options, where), options.examples) {}

}  // namespace metrics

namespace {

// Returns the tables of earlier runs, f64[rows, room + 1], with one more behind them. The last column begins
// with the number of columns that were added, also of those that had no room.
Tensor Appended(const Tensor& kept, const Tensor& table, int64_t room, Where where) {
  const Tensor count = Slice(kept, {0, room}, {1, room + 1}, {}, where);
  const Tensor start = Cast(Minimum(Reshape(count, {}, where), Operand(room, where)), DType::kI64, where);
  const Tensor more = DynamicUpdateSlice(kept, table, {0, Operand(start, where)}, where);
  if (more.ok()) ir::RequestGathers(mlir::Value::getFromOpaquePointer(more.value()));
  const Tensor next = Operand(count, where) + Operand(static_cast<double>(table.dim(1)), where);
  return DynamicUpdateSlice(more, next, {0, Operand(room, where)}, where);
}

}  // namespace

void Metric(Builder& b, std::string_view name, const metrics::Measure& measure, Where where) {
  const std::string text(name);
  Call call(absl::StrCat("Metric \"", text, "\""), where, b.function(), {measure.table()});
  if (!call.ok()) return;
  GraphState& graph = call.graph();
  const std::string prefix =
      absl::StrCat(std::string(kMetricPrefix), call.function().group(), "/", text, "/");
  const auto same = std::ranges::find_if(
      graph.variables, [&](const Variable& variable) { return variable.name().starts_with(prefix); });
  if (text.empty()) {
    call.Fail("has no name");
    return;
  }
  if (text.find_first_of("/\n\r\t ") != std::string::npos) {
    call.Fail("has a '/', a space or a line break in its name");
    return;
  }
  // All buckets of a group add to one variable.
  const bool is_of_group = same != graph.variables.end() && !call.function().bucket().empty() &&
                           same->name() == prefix + measure.kind() &&
                           call.function().ValuesOf(same->name()).empty();
  if (same != graph.variables.end() && !is_of_group) {
    call.Fail(
        absl::StrCat("is in function \"", call.function().name(), "\" already; give this one another name"));
    return;
  }
  // The sums are on the table's device, regardless of open scopes.
  UnplacedScope unplaced(&call.function());
  Shape shape = measure.table().shape();
  if (measure.room() > 0) shape[1] = measure.room() + 1;
  ir::VariableOp variable =
      graph.FindOrMake(prefix + measure.kind(), DType::kF64, shape, {.init = {}, .trainable = false}, where);
  if (!variable) return;  // FindOrMake keeps the error.
  if (measure.room() > 0) {
    const Tensor kept(&call.function(), call.function().Read(variable).getAsOpaquePointer());
    const Tensor next = Appended(kept, measure.table(), measure.room(), where);
    if (next.ok()) call.function().Assign(variable, mlir::Value::getFromOpaquePointer(next.value()));
    return;
  }
  const ir::Expr sum = call.b().wrap(call.function().Read(variable)) + call.expr(0);
  call.function().Assign(variable, sum.value);
}

void Metric(Builder& b, std::string_view name, const Tensor& values, Where where) {
  Metric(b, name, metrics::Mean(values, std::nullopt, where), where);
}

}  // namespace sinter
