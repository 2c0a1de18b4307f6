// Every optimiser against a scalar reference in double precision over 100 steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

constexpr int kSteps = 100;
// loss = sum(c * (w - target)^2): the gradient of element i is 2 c_i (w_i - target_i).
const std::vector<float> kTarget = {1, -2, 0.5, 3, -0.25};
const std::vector<float> kScale = {1, 0.1, 3, 0.5, 2};

using Minimize = std::function<void(const Tensor& loss, const Tensor& lr)>;
// One step of the reference: values and their gradients, the step counted from 1.
using Reference =
    std::function<void(std::vector<double>& w, const std::vector<double>& g, double lr, int step)>;

double Rate(int step) { return 0.05 / (1 + 0.01 * step); }

void ExpectMatches(const Minimize& minimize, const Reference& reference) {
  Graph graph("g");
  Variable w = graph.Variable("w", F32, {5}, {.init = {.a = 0.75}});
  Variable frozen = graph.Variable("frozen", F32, {5}, {.init = {.a = 1}, .trainable = false});
  graph.Function("train", [&](Builder& b) {
    Tensor target = b.Constant(*HostTensor::FromVector<float>({5}, kTarget));
    Tensor scale = b.Constant(*HostTensor::FromVector<float>({5}, kScale));
    Tensor loss = Sum(scale * Square(b.Read(w) * b.Read(frozen) - target));
    minimize(loss, b.Scalar("lr"));
    b.Output("loss", loss);
  });
  Session session = MustStart(graph);
  std::vector<double> expected(5, 0.75);
  for (int step = 0; step < kSteps; ++step) {
    ASSERT_TRUE(session.Run("train", {{"lr", static_cast<float>(Rate(step))}}).ok());
    std::vector<double> g(5);
    for (int i = 0; i < 5; ++i) g[i] = 2 * kScale[i] * (expected[i] - kTarget[i]);
    reference(expected, g, Rate(step), step + 1);
  }
  std::vector<float> actual = VariableFloats(session, "w");
  for (int i = 0; i < 5; ++i)
    EXPECT_NEAR(actual[i], expected[i], 2e-5 * std::max(1.0, std::abs(expected[i]))) << i;
  EXPECT_THAT(VariableFloats(session, "frozen"), ::testing::Each(1));
}

void Clip(std::vector<double>& g, double limit) {
  double norm = 0;
  for (double v : g) norm += v * v;
  double factor = std::min(1.0, limit / std::sqrt(norm));
  for (double& v : g) v *= factor;
}

TEST(OptimTest, Sgd) {
  ExpectMatches([](const Tensor& loss, const Tensor& lr) { optim::Sgd{.learning_rate = lr}.Minimize(loss); },
                [](auto& w, const auto& g, double lr, int) {
                  for (int i = 0; i < 5; ++i) w[i] -= lr * g[i];
                });
}

TEST(OptimTest, SgdWithDecayAndClipping) {
  ExpectMatches(
      [](const Tensor& loss, const Tensor& lr) {
        optim::Sgd{.learning_rate = lr, .weight_decay = 0.1, .clip_norm = 1.5}.Minimize(loss);
      },
      [](auto& w, auto g, double lr, int) {
        Clip(g, 1.5);
        for (int i = 0; i < 5; ++i) w[i] -= lr * (g[i] + 0.1 * w[i]);
      });
}

void ExpectMomentum(bool nesterov) {
  std::vector<double> v(5, 0);
  ExpectMatches(
      [=](const Tensor& loss, const Tensor& lr) {
        optim::Momentum{.learning_rate = lr, .momentum = 0.8, .nesterov = nesterov, .weight_decay = 0.01}
            .Minimize(loss);
      },
      [=](auto& w, const auto& g, double lr, int) mutable {
        for (int i = 0; i < 5; ++i) {
          double gradient = g[i] + 0.01 * w[i];
          v[i] = 0.8 * v[i] + gradient;
          w[i] -= lr * (nesterov ? gradient + 0.8 * v[i] : v[i]);
        }
      });
}

TEST(OptimTest, Momentum) { ExpectMomentum(/*nesterov=*/false); }
TEST(OptimTest, Nesterov) { ExpectMomentum(/*nesterov=*/true); }

void ExpectAdam(bool decoupled) {
  std::vector<double> m(5, 0), v(5, 0);
  ExpectMatches(
      [=](const Tensor& loss, const Tensor& lr) {
        if (decoupled) {
          optim::AdamW{.learning_rate = lr, .beta2 = 0.99, .weight_decay = 0.2}.Minimize(loss);
        } else {
          optim::Adam{.learning_rate = lr, .beta2 = 0.99, .weight_decay = 0.2}.Minimize(loss);
        }
      },
      [=](auto& w, const auto& g, double lr, int step) mutable {
        for (int i = 0; i < 5; ++i) {
          double gradient = decoupled ? g[i] : g[i] + 0.2 * w[i];
          m[i] = 0.9 * m[i] + 0.1 * gradient;
          v[i] = 0.99 * v[i] + 0.01 * gradient * gradient;
          double update =
              m[i] / (1 - std::pow(0.9, step)) / (std::sqrt(v[i] / (1 - std::pow(0.99, step))) + 1e-8);
          w[i] -= lr * (update + (decoupled ? 0.2 * w[i] : 0));
        }
      });
}

TEST(OptimTest, Adam) { ExpectAdam(/*decoupled=*/false); }
TEST(OptimTest, AdamW) { ExpectAdam(/*decoupled=*/true); }

TEST(OptimTest, ClippingAZeroGradientChangesNothing) {
  Graph graph("g");
  Variable w = graph.Variable("w", F32, {3}, {.init = {.a = 2}});
  graph.Function("train", [&](Builder& b) {
    optim::Sgd{.learning_rate = 1.0, .clip_norm = 1.0}.Minimize(Sum(Square(b.Read(w) - 2.0)));
  });
  Session session = MustStart(graph);
  ASSERT_TRUE(session.Run("train", {}).ok());
  EXPECT_THAT(VariableFloats(session, "w"), ::testing::ElementsAre(2, 2, 2));
}

TEST(OptimTest, TwoOptimisersInOneFunctionUseTheValuesOfTheLoss) {
  Graph graph("g");
  Variable w = graph.Variable("w", F32, {}, {.init = {.a = 1}});
  graph.Function("train", [&](Builder& b) {
    Tensor value = b.Read(w);
    Tensor first = Square(value), second = value * 3.0;
    optim::Sgd{.learning_rate = 0.1}.Minimize(first);
    optim::Sgd{.learning_rate = 0.1}.Minimize(second);
  });
  Session session = MustStart(graph);
  ASSERT_TRUE(session.Run("train", {}).ok());
  EXPECT_NEAR(VariableFloats(session, "w")[0], 1 - 0.1 * 2 - 0.1 * 3, 1e-6);
}

TEST(ScheduleTest, Values) {
  optim::Schedule cosine = optim::WarmupCosine(1.0, 10, 110, 0.1);
  EXPECT_FLOAT_EQ(cosine(0), 0.1f);
  EXPECT_FLOAT_EQ(cosine(9), 1.0f);
  EXPECT_FLOAT_EQ(cosine(10), 1.0f);
  EXPECT_FLOAT_EQ(cosine(60), 0.55f);
  EXPECT_FLOAT_EQ(cosine(500), 0.1f);
  EXPECT_FLOAT_EQ(optim::StepDecay(1.0, 0.5, 10)(25), 0.25f);
  EXPECT_FLOAT_EQ(optim::LinearDecay(1.0, 100)(50), 0.5f);
  EXPECT_FLOAT_EQ(optim::PiecewiseRate({{0, 1.0}, {5, 0.1}})(5), 0.1f);
  EXPECT_FLOAT_EQ(optim::ConstantRate(0.3)(99), 0.3f);
}

}  // namespace
}  // namespace sinter
