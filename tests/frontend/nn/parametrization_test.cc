// Weight and spectral normalisation against their formulas, and initial values by fans.
#include "sinter/frontend/nn/parametrization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sinter/frontend/nn/transformer.h"
#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/nn/module_values.h"

namespace sinter {
namespace {

using ParametrizationTest = DeviceTest;

TEST_F(ParametrizationTest, WeightNormScalesEachOutput) {
  const std::vector<double> x = Waves(8);
  ModuleRun run([&](Builder& b) { b.Output("y", nn::WeightNorm(nn::Linear(3))(Vector(b, x, {2, 4}))); });
  std::vector<double> w = run.variables["weight"];
  const std::vector<double> scale = run.variables["weight_scale"];
  ASSERT_EQ(scale.size(), 3u);
  for (size_t o = 0; o < 3; ++o) {
    EXPECT_NEAR(scale[o], 1, 1e-12);  // LeCun's variance 1 / 4 times 4 inputs.
    double norm = 0;
    for (size_t i = 0; i < 4; ++i) norm += w[i * 3 + o] * w[i * 3 + o];
    for (size_t i = 0; i < 4; ++i) w[i * 3 + o] *= scale[o] / std::sqrt(norm);
  }
  ExpectNear(run.outputs["y"], Product(x, w, 4, 3));
}

TEST_F(ParametrizationTest, WeightNormOfConvolutionsHasANormForEachChannel) {
  ModuleRun run([](Builder& b) {
    const nn::Conv2d conv(5, 2, {.bias = false, .weight = nn::Uniform(-1, 2)});
    b.Output("y", nn::WeightNorm(conv)(Vector(b, Waves(2 * 3 * 4), {1, 2, 3, 4})));
  });
  ASSERT_EQ(run.variables["weight_scale"].size(), 5u);
  EXPECT_NEAR(run.variables["weight_scale"][0], std::sqrt(8.0), 1e-12);  // The mean square is 1.
}

TEST_F(ParametrizationTest, SpectralNormDividesByTheLargestSingularValue) {
  Graph graph("g", {.seed = 3});
  nn::Module net = nn::SpectralNorm(nn::Linear(2, {.bias = false}));
  graph.Function("train", Mode::kTrain, [&](Builder& b) { b.Output("y", net(b.Ones(F64, {1, 3}))); });
  graph.Function("eval", Mode::kEval, [&](Builder& b) { b.Output("y", net(b.Ones(F64, {1, 3}))); });
  Session session = MustStart(graph, {.device = TestDevice()});
  const std::vector<double> before = Doubles(*session.ReadVariable("weight_u"));
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(session.Run("train", {}).ok());
  EXPECT_NE(Doubles(*session.ReadVariable("weight_u")), before);
  const std::vector<double> w = Doubles(*session.ReadVariable("weight"));  // [3, 2].
  // The eigenvalues of w^T w.
  double a = 0, d = 0, c = 0;
  for (size_t i = 0; i < 3; ++i)
    a += w[2 * i] * w[2 * i], d += w[2 * i + 1] * w[2 * i + 1], c += w[2 * i] * w[2 * i + 1];
  const double sigma = std::sqrt((a + d) / 2 + std::sqrt((a - d) * (a - d) / 4 + c * c));
  const auto outputs = session.Run("eval", {});
  ASSERT_TRUE(outputs.ok());
  const std::vector<double> y = Doubles((*outputs)["y"]);
  EXPECT_NEAR(y[0], (w[0] + w[2] + w[4]) / sigma, 1e-9);
  EXPECT_NEAR(y[1], (w[1] + w[3] + w[5]) / sigma, 1e-9);
}

TEST_F(ParametrizationTest, ReachesChildrenThatAreMadeLater) {
  ModuleRun run([](Builder& b) {
    const Tensor x = Vector(b, Waves(12), {1, 3, 4});
    b.Output("y", nn::WeightNorm(nn::Mlp({.hidden = 5}))(x));
    nn::Module frozen = nn::MultiHeadAttention(2).Named("frozen");
    frozen.Freeze();
    b.Output("z", frozen(x));
    EXPECT_TRUE(frozen.parameters().empty());
    EXPECT_EQ(frozen.state().size(), 4u);
  });
  EXPECT_EQ(run.variables["up.weight_scale"].size(), 5u);
  EXPECT_EQ(run.variables["down.weight_scale"].size(), 4u);
}

TEST_F(ParametrizationTest, GradientsAreThoseOfDifferences) {
  // Gradients towards the weight's own parameters, by a step of plain descent.
  for (const bool spectral : {false, true}) {
    Graph graph("g", {.seed = 5});
    nn::Module net = spectral ? nn::SpectralNorm(nn::Linear(2)) : nn::WeightNorm(nn::Linear(2));
    const auto loss = [&](Builder& b) {
      const Tensor y = Sum(Square(net(Vector(b, Waves(6), {2, 3}))));
      return y;
    };
    graph.Function("loss", Mode::kEval, [&](Builder& b) { b.Output("y", loss(b)); });
    graph.Function("gradient", Mode::kEval, [&](Builder& b) {
      const Tensor y = loss(b);
      b.Output("g", Gradients(y, {b.Read(net.parameters(Glob("weight"))[0])})[0]);
    });
    Session session = MustStart(graph, {.device = TestDevice()});
    const std::vector<double> g = Doubles((*session.Run("gradient", {}))["g"]);
    const std::vector<double> w = Doubles(*session.ReadVariable("weight"));
    // In training u follows the weight; here it is fixed, so the derivative of sigma is exact only for
    // WeightNorm, and for SpectralNorm with v that also depends on the weight only nearly.
    for (size_t i = 0; i < w.size() && !spectral; ++i) {
      const auto at = [&](double step) {
        std::vector<double> moved = w;
        moved[i] += step;
        EXPECT_TRUE(session.WriteVariable("weight", *HostTensor::FromVector<double>({3, 2}, moved)).ok());
        return Doubles((*session.Run("loss", {}))["y"])[0];
      };
      EXPECT_NEAR(g[i], (at(1e-5) - at(-1e-5)) / 2e-5, 1e-6);
    }
    if (!spectral) continue;
    // The loss does not change if the weight is scaled: the gradient is orthogonal to it.
    double along = 0;
    for (size_t i = 0; i < w.size(); ++i) along += g[i] * w[i];
    EXPECT_NEAR(along, 0, 1e-10);
  }
}

TEST(VarianceScalingTest, FansAndGains) {
  using Fan = nn::Initializer::Fan;
  EXPECT_NEAR(nn::VarianceScaling(2, Fan::kOut).Resolve(8, 32).b, 0.25, 1e-15);
  EXPECT_NEAR(nn::VarianceScaling(2).Resolve(8, 32).b, 0.5, 1e-15);
  const VariableInit uniform = nn::VarianceScaling(1, Fan::kAverage, nn::Spread::kUniform).Resolve(4, 8);
  EXPECT_NEAR(uniform.b, std::sqrt(0.5), 1e-15);
  EXPECT_NEAR(uniform.a.real(), -std::sqrt(0.5), 1e-15);
  EXPECT_EQ(nn::Gain(nn::Nonlinearity::kLinear), 1);
  EXPECT_EQ(nn::Gain(nn::Nonlinearity::kSigmoid), 1);
  EXPECT_NEAR(nn::Gain(nn::Nonlinearity::kTanh), 5.0 / 3, 1e-15);
  EXPECT_NEAR(nn::Gain(nn::Nonlinearity::kRelu), std::sqrt(2.0), 1e-15);
  EXPECT_NEAR(nn::Gain(nn::Nonlinearity::kLeakyRelu, 0.2), std::sqrt(2 / 1.04), 1e-15);
  EXPECT_EQ(nn::Gain(nn::Nonlinearity::kSelu), 0.75);
}

class ParametrizationErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(ParametrizationErrorTest, Says) { ExpectSays(GetParam(), "parametrization_test.cc:"); }
INSTANTIATE_TEST_SUITE_P(
    Cases, ParametrizationErrorTest,
    ::testing::Values(In("AfterUse",
                         [](Builder& b) {
                           nn::Linear linear(2);
                           linear(X(b));
                           nn::WeightNorm(linear);
                         },
                         {"WeightNorm", "comes after the first use of Linear(2) at "}),
                      In("WeightDim", [](Builder& b) { nn::WeightNorm(nn::Linear(2), {.dim = 2})(X(b)); },
                         {"has a weight f32[3,2] without a dimension 2"}),
                      In("SpectralDim",
                         [](Builder& b) { nn::SpectralNorm(nn::Linear(2), {.dim = -3})(X(b)); },
                         {"without a dimension -3"}),
                      In("Iterations",
                         [](Builder& b) { nn::SpectralNorm(nn::Linear(2), {.iterations = 0})(X(b)); },
                         {"makes 0 iterations; expected 1 or more"}),
                      In("Epsilon", [](Builder& b) { nn::SpectralNorm(nn::Linear(2), {.epsilon = 0})(X(b)); },
                         {"an epsilon"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
