// Continuous distributions against SciPy's; divergences against integrals by scipy.integrate.quad.
#include "sinter/frontend/distributions/continuous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "sinter/frontend/ops/special.h"
#include "sinter/tests/frontend/distributions/golden.h"
#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

namespace dist = distributions;

struct Case {
  std::string name;
  std::function<void(Builder&, const Golden&)> build;
  Golden golden;
};
void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

// A case of a distribution whose parameters are f64 constants.
template <typename D, typename... P>
Case Of(std::string name, Golden golden, P... p) {
  return {std::move(name), [=](Builder& b, const Golden& g) { OutputAll(b, D(b.Full(F64, {}, p)...), g); },
          std::move(golden)};
}

class ContinuousTest : public DeviceTest, public testing::WithParamInterface<Case> {};
TEST_P(ContinuousTest, LikeSciPy) {
  const Case& c = GetParam();
  Values got = Compute([&](Builder& b) { c.build(b, c.golden); });
  ExpectGolden(got, c.golden);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ContinuousTest,
    testing::Values(Of<dist::Normal>("Normal",
                                     {{-3.0, 0.5, 4.0},
                                      {-3.143335713764618, -1.612085713764618, -3.143335713764618},
                                      {0.040059156863817086, 0.5, 0.9599408431361829},
                                      2.112085713764618,
                                      0.5,
                                      4.0},
                                     0.5, 2),
                    Of<dist::LogNormal>("LogNormal",
                                        {{0.2, 1.0, 5.0},
                                         {-2.673186025240713, -0.6541003239598179, -3.921321549169199},
                                         {0.0031882175383802043, 0.3341175708976246, 0.969301502399577},
                                         1.3622635892659403,
                                         1.7246083823764355,
                                         1.8806817386743677},
                                        0.3, 0.7),
                    Of<dist::Uniform>("Uniform",
                                      {{-0.5, 0.0, 1.9},
                                       {-1.0986122886681098, -1.0986122886681098, -1.0986122886681098},
                                       {0.16666666666666666, 0.3333333333333333, 0.9666666666666667},
                                       1.0986122886681098,
                                       0.5,
                                       0.75},
                                      -1, 2),
                    Of<dist::Laplace>("Laplace",
                                      {{-3.0, 0.5, 4.0},
                                       {-3.136294361119891, -1.3862943611198906, -3.136294361119891},
                                       {0.08688697172522257, 0.5, 0.9131130282747775},
                                       2.386294361119891,
                                       0.5,
                                       8.0},
                                      0.5, 2),
                    Of<dist::Cauchy>("Cauchy",
                                     {{-3.0, 0.5, 4.0},
                                      {-3.2396756140652014, -1.8378770664093453, -3.2396756140652014},
                                      {0.1652493405385679, 0.5, 0.834750659461432},
                                      3.224171427529236},
                                     0.5, 2),
                    Of<dist::Gumbel>("Gumbel",
                                     {{-3.0, 0.5, 4.0},
                                      {-4.697749856565676, -1.6931471805599454, -2.6169211240103905},
                                      {0.003168165149053243, 0.36787944117144233, 0.8404868737475784},
                                      2.270362845461478,
                                      1.6544313298030657,
                                      6.579736267392906},
                                     0.5, 2),
                    Of<dist::StudentT>("StudentT",
                                       {{-3.0, 0.5, 4.0},
                                        {-3.0969902555197892, -1.682620771819447, -3.0969902555197892},
                                        {},
                                        2.4140373012424123},
                                       3.5, 0.5, 2),
                    Of<dist::Exponential>("Exponential",
                                          {{0.0, 0.5, 4.0},
                                           {0.916290731874155, -0.333709268125845, -9.083709268125846},
                                           {0.0, 0.7134952031398099, 0.9999546000702375},
                                           0.083709268125845,
                                           0.4,
                                           0.16000000000000003},
                                          2.5),
                    Of<dist::Gamma>("Gamma",
                                    {{0.01, 0.5, 4.0},
                                     {-1.5951171885985342, -0.08170108479883231, -7.376092005622946},
                                     {},
                                     0.5419180583073334,
                                     0.68,
                                     0.272},
                                    1.7, 2.5),
                    Of<dist::Beta>("Beta",
                                   {{0.01, 0.5, 0.99},
                                    {1.931450925346693, -0.6580035438842311, -6.799276789909028},
                                    {},
                                    -0.7177619118995102,
                                    0.1935483870967742,
                                    0.03807009974366132},
                                   0.6, 2.5)),
    [](const auto& info) { return info.param.name; });

using VectorsTest = DeviceTest;

TEST_F(VectorsTest, MultivariateNormalAndDirichlet) {
  Values got = Compute([](Builder& b) {
    const dist::MultivariateNormal normal(Vector(b, {0.5, -1}), Vector(b, {2, 0.5}));
    b.Output("normal", normal.LogProb(Vector(b, {1, -0.5})));
    b.Output("normal entropy", normal.Entropy());
    b.Output("normal sample", normal.Sample({1000}));
    const dist::Dirichlet dirichlet(Vector(b, {1.5, 0.7, 3}));
    b.Output("dirichlet", dirichlet.LogProb(Vector(b, {0.2, 0.1, 0.7})));
    b.Output("entropy", dirichlet.Entropy());
    b.Output("mean", dirichlet.Mean());
    b.Output("variance", dirichlet.Variance());
    b.Output("sample", dirichlet.Sample({kDrawn}));
    b.Output("kl", KlDivergence(dirichlet, dist::Dirichlet(Vector(b, {2, 1, 1}))));
    b.Output("normal kl", KlDivergence(normal, dist::MultivariateNormal(0.0, Vector(b, {1, 1}))));
  });
  EXPECT_NEAR(got["normal"][0], -2.3691270664093453, 1e-12);
  EXPECT_NEAR(got["normal entropy"][0], 2.8378770664093453, 1e-12);
  EXPECT_EQ(got["normal sample"].size(), 2000u);
  EXPECT_NEAR(got["dirichlet"][0], 1.8231146565972445, 1e-12);
  EXPECT_NEAR(got["entropy"][0], -1.4714736114491052, 1e-12);
  EXPECT_NEAR(got["kl"][0], 1.192658297624312, 1e-12);
  EXPECT_NEAR(got["normal kl"][0], 0.5 * (4 + 0.25 + 0.25 + 1 - 2) - std::log(2.0) - std::log(0.5), 1e-12);
  const std::vector<double> mean = {0.28846154, 0.13461538, 0.57692308},
                            variance = {0.03310508, 0.01878937, 0.0393682};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(got["mean"][i], mean[i], 1e-8);
    EXPECT_NEAR(got["variance"][i], variance[i], 1e-8);
    double sum = 0;
    for (size_t n = i; n < got["sample"].size(); n += 3) sum += got["sample"][n];
    EXPECT_NEAR(sum / kDrawn, mean[i], 4 * std::sqrt(variance[i] / kDrawn));
  }
}

using KlDivergenceTest = DeviceTest;

TEST_F(KlDivergenceTest, LikeIntegrals) {
  Values got = Compute([](Builder& b) {
    const auto p = [&](double x) { return b.Full(F64, {}, x); };
    b.Output("normal", KlDivergence(dist::Normal(p(0.5), p(2)), dist::Normal(p(-1), p(1.5))));
    b.Output("lognormal", KlDivergence(dist::LogNormal(p(0.5), p(2)), dist::LogNormal(p(-1), p(1.5))));
    b.Output("laplace", KlDivergence(dist::Laplace(p(0.5), p(2)), dist::Laplace(p(-1), p(1.5))));
    b.Output("cauchy", KlDivergence(dist::Cauchy(p(0.5), p(2)), dist::Cauchy(p(-1), p(1.5))));
    b.Output("gumbel", KlDivergence(dist::Gumbel(p(0.5), p(2)), dist::Gumbel(p(-1), p(1.5))));
    b.Output("exponential", KlDivergence(dist::Exponential(p(2.5)), dist::Exponential(p(0.8))));
    b.Output("gamma", KlDivergence(dist::Gamma(p(1.7), p(2.5)), dist::Gamma(p(2.2), p(0.8))));
    b.Output("beta", KlDivergence(dist::Beta(p(1.6), p(2.5)), dist::Beta(p(2.1), p(0.8))));
    b.Output("uniform", KlDivergence(dist::Uniform(p(0), p(3)), dist::Uniform(p(-1), p(4))));
    b.Output("outside", KlDivergence(dist::Uniform(p(0), p(5)), dist::Uniform(p(-1), p(4))));
  });
  EXPECT_NEAR(got["normal"][0], 0.601206816437108, 1e-10);
  EXPECT_NEAR(got["lognormal"][0], 0.601206816437108, 1e-10);
  EXPECT_NEAR(got["laplace"][0], 0.3421399978695719, 1e-10);
  EXPECT_NEAR(got["cauchy"][0], 0.18924199963852834, 1e-10);
  EXPECT_NEAR(got["gumbel"][0], 0.3427348874402538, 1e-10);
  EXPECT_NEAR(got["exponential"][0], 0.4594342831883648, 1e-10);
  EXPECT_NEAR(got["gamma"][0], 1.4392366497753608, 1e-10);
  EXPECT_NEAR(got["beta"][0], 0.9327279513560658, 1e-10);
  EXPECT_NEAR(got["uniform"][0], 0.5108256237659907, 1e-12);
  EXPECT_EQ(got["outside"][0], std::numeric_limits<double>::infinity());
}

using ContinuousEdgesTest = DeviceTest;

TEST_F(ContinuousEdgesTest, OutsideOfTheSupport) {
  Values got = Compute([](Builder& b) {
    const auto p = [&](double x) { return b.Full(F64, {}, x); };
    const Tensor x = Vector(b, {-1, 0.5});
    const auto both = [&](const std::string& name, const Tensor& log_prob) {
      b.Output(name, log_prob);
      b.Output(name + " slope", Gradients(Sum(log_prob[1]), {x})[0]);
    };
    both("uniform", dist::Uniform(p(0), p(1)).LogProb(x) + x);
    both("exponential", dist::Exponential(p(2)).LogProb(x));
    both("gamma", dist::Gamma(p(2), p(1)).LogProb(x));
    both("beta", dist::Beta(p(2), p(2)).LogProb(x) + x);
    both("lognormal", dist::LogNormal(p(0), p(1)).LogProb(x));
    b.Output("quantile", dist::Normal(p(1), p(2)).Quantile(Vector(b, {0.5, 0.9599408431361829})));
    b.Output("t", dist::StudentT(Vector(b, {0.5, 1.5, 4}), 0.0, 1.0).Variance());
  });
  for (const std::string name : {"uniform", "exponential", "gamma", "beta", "lognormal"}) {
    EXPECT_EQ(got[name][0], -std::numeric_limits<double>::infinity()) << name;
    EXPECT_TRUE(std::isfinite(got[name][1])) << name;
    EXPECT_EQ(got[name + " slope"][0], 0) << name;
    EXPECT_TRUE(std::isfinite(got[name + " slope"][1])) << name;
  }
  EXPECT_NEAR(got["quantile"][0], 1, 1e-12);
  EXPECT_NEAR(got["quantile"][1], 4.5, 1e-9);
  EXPECT_TRUE(std::isnan(got["t"][0]) && std::isnan(got["t"][1]));
  EXPECT_NEAR(got["t"][2], 2, 1e-12);
}

using ContinuousGradientTest = DeviceTest;

TEST_F(ContinuousGradientTest, LikeFiniteDifferences) {
  ExpectGradient({0.4, 1.3}, {2}, [](Builder& b, const Tensor& p) {
    const Tensor x = Vector(b, {0.3, 0.8});
    const dist::Gamma gamma(p[0], p[1]), other(p[1], p[0]);
    const dist::Beta beta(p[0], p[1]);
    return Sum(gamma.LogProb(x) + beta.LogProb(x) + dist::StudentT(p[0], p[1], 1.0).LogProb(x)) +
           gamma.Entropy() + beta.Entropy() + KlDivergence(gamma, other);
  });
  // Reparametrised samples.
  ExpectGradient({0.4, 1.3}, {2}, [](Builder& b, const Tensor& p) {
    const RandomOptions at{.key = NewKey(b, "k")};
    return Sum(Square(dist::Normal(p[0], p[1]).Sample({3}, at)) + dist::Laplace(p[0], p[1]).Sample({3}, at) +
               dist::Gumbel(p[0], p[1]).Sample({3}, at) + dist::Uniform(p[0], p[1]).Sample({3}, at) +
               dist::LogNormal(p[0], p[1]).Sample({3}, at) + dist::Exponential(p[1]).Sample({3}, at) +
               dist::Cauchy(p[0], p[1]).Sample({3}, at) + dist::Gamma(2.0, p[1]).Sample({3}, at));
  });
}

using ContinuousShapesTest = DeviceTest;

TEST_F(ContinuousShapesTest, ParametersBroadcastAndNumbersAreF32) {
  Graph graph("g");
  graph.Function("f", Mode::kEval, [](Builder& b) {
    const dist::Normal wide(b.Zeros(F64, {3, 1}), b.Ones(F64, {2}));
    EXPECT_EQ(wide.batch_shape(), (Shape{3, 2}));
    EXPECT_EQ(wide.Sample({5}).shape(), (Shape{5, 3, 2}));
    EXPECT_EQ(wide.LogProb(0.5).shape(), (Shape{3, 2}));
    const dist::Normal standard(0, 1);
    EXPECT_EQ(standard.Sample({4}).dtype(), F32);
    const dist::Dirichlet vectors(b.Ones(F32, {4, 3}));
    EXPECT_EQ(vectors.batch_shape(), (Shape{4}));
    EXPECT_EQ(vectors.LogProb(b.Full(F32, {3}, 0.3)).shape(), (Shape{4}));
  });
  EXPECT_TRUE(graph.status().ok()) << graph.status();
}

class ContinuousErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(ContinuousErrorTest, Says) { ExpectSays(GetParam(), "continuous_test.cc:"); }
INSTANTIATE_TEST_SUITE_P(
    Cases, ContinuousErrorTest,
    ::testing::Values(
        In("Types", [](Builder& b) { dist::Normal(X(b, {2}), X(b, {2}, F64)); },
           {"Normal(f32[2], f64[2])", "takes parameters that are floats of one element type"}),
        In("Shapes", [](Builder& b) { dist::Normal(X(b, {2}), X(b, {3})); },
           {"Normal(f32[2], f32[3])", "whose shapes do not broadcast"}),
        In("Rank", [](Builder& b) { dist::Dirichlet{X(b, {})}; }, {"takes parameters of rank 1 or more"}),
        In("ValueType", [](Builder& b) { dist::Normal(X(b, {2}), 1.0).LogProb(X(b, {2}, F64)); },
           {"Normal::LogProb", "takes values of the parameters' type, f32"}),
        In("ValueShape", [](Builder& b) { dist::Normal(X(b, {2}), 1.0).LogProb(X(b, {3})); },
           {"takes values that broadcast with f32[2]"}),
        In("VectorShape", [](Builder& b) { dist::Dirichlet(X(b, {2})).LogProb(X(b, {1})); },
           {"takes values that broadcast with f32[2]"}),
        In("Pair",
           [](Builder& b) { KlDivergence(dist::Normal(X(b, {2}), 1.0), dist::Normal(X(b, {2}, F64), 1.0)); },
           {"KlDivergence", "takes distributions of one element type whose shapes broadcast"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
