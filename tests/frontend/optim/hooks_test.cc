// Compares each hook with its formula, alone and in an order.
#include "sinter/frontend/optim/hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::FloatNear;
using ::testing::Pointwise;
using Values = std::vector<float>;

const Values kWeight = {1, -2, 0, 3}, kBias = {0.5, -0.25};
const Values kWeightGradient = {3, -4, 0.5, 12}, kBiasGradient = {0.125, -2};

// Returns the gradients after the hooks, from Sgd with a rate of 1.
struct Hooked {
  Values weight, bias;
};
Hooked After(const std::vector<optim::Hook>& hooks) {
  Graph graph("g");
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Variable weight = b.MakeVariable("weight", F32, {2, 2}), bias = b.MakeVariable("bias", F32, {2});
    b.Assign(weight, b.Constant(*HostTensor::FromVector<float>({2, 2}, kWeight)));
    b.Assign(bias, b.Constant(*HostTensor::FromVector<float>({2}, kBias)));
    const Tensor of_weight = b.Constant(*HostTensor::FromVector<float>({2, 2}, kWeightGradient));
    const Tensor of_bias = b.Constant(*HostTensor::FromVector<float>({2}, kBiasGradient));
    b.Scalar("hyper");
    optim::Sgd{.learning_rate = 1}.Apply({weight, bias}, {of_weight, of_bias}, {.hooks = hooks});
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  SINTER_CHECK(session.Run("train", {{"hyper", 1.0f}}).ok());
  const auto gradient = [&](const Values& before, const std::string& name) {
    Values result = VariableFloats(session, name);
    for (size_t i = 0; i < result.size(); ++i) result[i] = before[i] - result[i];
    return result;
  };
  return {gradient(kWeight, "weight"), gradient(kBias, "bias")};
}

Values Each(const Values& g, const Values& p, const std::function<double(double g, double p)>& change) {
  Values result;
  for (size_t i = 0; i < g.size(); ++i) result.push_back(static_cast<float>(change(g[i], p[i])));
  return result;
}

double SquaresOf(const Values& v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return sum;
}

void Expect(const Hooked& actual, const std::function<double(double g, double p)>& change,
            const std::function<double(double g, double p)>& of_bias) {
  EXPECT_THAT(actual.weight, Pointwise(FloatNear(2e-6f), Each(kWeightGradient, kWeight, change)));
  EXPECT_THAT(actual.bias, Pointwise(FloatNear(2e-6f), Each(kBiasGradient, kBias, of_bias)));
}
void Expect(const Hooked& actual, const std::function<double(double g, double p)>& change) {
  Expect(actual, change, change);
}

const auto kSame = [](double g, double) { return g; };
double SignOf(double p) { return p > 0 ? 1 : p < 0 ? -1 : 0; }
const double kNorm = std::sqrt(SquaresOf(kWeightGradient) + SquaresOf(kBiasGradient));

using HooksTest = DeviceTest;

TEST_F(HooksTest, DecayAndLassoOfAllOrSomeParameters) {
  const auto decay = [](double g, double p) { return g + 0.5 * p; };
  Expect(After({optim::Decay(0.5)}), decay);
  Expect(After({optim::Decay(0.5, Glob("weight"))}), decay, kSame);
  const auto lasso = [](double g, double p) { return g + 0.25 * SignOf(p); };
  Expect(After({optim::Lasso(0.25)}), lasso);
  Expect(After({optim::Lasso(0.25, RankBelow(2))}), kSame, lasso);
}

TEST_F(HooksTest, ClippingByNormAndByValue) {
  Expect(After({optim::ClipNorm(2)}), [](double g, double) { return g * 2 / kNorm; });
  Expect(After({optim::ClipNorm(100)}), kSame);
  Expect(After({optim::ClipValue(1)}), [](double g, double) { return std::clamp(g, -1.0, 1.0); });
}

TEST_F(HooksTest, TheOrderIsThatOfTheList) {
  Expect(After({optim::ClipNorm(2), optim::Decay(0.5)}),
         [](double g, double p) { return g * 2 / kNorm + 0.5 * p; });
  double squares = 0;
  for (const auto& [g, p] : {std::pair(&kWeightGradient, &kWeight), std::pair(&kBiasGradient, &kBias)}) {
    squares += SquaresOf(Each(*g, *p, [](double x, double w) { return x + 0.5 * w; }));
  }
  Expect(After({optim::Decay(0.5), optim::ClipNorm(2)}),
         [=](double g, double p) { return (g + 0.5 * p) * 2 / std::sqrt(squares); });
}

TEST_F(HooksTest, LarsScalesEachParameterByItsNorms) {
  const auto lars = [](const Values& of_g, const Values& of_p) {
    const double g_norm = std::sqrt(SquaresOf(of_g)), p_norm = std::sqrt(SquaresOf(of_p));
    const double factor = 0.1 * p_norm / (g_norm + 0.5 * p_norm);
    return [=](double g, double p) { return factor * (g + 0.5 * p); };
  };
  Expect(After({optim::Lars({.trust = 0.1, .decay = 0.5})}), lars(kWeightGradient, kWeight),
         lars(kBiasGradient, kBias));
  Expect(After({optim::Lars({.trust = 0.1, .decay = 0.5, .of = Glob("weight")})}),
         lars(kWeightGradient, kWeight), kSame);
}

TEST_F(HooksTest, OnesOwnSeesEveryGradient) {
  const auto center = [](optim::Gradients& g) {
    for (size_t i = 0; i < g.size(); ++i) {
      if (g[i].rank() > 1) g.Set(i, g[i] - Mean(g[i], {1}, {.keep_dims = true}));
    }
  };
  const Hooked actual = After({center});
  EXPECT_THAT(actual.weight, Pointwise(FloatNear(1e-6f), {3.5f, -3.5f, -5.75f, 5.75f}));
  EXPECT_THAT(actual.bias, Pointwise(FloatNear(1e-6f), kBiasGradient));
  const auto by_norm = [](optim::Gradients& g) {
    const Tensor norm = g.Norm();
    for (size_t i = 0; i < g.size(); ++i) g.Set(i, g[i] / g.Near(norm, i) * g.value(i));
  };
  Expect(After({by_norm}), [](double g, double p) { return g / kNorm * p; });
}

TEST_F(HooksTest, NoiseHasItsVarianceAndDecays) {
  constexpr int64_t kSize = 4000;
  Graph graph("g", {.seed = 3});
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Variable w = b.MakeVariable("w", F32, {kSize});
    b.Assign(w, b.Zeros(F32, {kSize}));
    optim::Sgd{.learning_rate = 1}.Apply({w}, {b.Full(F32, {kSize}, 2)}, {.hooks = {optim::Noise(0.25)}});
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  for (int t = 0; t < 3; ++t) {
    ASSERT_TRUE(session.Run("train", {}).ok());
    double mean = 0, squares = 0;
    for (const float w : VariableFloats(session, "w")) {
      mean += -w / kSize;
      squares += (-w - 2.0) * (-w - 2.0) / kSize;
    }
    const double variance = 0.25 / std::pow(1 + t, 0.55);
    EXPECT_NEAR(mean, 2, 4 * std::sqrt(variance / kSize)) << t;  // 4 deviations.
    EXPECT_NEAR(squares / variance, 1, 4 * std::sqrt(2.0 / kSize)) << t;
  }
}

class HookErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(HookErrorTest, Says) { ExpectSays(GetParam(), "hooks_test.cc:"); }

// A case whose update has this hook.
ErrorCase HookWith(const std::string& name, const optim::Hook& hook, const std::vector<std::string>& says) {
  return In(
      name, [=](Builder& b) { optim::Adam{}.Minimize(Sum(Square(nn::Linear(2)(X(b)))), {.hooks = {hook}}); },
      says);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, HookErrorTest,
    ::testing::Values(
        HookWith("Decay", optim::Decay(-1),
                 {"optim::Adam: Minimize(f32[]) has a hook, Decay, that needs a rate of at least 0, got -1"}),
        HookWith("Lasso", optim::Lasso(NAN), {"Lasso", "a rate of at least 0, got nan"}),
        HookWith("ClipNorm", optim::ClipNorm(0), {"ClipNorm", "a norm above 0, got 0"}),
        HookWith("ClipValue", optim::ClipValue(-1), {"ClipValue", "a value above 0, got -1"}),
        HookWith("NoiseEta", optim::Noise(-1), {"Noise", "an eta of at least 0"}),
        HookWith("NoiseGamma", optim::Noise(1, -1), {"Noise", "a gamma of at least 0"}),
        HookWith("LarsTrust", optim::Lars({.trust = -1}), {"Lars", "a trust of at least 0"}),
        HookWith("LarsDecay", optim::Lars({.decay = -1}), {"Lars", "a decay of at least 0"}),
        HookWith("Nothing", std::function<void(optim::Gradients&)>(), {"has a hook without a function"}),
        HookWith("Shape", [](optim::Gradients& g) { g.Set(0, Sum(g[0])); },
                 {"has a hook that changes the gradient of \"weight\" from f32[3,2] to f32[]",
                  "elements only"}),
        HookWith("Own", [](optim::Gradients& g) { g.Fail("has too few rows"); },
                 {"optim::Adam: Minimize(f32[]) has too few rows"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
