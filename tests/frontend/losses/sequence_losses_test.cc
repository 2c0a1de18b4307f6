// CTC and conditional random fields against sums over all paths in double precision.
#include "sinter/frontend/losses/sequence_losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sinter/frontend/ops/ops.h"
#include "sinter/tests/frontend/builder_values.h"
#include "sinter/tests/frontend/error_case.h"

namespace sinter {
namespace {

using SequenceLossesTest = DeviceTest;

std::vector<double> Numbers(int64_t count, double low, double high) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i) {
    numbers.push_back(low + (high - low) * static_cast<double>((i * 37 + 11) % 101) / 100);
  }
  return numbers;
}

// The digits of `number` in this base, of a path of `time` positions.
std::vector<int> PathOf(int64_t number, int64_t base, int64_t time) {
  std::vector<int> path;
  for (int64_t t = 0; t < time; ++t, number /= base) path.push_back(static_cast<int>(number % base));
  return path;
}

int64_t CountPaths(int64_t base, int64_t time) {
  int64_t count = 1;
  for (int64_t t = 0; t < time; ++t) count *= base;
  return count;
}

std::vector<int> Collapsed(const std::vector<int>& path, int blank) {
  std::vector<int> labels;
  for (size_t t = 0; t < path.size(); ++t) {
    if (path[t] != blank && (t == 0 || path[t] != path[t - 1])) labels.push_back(path[t]);
  }
  return labels;
}

// -log of the sum of the probabilities of all paths [time, classes] that collapse to the labels.
double CtcByPaths(const double* logits, int64_t time, int64_t classes, const std::vector<int>& labels,
                  int blank) {
  double sum = 0;
  for (int64_t n = 0; n < CountPaths(classes, time); ++n) {
    const std::vector<int> path = PathOf(n, classes, time);
    if (Collapsed(path, blank) != labels) continue;
    double log_p = 0;
    for (int64_t t = 0; t < time; ++t) {
      double all = 0;
      for (int64_t c = 0; c < classes; ++c) all += std::exp(logits[t * classes + c]);
      log_p += logits[t * classes + path[static_cast<size_t>(t)]] - std::log(all);
    }
    sum += std::exp(log_p);
  }
  return -std::log(sum);
}

constexpr int64_t kBatch = 5, kTime = 6, kLetters = 4;
const std::vector<int32_t> kWords = {1, 2, 1, 1, 1, 3, 2, -7, 99, 3, 3, 3, -1, -1, -1};
const std::vector<int32_t> kFrames = {6, 6, 4, 5, 3}, kSpelled = {3, 3, 1, 3, 0};

TEST_F(SequenceLossesTest, CtcIsTheSumOverPaths) {
  const std::vector<double> x = Numbers(kBatch * kTime * kLetters, -2, 2);
  for (const int blank : {0, 3}) {
    std::vector<int32_t> labels = kWords;
    if (blank == 3) {
      for (int32_t& label : labels) label = label == 3 ? 0 : label;
    }
    Values got = Compute([&](Builder& b) {
      for (const DType dtype : {F64, F32}) {
        const Tensor logits = Vector(b, x, {kBatch, kTime, kLetters}, dtype);
        CtcOptions options{.input_lengths = Whole(b, kFrames),
                           .label_lengths = Whole(b, kSpelled),
                           .blank = blank,
                           .reduction = Reduction::kNone};
        const Tensor targets = Whole(b, labels, {kBatch, 3});
        b.Output(dtype == F64 ? "each" : "f32", CtcLoss(logits, targets, options));
        if (dtype == F32) continue;
        b.Output("of log", CtcLoss(LogSoftmax(logits), targets, options));
        options.reduction = Reduction::kMean;
        b.Output("mean", CtcLoss(logits, targets, options));
        options.reduction = Reduction::kSum;
        b.Output("sum", CtcLoss(logits, targets, options));
        b.Output("all", CtcLoss(logits, Whole(b, {1, 2, 1, 1, 1, 2, 2, 1, 2, 1}, {5, 2}),
                                {.blank = blank, .reduction = Reduction::kNone}));
      }
    });
    double sum = 0;
    for (size_t n = 0; n < kBatch; ++n) {
      const std::vector<int> row(labels.begin() + static_cast<long>(3 * n),
                                 labels.begin() + static_cast<long>(3 * n) + kSpelled[n]);
      const double want = CtcByPaths(&x[n * kTime * kLetters], kFrames[n], kLetters, row, blank);
      EXPECT_NEAR(got["each"][n], want, 1e-10) << n;
      EXPECT_NEAR(got["of log"][n], want, 1e-10) << n;
      EXPECT_NEAR(got["f32"][n], want, 1e-5) << n;
      sum += want;
    }
    EXPECT_NEAR(got["sum"][0], sum, 1e-9);
    EXPECT_NEAR(got["mean"][0], sum / kBatch, 1e-9);
    EXPECT_NEAR(got["all"][1], CtcByPaths(&x[kTime * kLetters], kTime, kLetters, {1, 1}, blank), 1e-10);
  }
}

TEST_F(SequenceLossesTest, CtcHasTheGradientOfDifferences) {
  ExpectGradient(Numbers(2 * 4 * 3, -2, 2), {2, 4, 3}, [](Builder& b, const Tensor& x) {
    return CtcLoss(x, Whole(b, {1, 1, 2, 2}, {2, 2}),
                   {.input_lengths = Whole(b, {4, 3}), .label_lengths = Whole(b, {2, 1})});
  });
}

TEST_F(SequenceLossesTest, LabelsThatDoNotFitAreImpossible) {
  Values got = Compute([](Builder& b) {
    const Tensor x = Vector(b, Numbers(2 * 2 * 3, -1, 1), {2, 2, 3}, F32);
    const Tensor labels = Whole(b, {1, 1, 1, 2}, {2, 2});  // Two equal labels need three frames.
    const Tensor loss = CtcLoss(x, labels, {.reduction = Reduction::kNone});
    b.Output("loss", loss);
    b.Output("zero", CtcLoss(x, labels, {.reduction = Reduction::kNone, .zero_infinity = true}));
    b.Output("gradient", Gradients(Sum(CtcLoss(x, labels, {.zero_infinity = true})), {x})[0]);
  });
  EXPECT_EQ(got["loss"][0], std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isfinite(got["loss"][1]));
  EXPECT_EQ(got["zero"][0], 0);
  EXPECT_EQ(got["zero"][1], got["loss"][1]);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(got["gradient"][i], 0);
  EXPECT_NE(got["gradient"][6], 0);
}

TEST_F(SequenceLossesTest, GreedyDecodingMergesAndDropsBlanks) {
  const std::vector<int32_t> best = {0, 1, 1, 0, 1, 2, 2, 2, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0};
  Values got = Compute([&](Builder& b) {
    const Tensor x = OneHot(Whole(b, best, {3, 6}), 3);
    const CtcDecoded all = CtcGreedyDecode(x);
    const CtcDecoded some = CtcGreedyDecode(x, Whole(b, {3, 6, 0}));
    b.Output("labels", all.labels);
    b.Output("lengths", all.lengths);
    b.Output("some", some.labels);
    b.Output("some lengths", some.lengths);
  });
  EXPECT_EQ(got["labels"],
            (std::vector<double>{1, 1, 2, -1, -1, -1, 2, 1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(got["lengths"], (std::vector<double>{3, 2, 0}));
  EXPECT_EQ(got["some"],
            (std::vector<double>{1, -1, -1, -1, -1, -1, 2, 1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(got["some lengths"], (std::vector<double>{1, 2, 0}));
}

// The scores of all paths of one example.
struct Paths {
  double log_sum, best;
  std::vector<int> best_path;
};
double CrfScore(const double* e, const std::vector<int>& path, int64_t tags, const std::vector<double>& a,
                const std::vector<double>& first, const std::vector<double>& last) {
  double score = first[static_cast<size_t>(path.front())] + last[static_cast<size_t>(path.back())];
  for (size_t t = 0; t < path.size(); ++t) {
    score += e[static_cast<int64_t>(t) * tags + path[t]];
    if (t > 0) score += a[static_cast<size_t>(path[t - 1] * tags + path[t])];
  }
  return score;
}

TEST_F(SequenceLossesTest, CrfIsTheSumOverPaths) {
  constexpr int64_t kTags = 3, kSteps = 5, kExamples = 3;
  const std::vector<double> e = Numbers(kExamples * kSteps * kTags, -1, 2), a = Numbers(kTags * kTags, -1, 1),
                            first = {0.3, -0.2, 0.5}, last = {-0.4, 0.1, 0.2};
  const std::vector<int32_t> lengths = {5, 1, 3}, tags = {0, 1, 2, 1, 0, 2, 7, 7, 7, 7, 1, 1, 0, -1, -1};
  Values got = Compute([&](Builder& b) {
    const Tensor x = Vector(b, e, {kExamples, kSteps, kTags});
    const Crf crf = {Vector(b, a, {kTags, kTags}), Vector(b, first), Vector(b, last)};
    b.Output("log", CrfLogLikelihood(x, Whole(b, tags, {kExamples, kSteps}), crf, Whole(b, lengths)));
    const CrfDecoded decoded = CrfDecode(x, crf, Whole(b, lengths));
    b.Output("tags", decoded.tags);
    b.Output("scores", decoded.scores);
    const Tensor one = SliceDim(x, 1, 0, 1);
    b.Output("one", CrfLogLikelihood(one, Whole(b, {2, 1, 0}, {3, 1}), {crf.transitions}));
    b.Output("one tags", CrfDecode(one, {crf.transitions}).tags);
  });
  for (size_t n = 0; n < kExamples; ++n) {
    const double* const emissions = &e[n * kSteps * kTags];
    double sum = 0, best = -1e9;
    std::vector<int> best_path;
    for (int64_t k = 0; k < CountPaths(kTags, lengths[n]); ++k) {
      const std::vector<int> path = PathOf(k, kTags, lengths[n]);
      const double score = CrfScore(emissions, path, kTags, a, first, last);
      sum += std::exp(score);
      if (score > best) best = score, best_path = path;
    }
    const std::vector<int> own(tags.begin() + static_cast<long>(n * kSteps),
                               tags.begin() + static_cast<long>(n * kSteps) + lengths[n]);
    EXPECT_NEAR(got["log"][n], CrfScore(emissions, own, kTags, a, first, last) - std::log(sum), 1e-11);
    EXPECT_NEAR(got["scores"][n], best, 1e-12);
    for (size_t t = 0; t < kSteps; ++t) {
      EXPECT_EQ(got["tags"][n * kSteps + t], t < best_path.size() ? best_path[t] : -1);
    }
    const auto row = emissions;
    const double all = std::log(std::exp(row[0]) + std::exp(row[1]) + std::exp(row[2]));
    EXPECT_NEAR(got["one"][n], row[2 - n] - all, 1e-12);
    EXPECT_EQ(got["one tags"][n], std::max_element(row, row + 3) - row);
  }
}

TEST_F(SequenceLossesTest, CrfHasTheGradientOfDifferences) {
  // Emissions, then transitions, then the scores of the first and the last tag.
  ExpectGradient(Numbers(2 * 4 * 3 + 9 + 6, -1, 1), {39}, [](Builder& b, const Tensor& x) {
    const Tensor e = Reshape(SliceDim(x, 0, 0, 24), {2, 4, 3});
    const Crf crf = {Reshape(SliceDim(x, 0, 24, 33), {3, 3}), SliceDim(x, 0, 33, 36), SliceDim(x, 0, 36, 39)};
    return Sum(CrfLogLikelihood(e, Whole(b, {0, 1, 2, 1, 2, 2, 0, 0}, {2, 4}), crf, Whole(b, {4, 2})));
  });
}

class SequenceErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(SequenceErrorTest, Says) { ExpectSays(GetParam(), "sequence_losses_test.cc:"); }
INSTANTIATE_TEST_SUITE_P(
    Cases, SequenceErrorTest,
    ::testing::Values(
        In("Logits", [](Builder& b) { CtcLoss(X(b), X(b, {2, 1}, I32)); },
           {"CtcLoss(f32[2,3], i32[2,1])", "takes floats [batch, time, classes]"}),
        In("Labels", [](Builder& b) { CtcLoss(X(b, {2, 3, 4}), X(b, {3, 1}, I32)); },
           {"takes labels i32 or i64 [2, labels]"}),
        In("Blank", [](Builder& b) { CtcLoss(X(b, {2, 3, 4}), X(b, {2, 1}, I32), {.blank = 4}); },
           {"has 4 classes and the blank 4"}),
        In("Lengths",
           [](Builder& b) { CtcLoss(X(b, {2, 3, 4}), X(b, {2, 1}, I32), {.input_lengths = X(b, {3}, I32)}); },
           {"takes lengths of type i32[2]"}),
        In("DecodeBlank", [](Builder& b) { CtcGreedyDecode(X(b, {2, 3, 4}), {}, -1); },
           {"CtcGreedyDecode(f32[2,3,4])", "has 4 classes and the blank -1"}),
        In("Transitions",
           [](Builder& b) { CrfLogLikelihood(X(b, {2, 3, 4}), X(b, {2, 3}, I32), {X(b, {4, 3})}); },
           {"CrfLogLikelihood", "takes transitions of type f32[4,4]"}),
        In("Ends", [](Builder& b) { CrfDecode(X(b, {2, 3, 4}), {X(b, {4, 4}), X(b, {3})}); },
           {"CrfDecode", "takes scores of the first and last tag of type f32[4]"}),
        In("Tags", [](Builder& b) { CrfLogLikelihood(X(b, {2, 3, 4}), X(b, {2}, I32), {X(b, {4, 4})}); },
           {"takes tags of type i32[2,3]"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
