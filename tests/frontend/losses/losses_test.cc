// Losses against their formulas in double precision, and their gradients against finite differences.
#include "sinter/frontend/ops/losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using LossesTest = DeviceTest;

constexpr int64_t kRows = 6, kClasses = 5;
const std::vector<int32_t> kLabels = {2, 0, 4, 1, 4, 3};
const std::vector<double> kWeights = {0.5, 2, 1, 0.25, 3};

std::vector<float> Numbers(int64_t count, double low, double high, int step = 37) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; ++i) {
    numbers.push_back(
        static_cast<float>(low + (high - low) * static_cast<double>((i * step + 11) % 101) / 100));
  }
  return numbers;
}

Tensor Vector(Builder& b, const std::vector<float>& values, const Shape& shape) {
  return b.Constant(*HostTensor::FromVector<float>(shape, values));
}
Tensor Labels(Builder& b, const std::vector<int32_t>& labels = kLabels) {
  return b.Constant(*HostTensor::FromVector<int32_t>({static_cast<int64_t>(labels.size())}, labels));
}
Tensor Weights(Builder& b) { return Vector(b, {kWeights.begin(), kWeights.end()}, {kClasses}); }

// The losses of rows of logits, of targets that are smoothed and weighted.
struct Rows {
  std::vector<double> each, weights;
};
Rows CrossEntropyOf(const std::vector<float>& logits, const std::vector<std::vector<double>>& targets,
                    bool weighted, double smoothing) {
  Rows rows;
  for (size_t r = 0; r < targets.size(); ++r) {
    const float* const x = &logits[r * kClasses];
    double all = 0, loss = 0, weight = 0;
    for (int64_t c = 0; c < kClasses; ++c) all += std::exp(x[c]);
    for (int64_t c = 0; c < kClasses; ++c) {
      const double of_class = weighted ? kWeights[static_cast<size_t>(c)] : 1;
      const double target = targets[r][static_cast<size_t>(c)];
      loss -= of_class * (target * (1 - smoothing) + smoothing / kClasses) * (x[c] - std::log(all));
      weight += of_class * target;
    }
    rows.each.push_back(loss);
    rows.weights.push_back(weight);
  }
  return rows;
}

std::vector<std::vector<double>> OneHots(const std::vector<int32_t>& labels) {
  std::vector<std::vector<double>> targets(labels.size(), std::vector<double>(kClasses, 0));
  for (size_t r = 0; r < labels.size(); ++r) targets[r][static_cast<size_t>(labels[r])] = 1;
  return targets;
}

double SumOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

// The outputs of a function of logits x, f32[6,5].
std::map<std::string, std::vector<float>> Compute(const std::vector<float>& x,
                                                  const std::function<void(Builder&, const Tensor&)>& body) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [&](Builder& b) { body(b, b.Input("x", F32, {kRows, kClasses})); });
  Session session = MustStart(graph, {.device = TestDevice()});
  const auto outputs = session.Run("f", {{"x", *HostTensor::FromVector<float>({kRows, kClasses}, x)}});
  SINTER_CHECK(outputs.ok()) << outputs.status();
  std::map<std::string, std::vector<float>> values;
  for (size_t i = 0; i < outputs->size(); ++i)
    values[std::string(outputs->name(i))] = ToFloats(outputs->tensor(i));
  return values;
}

TEST_F(LossesTest, CrossEntropyOfLabels) {
  const std::vector<float> x = Numbers(kRows * kClasses, -3, 3);
  for (const bool weighted : {false, true}) {
    for (const double smoothing : {0.0, 0.2, 1.0}) {
      SCOPED_TRACE(::testing::Message() << weighted << " " << smoothing);
      auto got = Compute(x, [&](Builder& b, const Tensor& logits) {
        CrossEntropyOptions options{.label_smoothing = smoothing};
        if (weighted) options.class_weights = Weights(b);
        for (const bool nll : {false, true}) {
          auto loss = [&](const std::string& name, Reduction reduction) {
            options.reduction = reduction;
            b.Output(name + (nll ? " nll" : ""), nll ? NllLoss(LogSoftmax(logits), Labels(b), options)
                                                     : SoftmaxCrossEntropy(logits, Labels(b), options));
          };
          loss("each", Reduction::kNone);
          loss("sum", Reduction::kSum);
          loss("mean", Reduction::kMean);
        }
      });
      const Rows want = CrossEntropyOf(x, OneHots(kLabels), weighted, smoothing);
      for (const std::string nll : {"", " nll"}) {
        for (size_t r = 0; r < kRows; ++r) EXPECT_NEAR(got["each" + nll][r], want.each[r], 2e-5);
        EXPECT_NEAR(got["sum" + nll][0], SumOf(want.each), 1e-4);
        EXPECT_NEAR(got["mean" + nll][0], SumOf(want.each) / SumOf(want.weights), 2e-5);
      }
    }
  }
}

TEST_F(LossesTest, IgnoredLabelsDoNotCount) {
  const std::vector<float> x = Numbers(kRows * kClasses, -3, 3);
  const std::vector<int32_t> labels = {2, -1, 4, 1, -1, 3};
  auto got = Compute(x, [&](Builder& b, const Tensor& logits) {
    const CrossEntropyOptions options{
        .ignore_label = -1, .label_smoothing = 0.3, .class_weights = Weights(b)};
    b.Output("loss", SoftmaxCrossEntropy(logits, Labels(b, labels), options));
    b.Output("nll", NllLoss(LogSoftmax(logits), Labels(b, labels), options));
    b.Output("gradient", Gradients(SoftmaxCrossEntropy(logits, Labels(b, labels), options), {logits})[0]);
  });
  std::vector<float> kept;
  std::vector<int32_t> kept_labels;
  for (const size_t r : {0, 2, 3, 5}) {
    kept.insert(kept.end(), x.begin() + static_cast<ptrdiff_t>(r) * kClasses,
                x.begin() + static_cast<ptrdiff_t>(r + 1) * kClasses);
    kept_labels.push_back(labels[r]);
  }
  const Rows want = CrossEntropyOf(kept, OneHots(kept_labels), true, 0.3);
  EXPECT_NEAR(got["loss"][0], SumOf(want.each) / SumOf(want.weights), 2e-5);
  EXPECT_NEAR(got["nll"][0], SumOf(want.each) / SumOf(want.weights), 2e-5);
  for (size_t c = 0; c < kClasses; ++c) EXPECT_EQ(got["gradient"][kClasses + c], 0);
}

TEST_F(LossesTest, AnIgnoredLabelMayBeOutsideOfTheClasses) {
  Graph graph("g");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    const CrossEntropyOptions options{.ignore_label = 100, .class_weights = Weights(b)};
    b.Output("loss", SoftmaxCrossEntropy(b.Input("x", F32, {2, kClasses}), b.Input("y", I32, {2}), options));
  });
  Session session = MustStart(graph, {.device = TestDevice(), .check_indices = true});
  const std::vector<float> x = Numbers(2 * kClasses, -3, 3);
  const HostTensor logits = *HostTensor::FromVector<float>({2, kClasses}, x);
  const HostTensor ignored = *HostTensor::FromVector<int32_t>({2}, {100, 2});
  const Rows want = CrossEntropyOf({x.begin() + kClasses, x.end()}, OneHots({2}), true, 0);
  EXPECT_NEAR(Floats(session, "f", {{"x", logits}, {"y", ignored}}, "loss")[0],
              want.each[0] / want.weights[0], 2e-5);
  EXPECT_FALSE(session.Run("f", {{"x", logits}, {"y", *HostTensor::FromVector<int32_t>({2}, {5, 2})}}).ok());
}

TEST_F(LossesTest, LabelsOutsideOfTheClassesGiveNan) {
  auto got = Compute(Numbers(kRows * kClasses, -3, 3), [&](Builder& b, const Tensor& logits) {
    const std::vector<int32_t> labels = {2, 5, 4, -2, 4, 3};
    for (const double smoothing : {0.0, 0.5}) {
      const CrossEntropyOptions options{.reduction = Reduction::kNone, .label_smoothing = smoothing};
      const std::string name = smoothing == 0 ? "plain" : "smooth";
      b.Output(name, SoftmaxCrossEntropy(logits, Labels(b, labels), options));
      b.Output(name + " nll", NllLoss(LogSoftmax(logits), Labels(b, labels), options));
    }
  });
  for (const auto& [name, values] : got) {
    for (size_t r = 0; r < kRows; ++r) EXPECT_EQ(std::isnan(values[r]), r == 1 || r == 3) << name << " " << r;
  }
}

TEST_F(LossesTest, CrossEntropyOfProbabilities) {
  const std::vector<float> x = Numbers(kRows * kClasses, -3, 3), t = Numbers(kRows * kClasses, 0, 0.4, 53);
  std::vector<std::vector<double>> targets;
  for (int64_t r = 0; r < kRows; ++r)
    targets.emplace_back(t.begin() + r * kClasses, t.begin() + (r + 1) * kClasses);
  auto got = Compute(x, [&](Builder& b, const Tensor& logits) {
    const Tensor wanted = Vector(b, t, {kRows, kClasses});
    b.Output("plain", SoftmaxCrossEntropy(logits, wanted));
    b.Output("both",
             SoftmaxCrossEntropy(logits, wanted, {.label_smoothing = 0.1, .class_weights = Weights(b)}));
  });
  // Smoothing leaves targets with a sum of 1 alone; these have others, and each class gets its share.
  EXPECT_NEAR(got["plain"][0], SumOf(CrossEntropyOf(x, targets, false, 0).each) / kRows, 2e-5);
  EXPECT_NEAR(got["both"][0], SumOf(CrossEntropyOf(x, targets, true, 0.1).each) / kRows, 2e-5);
}

struct ElementLoss {
  std::string name;
  double low, high;  // Bounds of the results.
  std::vector<float> targets;
  std::function<Tensor(const Tensor& x, const Operand& t, Reduction)> make;
  std::function<double(double x, double t)> formula;
};

double Softplus1(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

std::vector<ElementLoss> ElementLosses() {
  const int64_t n = kRows * kClasses;
  std::vector<float> signs, bits;
  for (int64_t i = 0; i < n; ++i) {
    signs.push_back(i % 3 == 0 ? -1.0f : 1.0f);
    bits.push_back(i % 3 == 0 ? 0.0f : 1.0f);
  }
  const std::vector<float> parts = Numbers(n, 0, 1, 53), any = Numbers(n, -2, 2, 53);
  return {
      {"mse", -3, 3, any, [](const Tensor& x, const Operand& t, Reduction r) { return MseLoss(x, t, r); },
       [](double x, double t) { return (x - t) * (x - t); }},
      {"l1", -3, 3, any, [](const Tensor& x, const Operand& t, Reduction r) { return L1Loss(x, t, r); },
       [](double x, double t) { return std::fabs(x - t); }},
      {"huber", -3, 3, any,
       [](const Tensor& x, const Operand& t, Reduction r) { return HuberLoss(x, t, 0.7, r); },
       [](double x, double t) {
         const double d = std::fabs(x - t);
         return d < 0.7 ? d * d / 2 : 0.7 * (d - 0.35);
       }},
      {"smooth l1", -3, 3, any,
       [](const Tensor& x, const Operand& t, Reduction r) { return SmoothL1Loss(x, t, 0.7, r); },
       [](double x, double t) {
         const double d = std::fabs(x - t);
         return d < 0.7 ? d * d / 1.4 : d - 0.35;
       }},
      {"bce with logits", -5, 5, parts,
       [](const Tensor& x, const Operand& t, Reduction r) { return BceWithLogitsLoss(x, t, r); },
       [](double x, double t) { return Softplus1(x) - t * x; }},
      {"bce", 0.01, 0.99, parts,
       [](const Tensor& x, const Operand& t, Reduction r) { return BceLoss(x, t, r); },
       [](double x, double t) { return -t * std::log(x) - (1 - t) * std::log1p(-x); }},
      {"focal", -4, 4, bits,
       [](const Tensor& x, const Operand& t, Reduction r) {
         return FocalLoss(x, t, {.alpha = 0.3, .gamma = 1.5, .reduction = r});
       },
       [](double x, double t) {
         const double right = t > 0 ? 1 / (1 + std::exp(-x)) : 1 / (1 + std::exp(x));
         return -(t > 0 ? 0.3 : 0.7) * std::pow(1 - right, 1.5) * std::log(right);
       }},
      {"poisson", -2, 2, parts,
       [](const Tensor& x, const Operand& t, Reduction r) { return PoissonNllLoss(x, t, r); },
       [](double x, double t) { return std::exp(x) - t * x; }},
      {"gaussian", -2, 2, any,
       [](const Tensor& x, const Operand& t, Reduction r) {
         return GaussianNllLoss(x, Square(x) + 0.5, t, 1e-6, r);
       },
       [](double x, double t) {
         const double v = x * x + 0.5;
         return (std::log(v) + (x - t) * (x - t) / v) / 2;
       }},
      {"hinge", -3, 3, signs,
       [](const Tensor& x, const Operand& t, Reduction r) { return HingeLoss(x, t, 0.8, r); },
       [](double x, double t) { return std::max(0.0, 0.8 - t * x); }},
      {"soft margin", -3, 3, signs,
       [](const Tensor& x, const Operand& t, Reduction r) { return SoftMarginLoss(x, t, r); },
       [](double x, double t) { return Softplus1(-t * x); }},
      {"ranking", -3, 3, signs,
       [](const Tensor& x, const Operand& t, Reduction r) {
         return MarginRankingLoss(x, x * 0.25, t, 0.5, r);
       },
       [](double x, double t) { return std::max(0.0, 0.5 - t * 0.75 * x); }},
  };
}

// Losses with options that weigh or complete them.
std::vector<ElementLoss> LossesWithOptions() {
  const std::vector<float> parts = Numbers(kRows * kClasses, 0, 1, 53),
                           any = Numbers(kRows * kClasses, -2, 2, 53);
  return {
      {"weighted bce with logits", -5, 5, parts,
       [](const Tensor& x, const Operand& t, Reduction r) {
         return BceWithLogitsLoss(x, t, {.positive_weight = 2.5, .weight = 0.5, .reduction = r});
       },
       [](double x, double t) { return 0.5 * (2.5 * t * Softplus1(-x) + (1 - t) * Softplus1(x)); }},
      {"whole poisson", 0.2, 3, Numbers(kRows * kClasses, 0, 5, 53),
       [](const Tensor& x, const Operand& t, Reduction r) {
         return PoissonNllLoss(x, t, {.is_log = false, .full = true, .epsilon = 0.01, .reduction = r});
       },
       [](double x, double t) {
         const double stirling = t > 1 ? t * std::log(t) - t + std::log(2 * M_PI * t) / 2 : 0;
         return x - t * std::log(x + 0.01) + stirling;
       }},
      {"whole gaussian", -2, 2, any,
       [](const Tensor& x, const Operand& t, Reduction r) {
         return GaussianNllLoss(x, Square(x) + 0.5, t, {.full = true, .reduction = r});
       },
       [](double x, double t) {
         const double v = x * x + 0.5;
         return (std::log(2 * M_PI * v) + (x - t) * (x - t) / v) / 2;
       }},
  };
}

TEST_F(LossesTest, OfElements) {
  std::vector<ElementLoss> losses = ElementLosses();
  for (const ElementLoss& loss : LossesWithOptions()) losses.push_back(loss);
  for (const ElementLoss& loss : losses) {
    SCOPED_TRACE(loss.name);
    const std::vector<float> x = Numbers(kRows * kClasses, loss.low, loss.high);
    auto got = Compute(x, [&](Builder& b, const Tensor& in) {
      const Tensor target = Vector(b, loss.targets, {kRows, kClasses});
      b.Output("each", loss.make(in, target, Reduction::kNone));
      b.Output("mean", loss.make(in, target, Reduction::kMean));
      b.Output("number", loss.make(in, 1, Reduction::kSum));
      b.Output("gradient", Gradients(loss.make(in, target, Reduction::kSum), {in})[0]);
    });
    double sum = 0, of_ones = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double t = loss.targets[i], want = loss.formula(x[i], t), step = 1e-4;
      EXPECT_NEAR(got["each"][i], want, 1e-5 * std::max(1.0, want)) << x[i] << " " << t;
      sum += want;
      of_ones += loss.formula(x[i], 1);
      const double left = (want - loss.formula(x[i] - step, t)) / step;
      const double right = (loss.formula(x[i] + step, t) - want) / step;
      if (std::fabs(left - right) > 0.1) continue;  // A corner.
      EXPECT_NEAR(got["gradient"][i], (left + right) / 2, 1e-3 * std::max(1.0, std::fabs(left)))
          << x[i] << " " << t;
    }
    EXPECT_NEAR(got["mean"][0], sum / static_cast<double>(x.size()), 1e-5);
    EXPECT_NEAR(got["number"][0], of_ones, 1e-5 * std::max(1.0, of_ones));
  }
}

// A weight of each class, and one of each example.
TEST_F(LossesTest, WeightsOfBinaryCrossEntropy) {
  const std::vector<float> x = Numbers(kRows * kClasses, -5, 5), t = Numbers(kRows * kClasses, 0, 1, 53);
  const std::vector<float> of_rows = {1, 0, 2, 0.5, 3, 1};
  auto got = Compute(x, [&](Builder& b, const Tensor& in) {
    const Tensor target = Vector(b, t, {kRows, kClasses});
    const BceWithLogitsOptions options = {.positive_weight = Weights(b),
                                          .weight = Vector(b, of_rows, {kRows, 1}),
                                          .reduction = Reduction::kNone};
    const Tensor loss = BceWithLogitsLoss(in, target, options);
    b.Output("loss", loss);
    b.Output("gradient", Gradients(Sum(loss), {in})[0]);
    b.Output("same", BceWithLogitsLoss(in, target, {.positive_weight = 1}) - BceWithLogitsLoss(in, target));
  });
  for (size_t i = 0; i < x.size(); ++i) {
    const double weight = of_rows[i / kClasses], positive = kWeights[i % kClasses];
    const double p = 1 / (1 + std::exp(-x[i]));
    const double want = weight * (positive * t[i] * Softplus1(-x[i]) + (1 - t[i]) * Softplus1(x[i]));
    EXPECT_NEAR(got["loss"][i], want, 1e-5 * (1 + want));
    EXPECT_NEAR(got["gradient"][i], weight * (positive * t[i] * (p - 1) + (1 - t[i]) * p), 2e-5);
  }
  EXPECT_EQ(got["same"][0], 0);
}

TEST_F(LossesTest, OfDistributionsAndVectors) {
  const std::vector<float> x = Numbers(kRows * kClasses, -2, 2), p = Numbers(kRows * kClasses, 0, 1, 53);
  auto got = Compute(x, [&](Builder& b, const Tensor& in) {
    const Tensor others = Vector(b, p, {kRows, kClasses});
    b.Output("kl", KlDivLoss(in, others, Reduction::kSum));
    b.Output("triplet", TripletMarginLoss(in, others, Roll(in, 1, 0), 0.5, 1e-6, Reduction::kNone));
    b.Output("cosine", CosineEmbeddingLoss(in, others, Vector(b, {1, -1, 1, -1, 1, -1}, {kRows}), 0.1,
                                           Reduction::kNone));
    b.Output("contrast", InfoNceLoss(in, others, 0.5));
  });
  auto row = [](const std::vector<float>& v, size_t r) {
    return std::vector<double>(v.begin() + static_cast<ptrdiff_t>(r) * kClasses,
                               v.begin() + static_cast<ptrdiff_t>(r + 1) * kClasses);
  };
  auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  };
  auto distance = [](const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i] + 1e-6) * (a[i] - b[i] + 1e-6);
    return std::sqrt(sum);
  };
  double kl = 0, contrast = 0;
  for (size_t i = 0; i < x.size(); ++i) kl += p[i] == 0 ? 0 : p[i] * (std::log(p[i]) - x[i]);
  for (size_t r = 0; r < kRows; ++r) {
    const std::vector<double> a = row(x, r), other = row(p, r), before = row(x, (r + kRows - 1) % kRows);
    const double cosine = dot(a, other) / std::sqrt(dot(a, a) * dot(other, other));
    EXPECT_NEAR(got["cosine"][r], r % 2 == 0 ? 1 - cosine : std::max(0.0, cosine - 0.1), 1e-5) << r;
    EXPECT_NEAR(got["triplet"][r], std::max(0.0, distance(a, other) - distance(a, before) + 0.5), 1e-5) << r;
    double all = 0;
    for (size_t s = 0; s < kRows; ++s) {
      const std::vector<double> key = row(p, s);
      all += std::exp(dot(a, key) / std::sqrt(dot(a, a) * dot(key, key)) / 0.5);
    }
    contrast += (std::log(all) - cosine / 0.5) / kRows;
  }
  EXPECT_NEAR(got["kl"][0], kl, 1e-4);
  EXPECT_NEAR(got["contrast"][0], contrast, 1e-5);
}

class LossErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(LossErrorTest, Says) { ExpectSays(GetParam(), "losses_test.cc:"); }

INSTANTIATE_TEST_SUITE_P(
    Cases, LossErrorTest,
    ::testing::Values(
        In("Smoothing", [](Builder& b) { SoftmaxCrossEntropy(X(b), X(b, {2}, I32), {.label_smoothing = 2}); },
           {"SoftmaxCrossEntropy(f32[2,3], i32[2])", "a label_smoothing"}),
        In("ClassWeights",
           [](Builder& b) { SoftmaxCrossEntropy(X(b), X(b, {2}, I32), {.class_weights = X(b, {2})}); },
           {"needs class_weights of type f32[3]"}),
        In("SoftShape", [](Builder& b) { SoftmaxCrossEntropy(X(b), X(b, {2})); },
           {"or probabilities of the logits' type"}),
        In("SoftIgnored", [](Builder& b) { SoftmaxCrossEntropy(X(b), X(b), {.ignore_label = 1}); },
           {"ignores a label, and its targets are probabilities"}),
        In("NllLabels", [](Builder& b) { NllLoss(X(b), X(b)); }, {"takes i32 or i64 labels"}),
        In("NllShape", [](Builder& b) { NllLoss(X(b), X(b, {3}, I32)); }, {"needs labels of type i32[2]"}),
        In("ClassesAtOne", [](Builder& b) { SoftmaxCrossEntropy(X(b, {2, 5, 4, 3}), X(b, {2, 4, 3}, I32)); },
           {"SoftmaxCrossEntropy(f32[2,5,4,3], i32[2,4,3])", "needs labels of type i32[2,5,4]",
            "without the classes, which come last",
            "as in PyTorch, move them: Transpose(logits, {0, 2, 3, 1})"}),
        In("NllClassesAtOne", [](Builder& b) { NllLoss(X(b, {2, 5, 4}), X(b, {2, 4}, I32)); },
           {"move them: Transpose(log_probabilities, {0, 2, 1})"}),
        In("PositiveWeight",
           [](Builder& b) { BceWithLogitsLoss(X(b), X(b), {.positive_weight = X(b, {2})}); },
           {"needs a positive_weight of type f32 that broadcasts to the shape of f32[2,3], got f32[2]"}),
        In("BceWeight", [](Builder& b) { BceWithLogitsLoss(X(b), X(b), {.weight = X(b, {2, 3}, F64)}); },
           {"needs a weight of type f32"}),
        In("BceWeightNumber", [](Builder& b) { BceWithLogitsLoss(X(b), X(b), {.weight = std::nan("")}); },
           {"needs a weight that is finite"}),
        In("PoissonEpsilon", [](Builder& b) { PoissonNllLoss(X(b), X(b), {.epsilon = -1}); },
           {"needs an epsilon of at least 0"}),
        In("NllRank", [](Builder& b) { NllLoss(X(b, {}), X(b, {}, I32)); }, {"rank 1 or more"}),
        In("MseNumber", [](Builder& b) { MseLoss(X(b, {2}, F16), 1e9); }, {"MseLoss(f16[2])"}),
        In("SmoothL1Beta", [](Builder& b) { SmoothL1Loss(X(b), X(b), 0); },
           {"SmoothL1Loss(f32[2,3])", "a beta"}),
        In("BceInt", [](Builder& b) { BceLoss(X(b, {2}, I32), X(b, {2}, I32)); },
           {"BceLoss(i32[2], i32[2])"}),
        In("HingeShape", [](Builder& b) { HingeLoss(X(b), X(b, {3})); },
           {"needs a target of type f32[2,3]; losses do not broadcast"}),
        In("FocalAlpha", [](Builder& b) { FocalLoss(X(b), X(b), {.alpha = 2}); }, {"an alpha"}),
        In("FocalGamma", [](Builder& b) { FocalLoss(X(b), X(b), {.gamma = -1}); }, {"a gamma"}),
        In("GaussianVariance", [](Builder& b) { GaussianNllLoss(X(b), X(b, {2}), X(b)); },
           {"takes a mean and a variance of one type"}),
        In("GaussianEpsilon", [](Builder& b) { GaussianNllLoss(X(b), X(b), X(b), 0); }, {"an epsilon"}),
        In("RankingTypes", [](Builder& b) { MarginRankingLoss(X(b), X(b, {2}), X(b)); },
           {"takes tensors of one type"}),
        In("CosineTarget", [](Builder& b) { CosineEmbeddingLoss(X(b), X(b), X(b)); },
           {"needs a target of type f32[2]"}),
        In("TripletTypes", [](Builder& b) { TripletMarginLoss(X(b), X(b), X(b, {3})); },
           {"tensors of one type"}),
        In("InfoNceRank", [](Builder& b) { InfoNceLoss(X(b, {3}), X(b, {3})); },
           {"takes floats [N, features]"}),
        In("InfoNceTemperature", [](Builder& b) { InfoNceLoss(X(b), X(b), 0); }, {"a temperature"})),
    ErrorCaseName);

// At 0 and 1 a logarithm is infinite; the gradient there is finite.
TEST_F(LossesTest, BceLossHasAFiniteGradientAtCertainty) {
  Graph graph("certain");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    Tensor p = b.Input("p", F32, {4}), t = b.Input("t", F32, {4});
    b.Output("g", Gradients(BceLoss(p, t, Reduction::kSum), {p})[0]);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const HostTensor p = *HostTensor::FromVector<float>({4}, {0, 0, 0.5, 1});
  const HostTensor t = *HostTensor::FromVector<float>({4}, {0, 1, 1, 1});
  EXPECT_EQ(Floats(session, "f", {{"p", p}, {"t", t}}, "g"), (std::vector<float>{1, 0, -2, -1}));
}

}  // namespace
}  // namespace sinter
