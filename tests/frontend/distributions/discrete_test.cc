// Discrete distributions against SciPy's and sums over their values.
#include "sinter/frontend/distributions/discrete.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sinter/tests/frontend/distributions/golden.h"
#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

namespace dist = distributions;

using DiscreteTest = DeviceTest;

TEST_F(DiscreteTest, CountsLikeSciPy) {
  const Golden bernoulli = {{0, 1}, {-0.35667494393873245, -1.2039728043259361}, {}, 0.6108643020548935, 0.3,
                            0.21};
  Values got = Compute(
      [&](Builder& b) { OutputAll(b, dist::Bernoulli::OfProbabilities(b.Full(F64, {}, 0.3)), bernoulli); });
  ExpectGolden(got, bernoulli);
  const Golden geometric = {{0, 1, 7},
                            {-1.2039728043259361, -1.5606477482646686, -3.700697411897063},
                            {},
                            2.036214340182978,
                            2.3333333333333335,
                            7.777777777777779};
  got = Compute([&](Builder& b) { OutputAll(b, dist::Geometric(b.Full(F64, {}, 0.3)), geometric); });
  ExpectGolden(got, geometric);
  const Golden binomial = {{0, 1, 5}, {-1.7833747196936622, -1.0212346676467658, -6.01986402162968},
                           {},        1.413614855283445,
                           1.5,       1.05};
  got = Compute([&](Builder& b) { OutputAll(b, dist::Binomial(5, b.Full(F64, {}, 0.3)), binomial); });
  ExpectGolden(got, binomial);
  const Golden poisson = {{0, 1, 7}, {-3.5, -2.247237031504632, -3.2558205815978383}, {}, NAN, 3.5, 3.5};
  got = Compute([&](Builder& b) { OutputAll(b, dist::Poisson(b.Full(F64, {}, 3.5)), poisson); });
  ExpectGolden(got, poisson);
}

TEST_F(DiscreteTest, Classes) {
  Values got = Compute([](Builder& b) {
    const Tensor logits = Log(Vector(b, {0.5, 0.3, 0.2})) + 3.0;
    const dist::Categorical c(logits);
    b.Output("log_prob", c.LogProb(Whole(b, {0, 1, 2, 0})));
    b.Output("entropy", c.Entropy());
    b.Output("mode", c.Mode());
    b.Output("p", c.Probabilities());
    b.Output("sample", c.Sample({kDrawn}));
    const Tensor other = Log(Vector(b, {0.2, 0.2, 0.6}));
    b.Output("kl", KlDivergence(c, dist::Categorical(other)));
    const dist::OneHotCategorical one(logits);
    b.Output("one log_prob", one.LogProb(Vector(b, {0, 1, 0})));
    b.Output("one entropy", one.Entropy());
    b.Output("one mean", Sum(one.Sample({kDrawn}), {0}) * (1.0 / kDrawn));
    b.Output("one variance", one.Variance());
    b.Output("one kl", KlDivergence(one, dist::OneHotCategorical(other)));
  });
  const std::vector<double> p = {0.5, 0.3, 0.2};
  const std::vector<size_t> classes = {0, 1, 2, 0};
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(got["log_prob"][i], std::log(p[classes[i]]), 1e-12);
  EXPECT_NEAR(got["entropy"][0], 1.0296530140645737, 1e-12);
  EXPECT_NEAR(got["one entropy"][0], 1.0296530140645737, 1e-12);
  EXPECT_EQ(got["mode"][0], 0);
  EXPECT_NEAR(got["kl"][0], 0.3600624406359049, 1e-12);
  EXPECT_NEAR(got["one kl"][0], 0.3600624406359049, 1e-12);
  EXPECT_NEAR(got["one log_prob"][0], std::log(0.3), 1e-12);
  std::vector<double> counts(3, 0);
  for (const double c : got["sample"]) counts[static_cast<size_t>(c)] += 1.0 / kDrawn;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(got["p"][i], p[i], 1e-12);
    EXPECT_NEAR(counts[i], p[i], 0.015);
    EXPECT_NEAR(got["one mean"][i], p[i], 0.015);
    EXPECT_NEAR(got["one variance"][i], p[i] * (1 - p[i]), 1e-12);
  }
}

TEST_F(DiscreteTest, Divergences) {
  Values got = Compute([](Builder& b) {
    const auto p = [&](double x) { return b.Full(F64, {}, x); };
    b.Output("bernoulli", KlDivergence(dist::Bernoulli::OfProbabilities(p(0.3)),
                                       dist::Bernoulli::OfProbabilities(p(0.6))));
    b.Output("geometric", KlDivergence(dist::Geometric(p(0.3)), dist::Geometric(p(0.6))));
    b.Output("binomial", KlDivergence(dist::Binomial(5, p(0.3)), dist::Binomial(5, p(0.6))));
    b.Output("poisson", KlDivergence(dist::Poisson(p(3.5)), dist::Poisson(p(2))));
  });
  EXPECT_NEAR(got["bernoulli"][0], 0.18378689738681225, 1e-12);
  EXPECT_NEAR(got["geometric"][0], 0.6126229912887898, 1e-11);
  EXPECT_NEAR(got["binomial"][0], 0.9189344869340608, 1e-12);
  EXPECT_NEAR(got["poisson"][0], 0.45865525777397975, 1e-12);
}

TEST_F(DiscreteTest, Gradients) {
  ExpectGradient({0.4, 0.7, -0.2}, {3}, [](Builder& b, const Tensor& p) {
    const dist::Categorical c(p);
    const Tensor unit = Sigmoid(p);
    const Tensor counts = Vector(b, {1, 0, 3});
    return Sum(c.LogProb(Whole(b, {0, 2}))) + c.Entropy() + Sum(dist::Bernoulli(p).LogProb(1)) +
           Sum(dist::Geometric(unit).LogProb(counts) + dist::Binomial(4, unit).LogProb(counts) +
               dist::Poisson(unit).LogProb(counts) + dist::Binomial(4, unit).Entropy());
  });
}

class DiscreteErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(DiscreteErrorTest, Says) { ExpectSays(GetParam(), "discrete_test.cc:"); }
INSTANTIATE_TEST_SUITE_P(
    Cases, DiscreteErrorTest,
    ::testing::Values(
        In("ClassType", [](Builder& b) { dist::Categorical(X(b)).LogProb(X(b)); },
           {"Categorical::LogProb(f32[2,3], f32[2,3])", "takes i32 or i64 classes"}),
        In("ClassShape", [](Builder& b) { dist::Categorical(X(b)).LogProb(X(b, {3}, I32)); },
           {"takes classes whose shape ends with that of i32[2]"}),
        In("Tries", [](Builder& b) { dist::Binomial(5000, X(b)); }, {"makes 5000 tries; expected 0 to 4096"}),
        In("Counts", [](Builder& b) { KlDivergence(dist::Binomial(5, X(b)), dist::Binomial(4, X(b))); },
           {"takes binomials of one count, got 5 and 4"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
