// Losses against their formulas (PyTorch's) in double precision, and gradients against finite differences.
#include "sinter/frontend/losses/label_losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sinter/frontend/ops/ops.h"
#include "sinter/tests/frontend/builder_values.h"
#include "sinter/tests/frontend/error_case.h"

namespace sinter {
namespace {

using LabelLossesTest = DeviceTest;

constexpr size_t kRows = 3, kClasses = 4;
const std::vector<double> kX = {0.3, -1.2, 2.1, 0.9, -0.4, 0.8, 0.1, -2, 1.5, 0.2, -0.6, 1.1};
const std::vector<double> kTarget = {1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0};
const std::vector<int32_t> kLabels = {2, 0, 3};

double LogSigmoidOf(double x) { return -std::log1p(std::exp(-x)); }

TEST_F(LabelLossesTest, Margins) {
  Values got = Compute([](Builder& b) {
    const Tensor x = Vector(b, kX, {3, 4}), t = Vector(b, kTarget, {3, 4}), labels = Whole(b, kLabels);
    b.Output("margin", MultiMarginLoss(x, labels, {.reduction = Reduction::kNone}));
    b.Output("square", MultiMarginLoss(x, labels, {.margin = 0.5, .power = 2}));
    b.Output("multi", MultiLabelMarginLoss(x, t, Reduction::kNone));
    b.Output("multi sum", MultiLabelMarginLoss(x, t, Reduction::kSum));
    b.Output("soft", MultiLabelSoftMarginLoss(x, t, Reduction::kNone));
  });
  double square = 0, multi_sum = 0;
  for (size_t r = 0; r < kRows; ++r) {
    const double* const x = &kX[r * kClasses];
    const double* const t = &kTarget[r * kClasses];
    double margin = 0, multi = 0, soft = 0;
    for (size_t i = 0; i < kClasses; ++i) {
      const double own = x[static_cast<size_t>(kLabels[r])];
      if (i != static_cast<size_t>(kLabels[r])) {
        margin += std::max(0.0, 1 - own + x[i]) / kClasses;
        square += std::pow(std::max(0.0, 0.5 - own + x[i]), 2) / kClasses / kRows;
      }
      soft -= (t[i] * LogSigmoidOf(x[i]) + (1 - t[i]) * LogSigmoidOf(-x[i])) / kClasses;
      for (size_t j = 0; j < kClasses; ++j) {
        if (t[j] == 1 && t[i] == 0) multi += std::max(0.0, 1 - (x[j] - x[i])) / kClasses;
      }
    }
    EXPECT_NEAR(got["margin"][r], margin, 1e-12);
    EXPECT_NEAR(got["multi"][r], multi, 1e-12);
    EXPECT_NEAR(got["soft"][r], soft, 1e-12);
    multi_sum += multi;
  }
  EXPECT_NEAR(got["square"][0], square, 1e-12);
  EXPECT_NEAR(got["multi sum"][0], multi_sum, 1e-12);
}

TEST_F(LabelLossesTest, DiceNegativeSamplingAndGaussian) {
  const std::vector<int32_t> samples = {0, 1, 4, 4, 2, 3};
  const std::vector<double> vectors = {0.1, 0.4,  -0.3, 0.8, 0.5, -0.9, 0.7, 0.2, -0.6, 0.3,
                                       1.1, -0.2, 0.6,  0.9, -1,  0.2,  0.3, 0.1, 0.5,  -0.4};
  Values got = Compute([&](Builder& b) {
    const Tensor x = Vector(b, kX, {3, 4}), t = Vector(b, kTarget, {3, 4});
    b.Output("dice", DiceLoss(Sigmoid(x), t, 0.5, Reduction::kNone));
    b.Output("negative", NegativeSamplingLoss(x, Whole(b, kLabels), Whole(b, samples, {3, 2}),
                                              Vector(b, vectors, {5, 4}), Reduction::kNone));
    b.Output("gauss", GaussianKlLoss(x, t, Reduction::kNone));
  });
  for (size_t r = 0; r < kRows; ++r) {
    const double* const x = &kX[r * kClasses];
    const double* const t = &kTarget[r * kClasses];
    double common = 0, both = 0;
    const auto score = [&](int32_t id) {
      double sum = 0;
      for (size_t i = 0; i < kClasses; ++i) sum += x[i] * vectors[static_cast<size_t>(id) * kClasses + i];
      return sum;
    };
    for (size_t i = 0; i < kClasses; ++i) {
      const double p = 1 / (1 + std::exp(-x[i]));
      common += p * t[i];
      both += p + t[i];
      const double want = -0.5 * (1 + t[i] - x[i] * x[i] - std::exp(t[i]));
      EXPECT_NEAR(got["gauss"][r * kClasses + i], want, 1e-12);
    }
    EXPECT_NEAR(got["dice"][r], 1 - (2 * common + 0.5) / (both + 0.5), 1e-12);
    const double negative = -LogSigmoidOf(score(kLabels[r])) - LogSigmoidOf(-score(samples[2 * r])) -
                            LogSigmoidOf(-score(samples[2 * r + 1]));
    EXPECT_NEAR(got["negative"][r], negative, 1e-12);
  }
}

TEST_F(LabelLossesTest, GradientsAreThoseOfDifferences) {
  ExpectGradient(kX, {3, 4}, [](Builder& b, const Tensor& x) {
    const Tensor t = Vector(b, kTarget, {3, 4}), labels = Whole(b, kLabels);
    const Tensor vectors = Concat({x, Vector(b, {0.2, 0.3, 0.1, -0.4}, {1, 4})}, 0);
    return MultiMarginLoss(x, labels) + MultiMarginLoss(x, labels, {.power = 2}) +
           MultiLabelMarginLoss(x, t) + MultiLabelSoftMarginLoss(x, t) + DiceLoss(Sigmoid(x), t) +
           NegativeSamplingLoss(x, labels, Whole(b, {0, 1, 2, 3, 3, 1}, {3, 2}), vectors) +
           GaussianKlLoss(x, x * 0.5);
  });
}

class LabelLossErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(LabelLossErrorTest, Says) { ExpectSays(GetParam(), "label_losses_test.cc:"); }
INSTANTIATE_TEST_SUITE_P(
    Cases, LabelLossErrorTest,
    ::testing::Values(
        In("MarginLabels", [](Builder& b) { MultiMarginLoss(X(b), X(b, {3}, I32)); },
           {"MultiMarginLoss(f32[2,3], i32[3])", "needs labels of type i32[2]"}),
        In("MarginInts", [](Builder& b) { MultiMarginLoss(X(b, {2, 3}, I32), X(b, {2}, I32)); },
           {"takes floats [..., classes]"}),
        In("MarginPower", [](Builder& b) { MultiMarginLoss(X(b), X(b, {2}, I32), {.power = 3}); },
           {"takes a power of 1 or 2, got 3"}),
        In("MarginMargin", [](Builder& b) { MultiMarginLoss(X(b), X(b, {2}, I32), {.margin = NAN}); },
           {"a margin"}),
        In("MultiTarget", [](Builder& b) { MultiLabelMarginLoss(X(b), X(b, {2})); },
           {"needs a target of type f32[2,3]; losses do not broadcast"}),
        In("SoftInts", [](Builder& b) { MultiLabelSoftMarginLoss(X(b, {2}, I32), X(b, {2}, I32)); },
           {"takes floats of rank 1 or more"}),
        In("DiceRank", [](Builder& b) { DiceLoss(X(b, {2}), X(b, {2})); },
           {"takes floats of rank 2 or more"}),
        In("DiceSmooth", [](Builder& b) { DiceLoss(X(b), X(b), -1); }, {"a smooth"}),
        In("NegativeX",
           [](Builder& b) { NegativeSamplingLoss(X(b, {2}), X(b, {2}, I32), X(b, {2, 1}, I32), X(b)); },
           {"takes floats [N, width]"}),
        In("NegativeVectors",
           [](Builder& b) { NegativeSamplingLoss(X(b), X(b, {2}, I32), X(b, {2, 1}, I32), X(b, {5, 4})); },
           {"takes vectors [ids, 3] of the type of x"}),
        In("NegativeTargets",
           [](Builder& b) { NegativeSamplingLoss(X(b), X(b, {3}, I32), X(b, {2, 1}, I32), X(b, {5, 3})); },
           {"needs targets of type i32[2]"}),
        In("NegativeSamples",
           [](Builder& b) { NegativeSamplingLoss(X(b), X(b, {2}, I32), X(b, {2}, I32), X(b, {5, 3})); },
           {"needs samples i32 or i64 [2, samples]"}),
        In("Gaussian", [](Builder& b) { GaussianKlLoss(X(b), X(b, {3})); },
           {"takes a mean and a log_variance that are floats of one type"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
