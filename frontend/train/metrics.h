// Metrics: sums and counts that a function keeps on its device, run after run, until the program reads them.
//
//   graph.Function("test", sn::Mode::kEval, [&](sn::Builder& b) {
//     auto y = net(b.Input("x", sn::F32, {100, 784}));
//     auto t = b.Input("t", sn::I32, {100});
//     auto w = b.Input("weights", sn::F32, {100});                     // 0 for rows of padding.
//     sn::Metric(b, "loss", sn::metrics::Mean(sn::SoftmaxCrossEntropy(y, t, {sn::Reduction::kNone}), w));
//     sn::Metric(b, "accuracy", sn::metrics::Accuracy(y, t, {.weights = w}));
//   });
//   ...
//   SINTER_ASSIGN_OR_RETURN(sn::MetricValues seen, sn::ReadMetrics(session, "test"));
//   seen.numbers["accuracy"];                  // frontend/train/metric_values.h
//
// A metric "loss" of the function "test" is a variable "metric/test/loss/mean" of f64, not trainable. Its
// last part says how to compute the value, so plan files need no more. Sums are over all examples of all runs
// since the last reading, so padded and uneven batches are exact, also if devices share the batch: counts to
// the bit, sums up to their order. A run transfers nothing to main memory. Checkpoints include metrics, so an
// interrupted training continues with its sums.
//
// Logits are [..., classes] of floats, labels are i32 or i64 [...]. Weights have the shape of the labels (or
// of the values), or its first dimensions. An example of weight 0 does not count, even if its value is
// infinite.
#ifndef SINTER_FRONTEND_TRAIN_METRICS_H_
#define SINTER_FRONTEND_TRAIN_METRICS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sinter/frontend/graph/graph.h"
#include "sinter/frontend/graph/tensor.h"

namespace sinter {

namespace metrics {

// The sums that one run adds to a metric, f64[2] or f64[rows, columns], and how to read them.
class Measure {
 public:
  const std::string& kind() const { return kind_; }  // "mean": the last part of the variable's name.
  const Tensor& table() const { return table_; }     // Not ok() after a wrong call.
  // Columns that the metric keeps for the tables of all runs side by side; 0 if it keeps their sum.
  int64_t room() const { return room_; }

 protected:
  Measure(std::string kind, Tensor table, int64_t room = 0)
      : kind_(std::move(kind)), table_(std::move(table)), room_(room) {}

 private:
  std::string kind_;
  Tensor table_;
  int64_t room_;
};

struct Options {
  std::optional<Tensor> weights = {};        // Floats; by default all are 1.
  std::optional<int64_t> ignore_label = {};  // Examples of this label do not count.
};

// The weighted mean of numbers or truth values of any shape: sum(weight * value) / sum(weight). NaN if
// nothing counted.
class Mean : public Measure {
 public:
  explicit Mean(const Tensor& values, const std::optional<Tensor>& weights = std::nullopt,
                Where where = Where::current());
  // The mean of this run alone, in the type of the values, for Minimize. Values must be floats.
  const Tensor& value() const { return value_; }

 private:
  Tensor value_;
};

// exp of the weighted mean of losses, such as those of SoftmaxCrossEntropy with Reduction::kNone.
class Perplexity : public Measure {
 public:
  explicit Perplexity(const Tensor& losses, const std::optional<Tensor>& weights = std::nullopt,
                      Where where = Where::current());
};

// The part of the examples whose largest logit is the label's. Of equal logits the first is the largest.
class Accuracy : public Measure {
 public:
  Accuracy(const Tensor& logits, const Tensor& labels, const Options& options = {},
           Where where = Where::current());
};

// The part of the examples with (score > threshold) == (target > 0.5). Both are floats of one shape.
class BinaryAccuracy : public Measure {
 public:
  BinaryAccuracy(const Tensor& scores, const Tensor& targets, double threshold = 0,
                 const std::optional<Tensor>& weights = std::nullopt, Where where = Where::current());
};

// The part of the examples whose label is among the k largest logits; k is at least 1.
class TopKAccuracy : public Measure {
 public:
  TopKAccuracy(const Tensor& logits, const Tensor& labels, int64_t k, const Options& options = {},
               Where where = Where::current());
};

// The weights of the examples by label (rows) and prediction (columns): MetricValues::tables has it as
// f64[classes, classes]. Labels outside of the classes do not count. A weight below 2^-24 of a run's sum may
// be lost.
class Confusion : public Measure {
 public:
  Confusion(const Tensor& logits, const Tensor& labels, const Options& options = {},
            Where where = Where::current());
};

// Means over classes: kMacro of all that have labels or predictions, kWeighted by the labels of each. kBinary
// is of class 1 alone and needs two classes. A quotient 0 / 0 is 0, as in scikit-learn.
enum class Average { kMacro, kWeighted, kBinary };

// True positives among the predictions of a class, and among its labels; F1 is the harmonic mean of both.
class Precision : public Measure {
 public:
  Precision(const Tensor& logits, const Tensor& labels, Average average = Average::kMacro,
            const Options& options = {}, Where where = Where::current());
};
class Recall : public Measure {
 public:
  Recall(const Tensor& logits, const Tensor& labels, Average average = Average::kMacro,
         const Options& options = {}, Where where = Where::current());
};
class F1 : public Measure {
 public:
  F1(const Tensor& logits, const Tensor& labels, Average average = Average::kMacro,
     const Options& options = {}, Where where = Where::current());
};

// The area under the ROC curve: the probability that a positive example has a higher score than a negative
// one, ties counted half. Scores are sorted into `bins` equal ranges from `low` to `high`, the outer ones
// without end, and scores of one bin count as equal: the error is at most half the probability that a pair
// falls into one bin. Scores are floats; targets above 0.5 are positive.
struct AucOptions {
  double low = 0, high = 1;  // Fit for probabilities.
  int64_t bins = 1024;
  std::optional<Tensor> weights = {};
};
class Auc : public Measure {
 public:
  Auc(const Tensor& scores, const Tensor& targets, const AucOptions& options = {},
      Where where = Where::current());
};

// The same area without bins, as scikit-learn's roc_auc_score: it keeps every score, and sorts them when the
// program reads the metric. All runs between two readings together have at most `examples` scores, those of
// padding and of weight 0 included; reading more is an error that says how many there were. The metric needs
// 24 bytes for each. A score that is NaN makes the area NaN, unless its weight is 0.
struct ExactAucOptions {
  int64_t examples = 65'536;
  std::optional<Tensor> weights = {};
};
class ExactAuc : public Measure {
 public:
  ExactAuc(const Tensor& scores, const Tensor& targets, const ExactAucOptions& options = {},
           Where where = Where::current());
};

}  // namespace metrics

// Adds to the metric `name` of the function at each run. It is an error if the function has a metric of this
// name, or if the name is empty, has a '/' or a line break, or is not UTF-8.
void Metric(Builder& b, std::string_view name, const metrics::Measure& measure,
            Where where = Where::current());
// The mean of the tensor's elements over all runs.
void Metric(Builder& b, std::string_view name, const Tensor& values, Where where = Where::current());

}  // namespace sinter

#endif  // SINTER_FRONTEND_TRAIN_METRICS_H_
