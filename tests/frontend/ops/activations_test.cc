// Activations, norms and variances against their formulas in double precision.
#include "sinter/frontend/ops/activations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ActivationsTest = DeviceTest;
using NormsTest = DeviceTest;

constexpr int64_t kCount = 400;

// Returns numbers from -8 to 8, with 0 among them.
std::vector<float> Numbers() {
  std::vector<float> numbers;
  for (int64_t i = 0; i < kCount; ++i) numbers.push_back(static_cast<float>((i * 37) % kCount - 200) / 25);
  return numbers;
}

struct Activation {
  std::string name;
  std::function<Tensor(const Tensor&)> make;
  std::function<double(double)> formula;
};

double SigmoidOf(double x) { return 1 / (1 + std::exp(-x)); }

const std::vector<Activation>& Activations() {
  static const std::vector<Activation> all = {
      {"HardTanh", [](const Tensor& x) { return HardTanh(x, -2, 3); },
       [](double x) { return std::min(std::max(x, -2.0), 3.0); }},
      {"Relu6", [](const Tensor& x) { return Relu6(x); },
       [](double x) { return std::min(std::max(x, 0.0), 6.0); }},
      {"HardSigmoid", [](const Tensor& x) { return HardSigmoid(x); },
       [](double x) { return std::min(std::max(x / 6 + 0.5, 0.0), 1.0); }},
      {"HardSwish", [](const Tensor& x) { return HardSwish(x); },
       [](double x) { return x * std::min(std::max(x / 6 + 0.5, 0.0), 1.0); }},
      {"Selu", [](const Tensor& x) { return Selu(x); },
       [](double x) { return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x)); }},
      {"Celu", [](const Tensor& x) { return Celu(x, 1.5); },
       [](double x) { return x > 0 ? x : 1.5 * std::expm1(x / 1.5); }},
      {"Mish", [](const Tensor& x) { return Mish(x); },
       [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {"Softsign", [](const Tensor& x) { return Softsign(x); },
       [](double x) { return x / (1 + std::fabs(x)); }},
      {"TanhShrink", [](const Tensor& x) { return TanhShrink(x); },
       [](double x) { return x - std::tanh(x); }},
      {"SoftShrink", [](const Tensor& x) { return SoftShrink(x, 0.7); },
       [](double x) { return x > 0.7    ? x - 0.7
                             : x < -0.7 ? x + 0.7
                                        : 0; }},
      {"HardShrink", [](const Tensor& x) { return HardShrink(x, 0.7); },
       [](double x) { return std::fabs(x) > 0.7 ? x : 0; }},
      {"Threshold", [](const Tensor& x) { return Threshold(x, 0.3, -5); },
       [](double x) { return x > 0.3 ? x : -5; }},
      {"PRelu", [](const Tensor& x) { return PRelu(x, x[0] * 0.0 + 0.2); },
       [](double x) { return x > 0 ? x : 0.2 * x; }},
  };
  return all;
}

TEST_F(ActivationsTest, FollowTheirFormulas) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    const Tensor x = b.Input("x", F32, {kCount});
    for (const Activation& a : Activations()) {
      const Tensor y = a.make(x);
      b.Output(a.name, y);
      b.Output(a.name + " gradient", Gradients(Sum(y), {x})[0]);
    }
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const std::vector<float> numbers = Numbers();
  const auto outputs = session.Run("f", {{"x", *HostTensor::FromVector<float>({kCount}, numbers)}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  for (const Activation& a : Activations()) {
    SCOPED_TRACE(a.name);
    const std::vector<float> y = ToFloats((*outputs)[a.name]),
                             slopes = ToFloats((*outputs)[a.name + " gradient"]);
    for (size_t i = 0; i < numbers.size(); ++i) {
      const double x = numbers[i], want = a.formula(x), step = 1e-4;
      EXPECT_NEAR(y[i], want, 2e-6 * std::max(1.0, std::fabs(want))) << x;
      const double left = (want - a.formula(x - step)) / step, right = (a.formula(x + step) - want) / step;
      if (std::fabs(left - right) > 1e-3) continue;  // A corner or a jump.
      EXPECT_NEAR(slopes[i], (left + right) / 2, 1e-4) << x;
    }
  }
}

TEST_F(ActivationsTest, GatedOnesHalveTheDimension) {
  Graph graph("g");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    const Tensor x = b.Input("x", F32, {1, 4, 1});
    b.Output("glu", Glu(x, 1));
    b.Output("swiglu", SwiGlu(x, -2));
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const HostTensor x = *HostTensor::FromVector<float>({1, 4, 1}, {1, -2, 3, 0.5});
  const std::vector<float> glu = Floats(session, "f", {{"x", x}}, "glu");
  const std::vector<float> swiglu = Floats(session, "f", {{"x", x}}, "swiglu");
  ASSERT_EQ(glu.size(), 2u);
  EXPECT_NEAR(glu[0], SigmoidOf(3), 1e-6);
  EXPECT_NEAR(glu[1], -2 * SigmoidOf(0.5), 1e-6);
  EXPECT_NEAR(swiglu[0], SigmoidOf(1) * 3, 1e-6);
  EXPECT_NEAR(swiglu[1], -2 * SigmoidOf(-2) * 0.5, 1e-6);
}

// [2, 6, 4] in groups of channels.
std::vector<double> GroupNormOf(const std::vector<float>& x, int64_t groups, double scale_step) {
  std::vector<double> y(x.size());
  const size_t size = 24 / static_cast<size_t>(groups);
  for (size_t begin = 0; begin < x.size(); begin += size) {
    double mean = 0, variance = 0;
    for (size_t i = begin; i < begin + size; ++i) mean += x[i] / static_cast<double>(size);
    for (size_t i = begin; i < begin + size; ++i)
      variance += (x[i] - mean) * (x[i] - mean) / static_cast<double>(size);
    for (size_t i = begin; i < begin + size; ++i) {
      const double channel = static_cast<double>(i % 24 / 4);
      y[i] = (x[i] - mean) / std::sqrt(variance + 1e-5) * (1 + scale_step * channel) + channel;
    }
  }
  return y;
}

TEST_F(NormsTest, GroupsOfChannels) {
  for (const int64_t groups : {1, 2, 3, 6}) {
    SCOPED_TRACE(groups);
    Graph graph("g");
    graph.Function("f", Mode::kEval, [&](Builder& b) {
      const Tensor channel = b.Iota(F32, {6});
      b.Output("y", GroupNorm(b.Input("x", F32, {2, 6, 4}), groups, channel * 0.5 + 1.0, channel));
    });
    Session session = MustStart(graph, {.device = TestDevice()});
    std::vector<float> x(48);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 29) % 17) + 100;
    const std::vector<float> y =
        Floats(session, "f", {{"x", *HostTensor::FromVector<float>({2, 6, 4}, x)}}, "y");
    const std::vector<double> want = GroupNormOf(x, groups, 0.5);
    for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], want[i], 2e-5) << i;
  }
}

TEST_F(NormsTest, LayersHaveScalesAndOffsets) {
  Graph graph("g");
  nn::Sequential net{nn::GroupNorm(2).Named("group"), nn::InstanceNorm().Named("instance"),
                     nn::PRelu({.per_channel = true}).Named("slope"), nn::LocalResponseNorm(3),
                     nn::HardSwish()};
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    const Tensor x = b.Input("x", F32, {2, 6, 4});
    const Tensor loss = Mean(Square(net(x)));
    b.Output("loss", loss);
    optim::Sgd{.learning_rate = 0.1}.Minimize(loss);
  });
  std::vector<std::string> names;
  for (const Variable& variable : graph.variables()) names.push_back(variable.name());
  EXPECT_THAT(names, ::testing::ElementsAre("group.scale", "group.offset", "instance.scale",
                                            "instance.offset", "slope.slope"));
  Session session = MustStart(graph, {.device = TestDevice()});
  std::vector<float> x(48);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 29) % 17);
  const HostTensor input = *HostTensor::FromVector<float>({2, 6, 4}, x);
  const float first = Floats(session, "f", {{"x", input}}, "loss")[0];
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(session.Run("f", {{"x", input}}).ok());
  EXPECT_LT(Floats(session, "f", {{"x", input}}, "loss")[0], first);
}

TEST_F(NormsTest, OfChannelsAroundAndOfVectors) {
  Graph graph("g");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    const Tensor x = b.Input("x", F32, {1, 5});
    b.Output("local", LocalResponseNorm(x, 4, {.alpha = 0.5, .beta = 0.6, .k = 2}));
    b.Output("normal", Normalize(x));
    b.Output("zero", Normalize(x * 0.0));
    b.Output("cosine", CosineSimilarity(x, Reverse(x, {1})));
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const std::vector<float> x = {1, -2, 3, 0.5, -1.5};
  const HostTensor input = *HostTensor::FromVector<float>({1, 5}, x);
  const std::vector<float> local = Floats(session, "f", {{"x", input}}, "local");
  double squares = 0, product = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    squares += x[i] * x[i];
    product += x[i] * x[4 - i];
    double sum = 0;
    // Two in front and one behind, as in PyTorch.
    for (size_t j = i < 2 ? 0 : i - 2; j <= std::min<size_t>(i + 1, 4); ++j) sum += x[j] * x[j];
    EXPECT_NEAR(local[i], x[i] / std::pow(2 + 0.5 / 4 * sum, 0.6), 1e-5) << i;
  }
  const std::vector<float> normal = Floats(session, "f", {{"x", input}}, "normal");
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(normal[i], x[i] / std::sqrt(squares), 1e-6);
  EXPECT_THAT(Floats(session, "f", {{"x", input}}, "zero"), ::testing::Each(0));
  EXPECT_NEAR(Floats(session, "f", {{"x", input}}, "cosine")[0], product / squares, 1e-6);
}

TEST_F(NormsTest, Variances) {
  Graph graph("g");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    const Tensor x = b.Input("x", F32, {2, 3});
    b.Output("var", Var(x, {1}));
    b.Output("sample", Var(x, {-1}, {.correction = 1, .keep_dims = true}));
    b.Output("std", Std(x, {}, {.correction = 1}));
    EXPECT_EQ(Var(x, {-1}, {.keep_dims = true}).ToString(), "f32[2,1]");
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const HostTensor x = *HostTensor::FromVector<float>({2, 3}, {1, 2, 6, -4, 0, 4});
  EXPECT_THAT(Floats(session, "f", {{"x", x}}, "var"),
              ::testing::Pointwise(::testing::FloatEq(), {14.0f / 3, 32.0f / 3}));
  EXPECT_THAT(Floats(session, "f", {{"x", x}}, "sample"),
              ::testing::Pointwise(::testing::FloatEq(), {7.0f, 16.0f}));
  EXPECT_NEAR(Floats(session, "f", {{"x", x}}, "std")[0], std::sqrt(59.5 / 5), 1e-6);
}

class ActivationErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(ActivationErrorTest, Says) { ExpectSays(GetParam(), "activations_test.cc:"); }

INSTANTIATE_TEST_SUITE_P(
    Cases, ActivationErrorTest,
    ::testing::Values(
        In("MishInt", [](Builder& b) { Mish(X(b, {2}, I32)); },
           {"Mish(i32[2]) takes floats", "Cast(x, F32) first"}),
        In("CeluAlpha", [](Builder& b) { Celu(X(b), 0); }, {"Celu(f32[2,3])", "an alpha"}),
        In("ShrinkLambda", [](Builder& b) { SoftShrink(X(b), -1); }, {"a lambda"}),
        In("HardShrinkLambda", [](Builder& b) { HardShrink(X(b), -1); },
           {"HardShrink(f32[2,3])", "a lambda"}),
        In("PReluInt", [](Builder& b) { PRelu(X(b, {2}, I32), X(b, {}, I32)); }, {"PRelu(i32[2], i32[])"}),
        In("GluOdd", [](Builder& b) { Glu(X(b)); },
           {"Glu(f32[2,3]) needs an even size of dimension 1, to halve it"}),
        In("GluDim", [](Builder& b) { SwiGlu(X(b), 2); }, {"SwiGlu(f32[2,3])", "no dimension 2"}),
        In("GroupNormGroups", [](Builder& b) { GroupNorm(X(b), 2, X(b, {3}), X(b, {3})); },
           {"has 2 groups, which must divide the 3 channels"}),
        In("GroupNormScale", [](Builder& b) { GroupNorm(X(b), 1, X(b, {3}), X(b, {2})); },
           {"needs parameters of type f32[3]"}),
        In("GroupNormRank", [](Builder& b) { nn::GroupNorm(1)(X(b, {3})); },
           {"takes a tensor of rank 2 or more"}),
        In("LocalResponseNormSize", [](Builder& b) { LocalResponseNorm(X(b), 0); }, {"at least 1 channel"}),
        In("NormalizeDim", [](Builder& b) { Normalize(X(b), 2); }, {"no dimension 2"}),
        In("CosineTypes", [](Builder& b) { CosineSimilarity(X(b), X(b, {2, 3}, F64)); },
           {"one element type"}),
        In("VarOfFew", [](Builder& b) { Var(X(b, {2, 1}), {1}, {.correction = 1}); },
           {"Var(f32[2,1]) has a correction of 1, which must be at least 0 and below the 1 elements"}),
        In("StdInt", [](Builder& b) { Std(X(b, {2}, I32)); }, {"Std: Var(i32[2]) takes floats"})),
    ErrorCaseName);

TEST(StdTest, HasNoGradientWhereAllElementsAreEqual) {
  Graph graph("equal");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {2, 2});
    b.Output("std", Std(x, {1}));
    b.Output("g", Gradients(Sum(Std(x, {1})), {x})[0]);
  });
  Session session = MustStart(graph);
  const HostTensor x = *HostTensor::FromVector<float>({2, 2}, {3, 3, 1, 5});
  EXPECT_EQ(Floats(session, "f", {{"x", x}}, "std"), (std::vector<float>{0, 2}));
  EXPECT_EQ(Floats(session, "f", {{"x", x}}, "g"), (std::vector<float>{0, 0, -0.5, 0.5}));
}

}  // namespace
}  // namespace sinter
