// Metrics against computations in double, alone and with the batch shared by devices, and from a plan file.
#include "sinter/frontend/train/metrics.h"

#include <cmath>
#include <functional>
#include <numeric>

#include "sinter/frontend/train/metric_values.h"
#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"
#include "sinter/tests/status_checks.h"
#include "sinter/tests/temporary_folder.h"

namespace sinter {
namespace {

constexpr int64_t kRows = 10, kClasses = 4;

// Three batches of 10 rows, of which the last has 3 rows of padding.
struct Data {
  std::vector<std::vector<float>> logits, weights;
  std::vector<std::vector<int32_t>> labels;

  Data() {
    std::mt19937 draw(7);
    for (int batch = 0; batch < 3; ++batch) {
      logits.emplace_back();
      for (int64_t i = 0; i < kRows * kClasses; ++i)
        // Quarters, so that there are ties, and sums in f32 are exact.
        logits.back().push_back(static_cast<float>(static_cast<int>(draw() % 17) - 8) / 4);
      labels.emplace_back();
      weights.emplace_back(kRows, 1.0f);
      for (int64_t i = 0; i < kRows; ++i) labels.back().push_back(static_cast<int32_t>(draw() % kClasses));
    }
    for (int64_t i = 7; i < kRows; ++i) weights[2][i] = 0;
  }

  // Calls visit(row of logits, label) for each example that counts.
  void ForEach(const std::function<void(const float* row, int32_t label)>& visit) const {
    for (size_t batch = 0; batch < logits.size(); ++batch) {
      for (int64_t i = 0; i < kRows; ++i) {
        if (weights[batch][i] > 0) visit(&logits[batch][i * kClasses], labels[batch][i]);
      }
    }
  }
};

int64_t Predicted(const float* row) { return std::max_element(row, row + kClasses) - row; }

using Body =
    std::function<void(Builder& b, const Tensor& logits, const Tensor& labels, const Tensor& weights)>;

Graph GraphOf(const Body& body) {
  Graph graph("metrics");
  graph.Function("test", Mode::kEval, [&](Builder& b) {
    body(b, b.Input("x", F32, {kRows, kClasses}), b.Input("t", I32, {kRows}), b.Input("w", F32, {kRows}));
  });
  return graph;
}

// Runs the function with all batches.
void RunAll(Session& session, const Data& data) {
  for (size_t i = 0; i < data.logits.size(); ++i) {
    const HostTensor x = *HostTensor::FromVector<float>({kRows, kClasses}, data.logits[i]);
    const HostTensor t = *HostTensor::FromVector<int32_t>({kRows}, data.labels[i]);
    const HostTensor w = *HostTensor::FromVector<float>({kRows}, data.weights[i]);
    ASSERT_OK(session.Run("test", {{"x", x}, {"t", t}, {"w", w}}));
  }
}

CompileOptions OnDevices(int count) {
  CompileOptions options{.device = TestDevice()};
  for (int i = 0; i < count && count > 1; ++i) options.data_parallel.devices.push_back(Device::Cpu(i));
  options.data_parallel.even = false;
  return options;
}

// One and three devices; 10 rows do not divide by 3.
class MetricsOnDevices : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (TestDevice().is_gpu() && (GetParam() > 1 || NumGpus() == 0))
      GTEST_SKIP() << "this machine has 0 GPUs";
    setenv("SINTER_CPU_DEVICES", "3", 1);
  }
  void TearDown() override { unsetenv("SINTER_CPU_DEVICES"); }
  train::Values Measure(const Body& body) {
    Session session = MustStart(GraphOf(body), OnDevices(GetParam()));
    RunAll(session, data_);
    absl::StatusOr<MetricValues> seen = ReadMetrics(session, "test");
    SINTER_CHECK(seen.ok()) << seen.status();
    return seen->numbers;
  }
  Data data_;
};
INSTANTIATE_TEST_SUITE_P(, MetricsOnDevices, testing::Values(1, 3));

TEST_P(MetricsOnDevices, CountsAreExact) {
  const train::Values seen = Measure([](Builder& b, const Tensor& x, const Tensor& t, const Tensor& w) {
    Metric(b, "accuracy", metrics::Accuracy(x, t, {.weights = w}));
    Metric(b, "top2", metrics::TopKAccuracy(x, t, 2, {.weights = w}));
    Metric(b, "ignoring", metrics::Accuracy(x, t, {.weights = w, .ignore_label = 2}));
    Metric(b, "first", metrics::Mean(SliceDim(x, 1, 0, 1), w));
    Metric(b, "plain", x);
    Metric(b, "top1", metrics::TopKAccuracy(x, t, 1, {.weights = w}));
  });
  double count = 0, hits = 0, top2 = 0, kept = 0, kept_hits = 0, first = 0, sum = 0;
  data_.ForEach([&](const float* row, int32_t label) {
    ++count;
    hits += Predicted(row) == label;
    int before = 0;
    for (int c = 0; c < kClasses; ++c) before += row[c] > row[label] || (row[c] == row[label] && c < label);
    top2 += before < 2;
    kept += label != 2;
    kept_hits += label != 2 && Predicted(row) == label;
    first += row[0];
  });
  for (const std::vector<float>& batch : data_.logits) sum = std::accumulate(batch.begin(), batch.end(), sum);
  EXPECT_EQ(count, 27);
  EXPECT_EQ(seen.at("accuracy"), hits / count);
  EXPECT_EQ(seen.at("top1"), hits / count);
  EXPECT_EQ(seen.at("top2"), top2 / count);
  EXPECT_EQ(seen.at("ignoring"), kept_hits / kept);
  EXPECT_EQ(seen.at("first"), first / count);
  EXPECT_EQ(seen.at("plain"), sum / (3 * kRows * kClasses));
}

TEST_P(MetricsOnDevices, PerplexityIsOfTheMeanLoss) {
  const train::Values seen = Measure([](Builder& b, const Tensor& x, const Tensor& t, const Tensor& w) {
    const Tensor losses = SoftmaxCrossEntropy(x, t, {.reduction = Reduction::kNone});
    Metric(b, "loss", metrics::Mean(losses, w));
    Metric(b, "perplexity", metrics::Perplexity(losses, w));
  });
  double loss = 0, count = 0;
  data_.ForEach([&](const float* row, int32_t label) {
    double sum = 0;
    for (int c = 0; c < kClasses; ++c) sum += std::exp(static_cast<double>(row[c]));
    loss += std::log(sum) - row[label];
    ++count;
  });
  EXPECT_NEAR(seen.at("loss"), loss / count, 1e-6);
  EXPECT_NEAR(seen.at("perplexity"), std::exp(loss / count), 1e-5);
}

TEST_P(MetricsOnDevices, ClassScoresAreThoseOfTheConfusionMatrix) {
  Session session =
      MustStart(GraphOf([](Builder& b, const Tensor& x, const Tensor& t, const Tensor& w) {
                  const metrics::Options options{.weights = w};
                  Metric(b, "confusion", metrics::Confusion(x, t, options));
                  Metric(b, "precision", metrics::Precision(x, t, metrics::Average::kMacro, options));
                  Metric(b, "recall", metrics::Recall(x, t, metrics::Average::kMacro, options));
                  Metric(b, "f1", metrics::F1(x, t, metrics::Average::kMacro, options));
                  Metric(b, "f1_w", metrics::F1(x, t, metrics::Average::kWeighted, options));
                }),
                OnDevices(GetParam()));
  RunAll(session, data_);
  ASSERT_OK_AND_ASSIGN(const MetricValues seen, ReadMetrics(session, "test"));
  std::vector<double> counts(kClasses * kClasses, 0.0);
  data_.ForEach([&](const float* row, int32_t label) { ++counts[label * kClasses + Predicted(row)]; });
  ASSERT_OK_AND_ASSIGN(const auto table, seen.tables.at("confusion").Span<double>());
  EXPECT_EQ(std::vector<double>(table.begin(), table.end()), counts);
  double precision = 0, recall = 0, f1 = 0, weighted = 0, all = 0;
  for (int64_t c = 0; c < kClasses; ++c) {
    double labels = 0, predictions = 0;
    for (int64_t other = 0; other < kClasses; ++other) {
      labels += counts[c * kClasses + other];
      predictions += counts[other * kClasses + c];
    }
    const double hits = counts[c * kClasses + c];
    ASSERT_GT(labels * predictions, 0);
    precision += hits / predictions / kClasses;
    recall += hits / labels / kClasses;
    f1 += 2 * hits / (labels + predictions) / kClasses;
    weighted += labels * 2 * hits / (labels + predictions);
    all += labels;
  }
  EXPECT_NEAR(seen.numbers.at("precision"), precision, 1e-14);
  EXPECT_NEAR(seen.numbers.at("recall"), recall, 1e-14);
  EXPECT_NEAR(seen.numbers.at("f1"), f1, 1e-14);
  EXPECT_NEAR(seen.numbers.at("f1_w"), weighted / all, 1e-14);
  EXPECT_FALSE(seen.numbers.contains("confusion"));
}

TEST_P(MetricsOnDevices, ALoopAddsInEachTrip) {
  const train::Values seen = Measure([](Builder& b, const Tensor& x, const Tensor& t, const Tensor& w) {
    const auto [none, sums] = Scan(None{}, x, [&](None n, const Tensor& row) {
      Metric(b, "row", row);
      return std::pair(n, Sum(row));
    });
    Metric(b, "sum", sums);
  });
  double sum = 0;
  for (const std::vector<float>& batch : data_.logits) sum = std::accumulate(batch.begin(), batch.end(), sum);
  EXPECT_EQ(seen.at("row"), sum / (3 * kRows * kClasses));
  EXPECT_EQ(seen.at("sum"), sum / (3 * kRows));
}

TEST_P(MetricsOnDevices, AucCountsPairs) {
  // The scores are quarters and bins are eighths, so no two scores that differ share a bin.
  const train::Values seen = Measure([](Builder& b, const Tensor& x, const Tensor& t, const Tensor& w) {
    const Tensor score = Squeeze(SliceDim(x, 1, 0, 1), 1), target = Cast(t < 2, F32);
    Metric(b, "auc", metrics::Auc(score, target, {.low = -4, .high = 4, .bins = 64, .weights = w}));
    Metric(b, "binary", metrics::BinaryAccuracy(score, target, 0.5, w));
  });
  std::vector<float> positive, negative;
  double hits = 0;
  data_.ForEach([&](const float* row, int32_t label) {
    (label < 2 ? positive : negative).push_back(row[0]);
    hits += (row[0] > 0.5f) == (label < 2);
  });
  double won = 0;
  for (float p : positive) {
    for (float n : negative) won += p > n ? 1 : p == n ? 0.5 : 0;
  }
  const auto pairs = static_cast<double>(positive.size() * negative.size());
  EXPECT_NEAR(seen.at("auc"), won / pairs, 1e-14);
  EXPECT_EQ(seen.at("binary"), hits / static_cast<double>(positive.size() + negative.size()));
}

// Scores that no bins tell apart, with ties, weights and padding, over three runs.
TEST_P(MetricsOnDevices, ExactAucComparesAllPairs) {
  const auto score_of = [](const float* row) { return row[0] / 1024 + row[1] / 64; };
  const train::Values seen = Measure([](Builder& b, const Tensor& x, const Tensor& t, const Tensor& w) {
    const Tensor score = Squeeze(SliceDim(x, 1, 0, 1), 1) / 1024 + Squeeze(SliceDim(x, 1, 1, 2), 1) / 64;
    const Tensor target = Cast(t < 2, F32);
    Metric(b, "auc", metrics::ExactAuc(score, target, {.examples = 3 * kRows, .weights = w}));
    Metric(b, "weighted",
           metrics::ExactAuc(score, target, {.weights = w * (Squeeze(SliceDim(x, 1, 2, 3), 1) + 3)}));
  });
  struct Scored {
    double score, weight;
  };
  std::vector<Scored> positive, negative;
  data_.ForEach([&](const float* row, int32_t label) {
    (label < 2 ? positive : negative).push_back({score_of(row), row[2] + 3.0});
  });
  double won = 0, weighted = 0, pairs = 0, weights = 0;
  for (const Scored& p : positive) {
    for (const Scored& n : negative) {
      const double part = p.score > n.score ? 1 : p.score == n.score ? 0.5 : 0;
      won += part;
      weighted += part * p.weight * n.weight;
      pairs += 1;
      weights += p.weight * n.weight;
    }
  }
  EXPECT_EQ(seen.at("auc"), won / pairs);
  EXPECT_EQ(seen.at("weighted"), weighted / weights);
}

TEST(MetricsTest, ExactAucSaysHowManyExamplesItHadNoRoomFor) {
  Session session = MustStart(GraphOf([](Builder& b, const Tensor& x, const Tensor& t, const Tensor& w) {
    const Tensor score = Squeeze(SliceDim(x, 1, 0, 1), 1);
    Metric(b, "auc", metrics::ExactAuc(score, Cast(t < 2, F32), {.examples = 2 * kRows, .weights = w}));
    Metric(b, "mean", metrics::Mean(score, w));
  }));
  Data data;
  RunAll(session, data);
  const absl::Status lost = ReadMetrics(session, "test").status();
  EXPECT_EQ(lost.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(lost.message()),
              ::testing::HasSubstr("metric \"auc\" of function \"test\": metrics::ExactAuc has room for 20 "
                                   "examples, and the runs since the last reading had 30, padding included"));
  // The reading has emptied it.
  data.logits.pop_back();
  data.labels.pop_back();
  data.weights.pop_back();
  RunAll(session, data);
  ASSERT_OK_AND_ASSIGN(const MetricValues seen, ReadMetrics(session, "test"));
  EXPECT_GT(seen.numbers.at("auc"), 0);
  EXPECT_LT(seen.numbers.at("auc"), 1);
}

TEST(MetricsTest, ExactAucOfNumbersThatAreNone) {
  const Graph graph = GraphOf([](Builder& b, const Tensor& x, const Tensor& t, const Tensor& w) {
    Metric(b, "auc", metrics::ExactAuc(Squeeze(SliceDim(x, 1, 0, 1), 1), Cast(t < 2, F32), {.weights = w}));
  });
  for (const bool counts : {true, false}) {
    Session session = MustStart(graph);
    Data data;
    data.logits[0][0] = NAN;
    data.weights[0][0] = counts ? 1 : 0;
    RunAll(session, data);
    ASSERT_OK_AND_ASSIGN(const MetricValues seen, ReadMetrics(session, "test"));
    EXPECT_EQ(std::isnan(seen.numbers.at("auc")), counts);
  }
}

// The negative examples have the scores 1 and 2, the positive ones 2 and 3.
TEST(MetricsTest, TotalsOfExactAucsAddTheirExamples) {
  ASSERT_OK_AND_ASSIGN(MetricTotal total,
                       MetricTotal::Of("exact_auc", {3, 5}, {1, 2, 9, 9, 2, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(total.Value(), 1);
  ASSERT_OK_AND_ASSIGN(const MetricTotal more,
                       MetricTotal::Of("exact_auc", {3, 3}, {2, 3, 2, 1, 0, 0, 0, 1, 0}));
  ASSERT_TRUE(total.Fits(more));
  total.Add(more);
  EXPECT_EQ(total.Value(), 3.5 / 4);
  ASSERT_OK_AND_ASSIGN(const MetricTotal read, MetricTotal::Parse(total.ToText()));
  EXPECT_EQ(read.sums(), total.sums());
  EXPECT_EQ(read.Value(), 3.5 / 4);
  ASSERT_OK_AND_ASSIGN(const MetricTotal none, MetricTotal::Of("exact_auc", {3, 1}, {0, 0, 0}));
  EXPECT_TRUE(std::isnan(none.Value()));
}

TEST(MetricsTest, APlanFromAFileSaysWhatToCompute) {
  const ScratchFolder folder;
  const Data data;
  {
    const Graph graph = GraphOf([](Builder& b, const Tensor& x, const Tensor& t, const Tensor& w) {
      Metric(b, "accuracy", metrics::Accuracy(x, t, {.weights = w}));
    });
    ASSERT_OK_AND_ASSIGN(Plan plan, Compile(graph));
    ASSERT_OK(plan.Save(folder.File("test.plan")));
  }
  ASSERT_OK_AND_ASSIGN(Plan plan, Plan::Load(folder.File("test.plan")));
  ASSERT_OK_AND_ASSIGN(Session session, Session::Create(std::move(plan)));
  RunAll(session, data);
  ASSERT_OK_AND_ASSIGN(const MetricValues first, ReadMetrics(session, "test"));
  double hits = 0;
  data.ForEach([&](const float* row, int32_t label) { hits += Predicted(row) == label; });
  EXPECT_EQ(first.numbers.at("accuracy"), hits / 27);
  // Reading has emptied it.
  ASSERT_OK_AND_ASSIGN(const MetricValues none, ReadMetrics(session, "test"));
  EXPECT_TRUE(std::isnan(none.numbers.at("accuracy")));
  RunAll(session, data);
  ASSERT_OK_AND_ASSIGN(const MetricValues again, ReadMetrics(session, "test"));
  EXPECT_EQ(again.numbers, first.numbers);
}

TEST(MetricsTest, ALabelOfNanLogitsIsWrong) {
  Session session = MustStart(GraphOf([](Builder& b, const Tensor& x, const Tensor& t, const Tensor& w) {
    Metric(b, "top4", metrics::TopKAccuracy(x, t, 4, {.weights = w}));
    Metric(b, "mean", metrics::Mean(SliceDim(x, 1, 0, 1), w));
  }));
  Data data;
  data.logits = {data.logits[0]};
  data.labels = {std::vector<int32_t>(kRows, 0)};
  data.weights = {std::vector<float>(kRows, 1.0f)};
  data.logits[0][0] = NAN;
  data.weights[0][1] = 0;
  data.logits[0][kClasses] = INFINITY;
  data.weights[0][0] = 1;
  RunAll(session, data);
  ASSERT_OK_AND_ASSIGN(const MetricValues seen, ReadMetrics(session, "test"));
  EXPECT_EQ(seen.numbers.at("top4"), 8.0 / 9);
  EXPECT_TRUE(std::isnan(seen.numbers.at("mean")));
  // A value of weight 0 does not count, even an infinite one.
  data.logits[0][0] = 1;
  RunAll(session, data);
  ASSERT_OK_AND_ASSIGN(const MetricValues finite, ReadMetrics(session, "test"));
  EXPECT_TRUE(std::isfinite(finite.numbers.at("mean")));
}

TEST(MetricsTest, TheValueOfAMeanTrains) {
  Graph graph("train");
  graph.Function("train", Mode::kTrain, [](Builder& b) {
    const Variable w = b.MakeVariable("w", F32, {2}, {.init = {.a = 1}});
    const Tensor x = b.Input("x", F32, {2}), weights = b.Input("weights", F32, {2});
    const metrics::Mean loss(Square(b.Read(w) * x), weights);
    Metric(b, "loss", loss);
    optim::Sgd{.learning_rate = 1}.Minimize(loss.value());
  });
  Session session = MustStart(graph);
  const HostTensor x = *HostTensor::FromVector<float>({2}, {0.5f, 3.0f});
  const HostTensor weights = *HostTensor::FromVector<float>({2}, {1.0f, 0.0f});
  ASSERT_OK(session.Run("train", {{"x", x}, {"weights", weights}}));
  EXPECT_EQ(VariableFloats(session, "w"), (std::vector<float>{0.5f, 1.0f}));
  ASSERT_OK_AND_ASSIGN(const MetricValues seen, ReadMetrics(session, "train"));
  EXPECT_EQ(seen.numbers.at("loss"), 0.25);
}

// Batches of 2, 3 and 4 rows, of which the second is padded.
TEST(MetricsTest, BucketsAddToOneMetric) {
  Graph graph("buckets");
  graph.Buckets("test", Mode::kEval, {2, 4}, [](Builder& b, int64_t rows) {
    Metric(b, "mean", metrics::Mean(b.Input("x", F32, {rows}) + 1.0, Cast(b.Valid(), F32)));
  });
  Session session = MustStart(graph);
  double sum = 0;
  for (const int64_t rows : {2, 3, 4}) {
    std::vector<float> values(static_cast<size_t>(rows));
    std::iota(values.begin(), values.end(), static_cast<float>(10 * rows));
    sum = std::accumulate(values.begin(), values.end(), sum + static_cast<double>(rows));
    const HostTensor x = *HostTensor::FromVector<float>({rows}, values);
    ASSERT_OK(session.Run("test", {{"x", x}}));
  }
  ASSERT_OK_AND_ASSIGN(const MetricValues seen, ReadMetrics(session, "test"));
  EXPECT_EQ(seen.numbers.at("mean"), sum / 9);
}

TEST(MetricsTest, ErrorsOfReadingNameTheFix) {
  Graph graph("plain");
  graph.Function("f", Mode::kEval, [](Builder& b) { b.Output("y", b.Input("x", F32, {1}) + 1.0); });
  Session session = MustStart(graph);
  EXPECT_ERROR(ReadMetrics(session, "f"), absl::StatusCode::kNotFound,
               "has no metrics; add them where it is built");
  EXPECT_ERROR(ReadMetrics(session, "g"), absl::StatusCode::kNotFound, "\"g\"");
}

class MetricErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(MetricErrorTest, NamesLineMistakeAndFix) { ExpectSays(GetParam(), "metrics_test.cc:"); }

std::vector<ErrorCase> Mistakes() {
  const auto labels = [](Builder& b) { return X(b, {2}, I32); };
  return {
      {"TwiceInABucket",
       [](Graph& g) {
         g.Buckets("f", Mode::kEval, {1, 2}, [](Builder& b, int64_t n) {
           const Tensor x = b.Input("x", F32, {n});
           Metric(b, "m", x);
           if (n == 2) Metric(b, "m", x);
         });
       },
       {"Metric \"m\"", "is in function \"f@2\" already"}},
      In("LogitsType", [=](Builder& b) { metrics::Accuracy(X(b, {2, 3}, I32), labels(b)); },
         {"metrics::Accuracy(i32[2,3], i32[2]) takes logits of floats"}),
      In("LabelsType", [](Builder& b) { metrics::TopKAccuracy(X(b), X(b, {2}), 1); },
         {"metrics::TopKAccuracy", "takes labels of i32 or i64; Cast(labels, I32) first"}),
      In("LabelsShape", [](Builder& b) { metrics::Confusion(X(b), X(b, {3}, I32)); },
         {"metrics::Confusion", "takes labels i32[2], one for each row of logits"}),
      In("WeightsShape", [=](Builder& b) { metrics::Accuracy(X(b), labels(b), {.weights = X(b, {3})}); },
         {"takes weights of the shape of the values, f32[2], or of its first dimensions, not f32[3]"}),
      In("WeightsType", [](Builder& b) { metrics::Mean(X(b), X(b, {2}, I32)); },
         {"takes weights of floats; Cast(weights, F32) first"}),
      In("K", [=](Builder& b) { metrics::TopKAccuracy(X(b), labels(b), 0); },
         {"needs a k of at least 1, got 0"}),
      In("Binary", [=](Builder& b) { metrics::F1(X(b), labels(b), metrics::Average::kBinary); },
         {"metrics::F1", "with Average::kBinary needs two classes, got 3"}),
      In("AucRange", [](Builder& b) { metrics::Auc(X(b), X(b), {.low = 1, .high = 1}); },
         {"needs low < high, got 1 and 1"}),
      In("AucBins", [](Builder& b) { metrics::Auc(X(b), X(b), {.bins = 1}); }, {"at least 2 bins, got 1"}),
      In("ExactAucRoom", [](Builder& b) { metrics::ExactAuc(X(b), X(b), {.examples = 5}); },
         {"metrics::ExactAuc(f32[2,3], f32[2,3]) has room for 5 examples, and one run has 6; set "
          ".examples"}),
      In("ExactAucShape", [](Builder& b) { metrics::ExactAuc(X(b), X(b, {2})); },
         {"takes targets of the scores' shape"}),
      In("ExactAucType", [](Builder& b) { metrics::ExactAuc(X(b, {2}, I32), X(b, {2})); }, {"takes floats"}),
      In("ExactAucWeights", [](Builder& b) { metrics::ExactAuc(X(b), X(b), {.weights = X(b, {3})}); },
         {"takes weights of the shape of the values"}),
      In("AucShape", [](Builder& b) { metrics::Auc(X(b), X(b, {2})); },
         {"takes targets of the scores' shape"}),
      In("BinaryType", [=](Builder& b) { metrics::BinaryAccuracy(X(b, {2}), labels(b)); }, {"takes floats"}),
      In("Empty", [](Builder& b) { Metric(b, "", X(b)); }, {"Metric \"\"", "has no name"}),
      In("Slash", [](Builder& b) { Metric(b, "main/loss", X(b)); },
         {"Metric \"main/loss\"(f64[2]) has a '/', a space or a line break in its name"}),
      In("Twice",
         [](Builder& b) {
           Metric(b, "loss", X(b));
           Metric(b, "loss", metrics::Perplexity(X(b)));
         },
         {"is in function \"f\" already; give this one another name"}),
      {"Reserved",
       [](Graph& graph) { graph.Variable("metric/f/loss/mean", F64, {2}); },
       {"has a name that is a metric's; choose one that does not begin with \"metric/\""}},
  };
}
INSTANTIATE_TEST_SUITE_P(, MetricErrorTest, testing::ValuesIn(Mistakes()), ErrorCaseName);

TEST(MetricTotalTest, TextKeepsEveryBit) {
  for (const double value : {0.1, -1e300, 5e-324, HUGE_VAL}) {
    ASSERT_OK_AND_ASSIGN(const MetricTotal total, MetricTotal::Of("mean", {2}, {value, 3}));
    ASSERT_OK_AND_ASSIGN(const MetricTotal read, MetricTotal::Parse(total.ToText()));
    EXPECT_EQ(read.sums(), total.sums());
    EXPECT_EQ(read.kind(), "mean");
  }
  ASSERT_OK_AND_ASSIGN(const MetricTotal nan, MetricTotal::Parse("mean 2 : nan 1"));
  EXPECT_TRUE(std::isnan(nan.Value()));
  for (const char* text :
       {"", "mean", "mean 2", "mean 2 : 1", "mean 2 : 1 2 3", "mean 3 : 1 2 3", "mean x : 1 2",
        "mode 2 : 1 2", "mean 2 : 1 two", "f1_binary 3 3 : 1 2 3 4 5 6 7 8 9", "auc 3 2 : 1 2 3 4 5 6"})
    EXPECT_EQ(MetricTotal::Parse(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
}

TEST(MetricTotalTest, ScoresOfNothingAndOfAbsentClasses) {
  ASSERT_OK_AND_ASSIGN(const MetricTotal none, MetricTotal::Of("f1_macro", {2, 2}, {0, 0, 0, 0}));
  EXPECT_TRUE(std::isnan(none.Value()));
  // Class 2 has neither labels nor predictions; class 1 is never predicted. As scikit-learn: (0.8 + 0) / 2.
  ASSERT_OK_AND_ASSIGN(const MetricTotal some,
                       MetricTotal::Of("f1_macro", {3, 3}, {2, 0, 0, 1, 0, 0, 0, 0, 0}));
  EXPECT_NEAR(some.Value(), 0.4, 1e-15);
  ASSERT_OK_AND_ASSIGN(const MetricTotal binary, MetricTotal::Of("precision_binary", {2, 2}, {5, 1, 2, 3}));
  EXPECT_EQ(binary.Value(), 0.75);
  ASSERT_OK_AND_ASSIGN(const MetricTotal recall, MetricTotal::Of("recall_binary", {2, 2}, {5, 1, 2, 3}));
  EXPECT_EQ(recall.Value(), 0.6);
}

}  // namespace
}  // namespace sinter
