// Compares every optimiser with a scalar reference in double over 100 steps; also with batches in parts.
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
// One step of the reference on values `w` with gradients `g`. `step` counts from 1.
using Reference =
    std::function<void(std::vector<double>& w, const std::vector<double>& g, double lr, int step)>;

double Rate(int step) { return 0.05 / (1 + 0.01 * step); }

void ExpectMatches(const Minimize& minimize, const Reference& reference) {
  Graph graph("g");
  Variable w = graph.Variable("w", F32, {5}, {.init = {.a = 0.75}});
  Variable frozen = graph.Variable("frozen", F32, {5}, {.init = {.a = 1}, .trainable = false});
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
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
        optim::Sgd{.learning_rate = lr}.Minimize(loss, {.hooks = {optim::ClipNorm(1.5), optim::Decay(0.1)}});
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
        optim::Momentum{.learning_rate = lr, .momentum = 0.8, .nesterov = nesterov}.Minimize(
            loss, {.hooks = {optim::Decay(0.01)}});
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
          optim::Adam{.learning_rate = lr, .beta2 = 0.99}.Minimize(loss, {.hooks = {optim::Decay(0.2)}});
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
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    optim::Sgd{.learning_rate = 1.0}.Minimize(Sum(Square(b.Read(w) - 2.0)), {.hooks = {optim::ClipNorm(1)}});
  });
  Session session = MustStart(graph);
  ASSERT_TRUE(session.Run("train", {}).ok());
  EXPECT_THAT(VariableFloats(session, "w"), ::testing::ElementsAre(2, 2, 2));
}

TEST(OptimTest, TwoOptimisersInOneFunctionUseTheValuesOfTheLoss) {
  Graph graph("g");
  Variable w = graph.Variable("w", F32, {}, {.init = {.a = 1}});
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor value = b.Read(w);
    Tensor first = Square(value), second = value * 3.0;
    optim::Sgd{.learning_rate = 0.1}.Minimize(first);
    optim::Sgd{.learning_rate = 0.1}.Minimize(second);
  });
  Session session = MustStart(graph);
  ASSERT_TRUE(session.Run("train", {}).ok());
  EXPECT_NEAR(VariableFloats(session, "w")[0], 1 - 0.1 * 2 - 0.1 * 3, 1e-6);
}

constexpr int64_t kBatch = 12, kPart = 3;

// Compares Minimize once per batch with Accumulate once per part and ApplyAccumulated once per batch.
template <typename Make, typename R>
void ExpectPartsEqualTheWhole(const std::string& name, const Make& make,
                              const optim::UpdateOptions<R>& options) {
  SCOPED_TRACE(name);
  auto build = [&](bool in_parts) {
    Graph graph("g", {.seed = 7});
    nn::Module net = nn::Sequential{nn::Linear(8), nn::Tanh(), nn::Linear(2)};
    const int64_t rows = in_parts ? kPart : kBatch;
    graph.Function("loss", Mode::kTrain, [&](Builder& b) {
      Tensor loss = MseLoss(net(b.Input("x", F32, {rows, 4})), b.Input("y", F32, {rows, 2}));
      if (in_parts) {
        make(0.0).Accumulate(loss, options);
      } else {
        make(b.Scalar("lr")).Minimize(loss, options);
      }
    });
    if (in_parts)
      graph.Function("update", Mode::kTrain,
                     [&](Builder& b) { make(b.Scalar("lr")).ApplyAccumulated(b, options); });
    return graph;
  };
  Session whole = MustStart(build(false)), parts = MustStart(build(true));
  for (int step = 0; step < 10; ++step) {
    std::vector<float> x(kBatch * 4), y(kBatch * 2);
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i * 37 + step * 11));
    for (size_t i = 0; i < y.size(); ++i) y[i] = std::cos(static_cast<float>(i * 17 + step * 5));
    HostTensor all_x = *HostTensor::FromVector<float>({kBatch, 4}, x);
    HostTensor all_y = *HostTensor::FromVector<float>({kBatch, 2}, y);
    const float lr = static_cast<float>(Rate(step));
    ASSERT_TRUE(whole.Run("loss", {{"x", all_x}, {"y", all_y}, {"lr", lr}}).ok());
    for (int64_t row = 0; row < kBatch; row += kPart) {
      HostTensor part_x = *HostTensor::View(F32, {kPart, 4}, x.data() + row * 4);
      HostTensor part_y = *HostTensor::View(F32, {kPart, 2}, y.data() + row * 2);
      ASSERT_TRUE(parts.Run("loss", {{"x", part_x}, {"y", part_y}}).ok());
    }
    ASSERT_TRUE(parts.Run("update", {{"lr", lr}}).ok());
  }
  for (const char* parameter : {"0.weight", "0.bias", "2.weight", "2.bias"}) {
    EXPECT_THAT(VariableFloats(parts, parameter),
                ::testing::Pointwise(::testing::FloatNear(2e-5f), VariableFloats(whole, parameter)))
        << parameter;
    EXPECT_THAT(VariableFloats(parts, name + "/accumulated/" + parameter), ::testing::Each(0)) << parameter;
  }
}

TEST(AccumulateTest, PartsOfABatchEqualTheWholeForEveryOptimiser) {
  for (double clip : {0.0, 0.1}) {
    for (bool scaled : {false, true}) {
      auto expect = [=]<typename Make>(const std::string& name, const Make& make, double decay = 0) {
        optim::UpdateOptions<std::invoke_result_t<Make, optim::Hyper>> options;
        if (scaled) options.loss_scale.emplace();
        if (clip > 0) options.hooks.push_back(optim::ClipNorm(clip));
        if (decay > 0) options.hooks.push_back(optim::Decay(decay));
        ExpectPartsEqualTheWhole(name, make, options);
      };
      using optim::Hyper;
      expect("sgd", [](const Hyper& lr) { return optim::Sgd{.learning_rate = lr}; }, 0.1);
      expect("momentum", [](const Hyper& lr) { return optim::Momentum{.learning_rate = lr}; });
      expect("nesterov",
             [](const Hyper& lr) { return optim::Momentum{.learning_rate = lr, .nesterov = true}; });
      expect("adam", [](const Hyper& lr) { return optim::Adam{.learning_rate = lr, .epsilon = 1e-4}; });
      expect("adamw", [](const Hyper& lr) { return optim::AdamW{.learning_rate = lr, .epsilon = 1e-4}; });
    }
  }
}

// w = 1 and loss = boost * w, whose gradient is `boost`.
Graph Accumulating(const std::optional<optim::LossScale>& scale) {
  Graph graph("g");
  Variable w = graph.Variable("w", F32, {}, {.init = {.a = 1}});
  const optim::Adam adam{.learning_rate = 0.5};
  const optim::UpdateOptions<optim::Adam> options = {.hooks = {optim::Decay(1)}, .loss_scale = scale};
  graph.Function("accumulate", Mode::kTrain,
                 [&](Builder& b) { adam.Accumulate(b.Read(w) * b.Scalar("boost"), options); });
  graph.Function("update", Mode::kTrain, [&](Builder& b) { adam.ApplyAccumulated(b, options); });
  return graph;
}

TEST(AccumulateTest, WithoutGradientsNothingChanges) {
  Session session = MustStart(Accumulating(std::nullopt));
  ASSERT_TRUE(session.Run("update", {}).ok());
  EXPECT_EQ(VariableFloats(session, "w")[0], 1);
  EXPECT_EQ((*session.ReadVariable("adam/step")->Span<int64_t>())[0], 0);
  ASSERT_TRUE(session.Run("accumulate", {{"boost", 1.0f}}).ok());
  ASSERT_TRUE(session.Run("update", {}).ok());
  EXPECT_NEAR(VariableFloats(session, "w")[0], 0.5, 1e-6);
  EXPECT_EQ((*session.ReadVariable("adam/step")->Span<int64_t>())[0], 1);
  ASSERT_TRUE(session.Run("update", {}).ok());
  EXPECT_NEAR(VariableFloats(session, "w")[0], 0.5, 1e-6);
}

TEST(AccumulateTest, OneBadPartDropsTheUpdateAndHalvesTheScale) {
  Session session = MustStart(Accumulating(optim::LossScale{.initial = 1024}));
  for (float boost : {1.0f, 1e38f, 1.0f}) ASSERT_TRUE(session.Run("accumulate", {{"boost", boost}}).ok());
  ASSERT_TRUE(session.Run("update", {}).ok());
  EXPECT_EQ(VariableFloats(session, "w")[0], 1);
  EXPECT_EQ(VariableFloats(session, "adam/loss_scale")[0], 512);
  EXPECT_EQ(VariableFloats(session, "adam/accumulated/w")[0], 0);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(session.Run("accumulate", {{"boost", 1.0f}}).ok());
  ASSERT_TRUE(session.Run("update", {}).ok());
  EXPECT_NEAR(VariableFloats(session, "w")[0], 0.5, 1e-6);
  EXPECT_EQ(VariableFloats(session, "adam/loss_scale")[0], 512);
}

TEST(ScheduleTest, Values) {
  optim::RateSchedule cosine = optim::WarmupCosine(1.0, 10, 110, 0.1);
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

TEST(ScheduleTest, NumbersThatMakeNoSenseAreErrors) {
  const struct {
    optim::RateSchedule schedule;
    std::string says;
  } cases[] = {
      {optim::ConstantRate(-1), "ConstantRate needs a rate of at least 0, got -1"},
      {optim::StepDecay(1, 0.5, 0), "StepDecay needs a number of steps of at least 1, got 0"},
      {optim::StepDecay(1, -0.5, 1), "StepDecay needs a factor of at least 0, got -0.5"},
      {optim::ExponentialDecay(NAN, 1), "ExponentialDecay needs a rate of at least 0, got nan"},
      {optim::PiecewiseRate({}), "PiecewiseRate needs a first boundary of 0"},
      {optim::PiecewiseRate({{1, 1.0}}), "PiecewiseRate needs a first boundary of 0"},
      {optim::PiecewiseRate({{0, 1.0}, {5, 0.5}, {5, 0.1}}), "PiecewiseRate needs boundaries that ascend"},
      {optim::PiecewiseRate({{0, 1.0}, {5, -1}}), "PiecewiseRate needs a rate of at least 0, got -1"},
      {optim::LinearDecay(1, 0), "LinearDecay needs a number of steps of at least 1, got 0"},
      {optim::WarmupCosine(1, -1, 10), "WarmupCosine needs a warm-up of at least 0, got -1"},
      {optim::WarmupCosine(1, 1, 10, INFINITY), "WarmupCosine needs a final rate of at least 0, got inf"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(c.schedule.status().code(), absl::StatusCode::kInvalidArgument) << c.says;
    EXPECT_THAT(std::string(c.schedule.status().message()), ::testing::HasSubstr(c.says));
    EXPECT_THAT(std::string(c.schedule.status().message()), ::testing::HasSubstr("optim_test.cc:"));
    EXPECT_TRUE(std::isnan(c.schedule(3)));
  }
  const optim::RateSchedule of_program = [](int64_t step) { return 1.0f / static_cast<float>(step + 1); };
  const optim::RateSchedule copy = of_program;
  EXPECT_FLOAT_EQ(copy(1), 0.5f);
  EXPECT_TRUE(copy.status().ok());
}

}  // namespace
}  // namespace sinter
