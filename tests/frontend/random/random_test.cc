// Random numbers: their moments, their distribution by Kolmogorov and Smirnov's test, and keys. Seeds are
// fixed, so that each test always gives the same numbers.
#include "sinter/frontend/random/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "sinter/frontend/control/loops.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/tests/frontend/builder_values.h"
#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/moments.h"

namespace sinter {
namespace {

using RandomTest = DeviceTest;
constexpr int64_t kCount = 40000;

// The largest distance of the numbers' distribution from `cdf`, times the root of their number. It is above
// 1.95 for one sample of 1000.
double Distance(std::vector<double> x, const std::function<double(double)>& cdf) {
  std::ranges::sort(x);
  double largest = 0;
  const auto n = static_cast<double>(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double p = cdf(x[i]), below = static_cast<double>(i) / n;
    largest = std::max({largest, std::abs(p - below), std::abs(p - below - 1 / n)});
  }
  return largest * std::sqrt(n);
}

double NormalCdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

// The regularised incomplete gamma function, by its series.
double GammaCdf(double a, double x) {
  if (x <= 0) return 0;
  double term = 1 / a, sum = term;
  for (int n = 1; n < 10000 && term > sum * 1e-17; ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return sum * std::exp(a * std::log(x) - x - std::lgamma(a));
}

// The integral of a density over [0, x], by Simpson's rule on a grid of angles that ends softly at 0 and 1.
double BetaCdf(double a, double b, double x) {
  const int kSteps = 2000;
  const double end = std::asin(std::sqrt(x));
  const auto f = [&](double t) {
    return 2 * std::pow(std::sin(t), 2 * a - 1) * std::pow(std::cos(t), 2 * b - 1);
  };
  double sum = 0;
  for (int i = 0; i <= kSteps; ++i) {
    sum += f(end * i / kSteps) * (i == 0 || i == kSteps ? 1 : i % 2 ? 4 : 2);
  }
  return sum * end / kSteps / 3 * std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b));
}

TEST_F(RandomTest, ContinuousDistributions) {
  Values got = Compute([](Builder& b) {
    const Shape shape = {kCount};
    b.Output("exponential", RandomExponential(b, F32, shape, 2.5));
    b.Output("laplace", RandomLaplace(b, F32, shape, 1, 0.5));
    b.Output("gumbel", RandomGumbel(b, F32, shape, -1, 2));
    b.Output("cauchy", RandomCauchy(b, F32, shape, 1, 2));
    b.Output("truncated", RandomTruncatedNormal(b, F32, shape, 1, 2, {.low = -0.5, .high = 1}));
    b.Output("right", RandomTruncatedNormal(b, F64, shape, 0, 1, {.low = 1, .high = 1e9}));
    b.Output("t", RandomStudentT(b.Full(F32, shape, 1)));  // A Cauchy distribution.
  });
  EXPECT_LT(Distance(got["exponential"], [](double x) { return -std::expm1(-2.5 * x); }), 1.95);
  EXPECT_LT(Distance(got["laplace"],
                     [](double x) {
                       const double z = (x - 1) / 0.5;
                       return z < 0 ? 0.5 * std::exp(z) : 1 - 0.5 * std::exp(-z);
                     }),
            1.95);
  EXPECT_LT(Distance(got["gumbel"], [](double x) { return std::exp(-std::exp(-(x + 1) / 2)); }), 1.95);
  EXPECT_LT(Distance(got["cauchy"], [](double x) { return 0.5 + std::atan((x - 1) / 2) / std::numbers::pi; }),
            1.95);
  EXPECT_LT(Distance(got["t"], [](double x) { return 0.5 + std::atan(x) / std::numbers::pi; }), 1.95);
  const double low = NormalCdf(-0.5), high = NormalCdf(1);
  EXPECT_LT(
      Distance(got["truncated"], [&](double x) { return (NormalCdf((x - 1) / 2) - low) / (high - low); }),
      1.95);
  EXPECT_GE(*std::ranges::min_element(got["truncated"]), 0);
  EXPECT_LE(*std::ranges::max_element(got["truncated"]), 3);
  EXPECT_LT(Distance(got["right"], [](double x) { return 1 - (1 - NormalCdf(x)) / (1 - NormalCdf(1)); }),
            1.95);
}

TEST_F(RandomTest, GammaForSmallAndLargeConcentrations) {
  const std::vector<double> concentrations = {0.1, 0.9, 1, 2.5, 50};
  Values got = Compute([&](Builder& b) {
    for (size_t i = 0; i < concentrations.size(); ++i) {
      b.Output(std::to_string(i), RandomGamma(b.Full(F32, {kCount}, concentrations[i]), 2.0));
    }
    b.Output("f64", RandomGamma(b.Full(F64, {kCount}, 3)));
    b.Output("nan", RandomGamma(b.Full(F32, {2}, -1)));
  });
  for (size_t i = 0; i < concentrations.size(); ++i) {
    SCOPED_TRACE(concentrations[i]);
    const double a = concentrations[i];
    const std::vector<double>& x = got[std::to_string(i)];
    EXPECT_LT(Distance(x, [&](double value) { return GammaCdf(a, 2 * value); }), 1.95);
    EXPECT_NEAR(MeanOf(x), a / 2, 4 * std::sqrt(a / 4 / kCount));
  }
  EXPECT_LT(Distance(got["f64"], [](double x) { return GammaCdf(3, x); }), 1.95);
  EXPECT_TRUE(std::isnan(got["nan"][0]));
}

TEST_F(RandomTest, LogGammaOfTinyConcentrations) {
  // x^a of a gamma number x of a small concentration a is nearly uniform.
  Values got = Compute([](Builder& b) { b.Output("x", RandomLogGamma(b.Full(F32, {kCount}, 1e-4))); });
  EXPECT_LT(Distance(got["x"], [](double log_x) { return std::min(1.0, std::exp(1e-4 * log_x)); }), 1.95);
}

TEST_F(RandomTest, BetaAndDirichlet) {
  Values got = Compute([](Builder& b) {
    b.Output("beta", RandomBeta(b.Full(F32, {4000}, 2), b.Full(F32, {4000}, 3.5)));
    b.Output("dirichlet", RandomDirichlet(BroadcastTo(Vector(b, {1, 2, 5}, {}, F32), {4000, 3})));
  });
  EXPECT_LT(Distance(got["beta"], [](double x) { return BetaCdf(2, 3.5, x); }), 1.95);
  std::vector<double> parts[3];
  for (size_t i = 0; i < got["dirichlet"].size(); ++i) parts[i % 3].push_back(got["dirichlet"][i]);
  for (size_t row = 0; row < 4000; ++row) {
    EXPECT_NEAR(parts[0][row] + parts[1][row] + parts[2][row], 1, 1e-6);
  }
  // Each part has a beta distribution.
  const double concentrations[] = {1, 2, 5};
  for (size_t i = 0; i < 3; ++i) {
    const double a = concentrations[i];
    EXPECT_LT(Distance(parts[i], [&](double x) { return BetaCdf(a, 8 - a, x); }), 1.95);
  }
}

// Pearson's statistic of counts, divided by its mean.
double ChiSquare(const std::vector<double>& x, const std::function<double(int)>& probability, int classes) {
  std::vector<double> counts(static_cast<size_t>(classes), 0);
  for (const double value : x) {
    if (value < classes) ++counts[static_cast<size_t>(value)];
  }
  double sum = 0;
  int used = 0;
  for (int k = 0; k < classes; ++k) {
    const double want = probability(k) * static_cast<double>(x.size());
    if (want < 5) continue;
    sum += (counts[static_cast<size_t>(k)] - want) * (counts[static_cast<size_t>(k)] - want) / want;
    ++used;
  }
  return sum / used;
}

TEST_F(RandomTest, Poisson) {
  const std::vector<double> means = {0.2, 3, 9.5, 10, 30, 1000};
  Values got = Compute([&](Builder& b) {
    for (size_t i = 0; i < means.size(); ++i) {
      b.Output(std::to_string(i), RandomPoisson(b.Full(F32, {kCount}, means[i])));
    }
    b.Output("edges", RandomPoisson(Vector(b, {0, -1}, {}, F32)));
  });
  for (size_t i = 0; i < means.size(); ++i) {
    SCOPED_TRACE(means[i]);
    const double m = means[i];
    const std::vector<double>& x = got[std::to_string(i)];
    EXPECT_NEAR(MeanOf(x), m, 4 * std::sqrt(m / kCount));
    EXPECT_NEAR(VarianceOf(x), m, 4 * std::sqrt((m + 2 * m * m) / kCount));
    EXPECT_LT(ChiSquare(
                  x, [&](int k) { return std::exp(k * std::log(m) - m - std::lgamma(k + 1.0)); }, 1200),
              m < 1 ? 5 : 2);
  }
  EXPECT_EQ(got["edges"][0], 0);
  EXPECT_TRUE(std::isnan(got["edges"][1]));
}

TEST_F(RandomTest, IntegersClassesAndSubsets) {
  const std::vector<double> p = {0.5, 0.3, 0.15, 0.05};
  Values got = Compute([&](Builder& b) {
    b.Output("die", RandomInt(b, I32, {kCount}, 1, 7) - 1);
    b.Output("wide", RandomInt(b, I64, {100}, -(int64_t{1} << 52), int64_t{1} << 52));
    const Tensor logits = BroadcastTo(Log(Vector(b, p, {}, F32)), {kCount, 4});
    b.Output("class", RandomCategorical(logits));
    b.Output("two", RandomSubset(logits, 2));
    b.Output("choice", RandomChoice(b, 50, 20));
  });
  EXPECT_LT(ChiSquare(got["die"], [](int) { return 1.0 / 6; }, 6), 3);
  EXPECT_EQ(std::set<double>(got["die"].begin(), got["die"].end()).size(), 6u);
  EXPECT_GT(*std::ranges::max_element(got["wide"]), 0x1p51);
  EXPECT_LT(*std::ranges::min_element(got["wide"]), -0x1p51);
  EXPECT_LT(ChiSquare(got["class"], [&](int k) { return p[static_cast<size_t>(k)]; }, 4), 4);
  // The probability of a pair in order is p_i * p_j / (1 - p_i).
  std::vector<double> pairs;
  for (size_t i = 0; i < got["two"].size(); i += 2) pairs.push_back(got["two"][i] * 4 + got["two"][i + 1]);
  EXPECT_LT(ChiSquare(
                pairs,
                [&](int k) {
                  const size_t i = static_cast<size_t>(k) / 4, j = static_cast<size_t>(k) % 4;
                  return i == j ? 0 : p[i] * p[j] / (1 - p[i]);
                },
                16),
            2.5);
  const std::set<double> choice(got["choice"].begin(), got["choice"].end());
  EXPECT_EQ(choice.size(), 20u);
  EXPECT_LT(*choice.rbegin(), 50);
}

TEST_F(RandomTest, KeysDecideTheNumbers) {
  const auto body = [](Builder& b) {
    const Key key = NewKey(b, "noise"), other = NewKey(b, "other");
    b.Output("a", RandomNormal(key, F32, {100}));
    b.Output("again", RandomNormal(key, F32, {100}));
    b.Output("other", RandomNormal(other, F32, {100}));
    b.Output("folded", RandomNormal(key.Fold(1), F32, {100}));
    b.Output("two", RandomNormal(key.Fold(2), F32, {100}));
    b.Output("computed", RandomNormal(key.Fold(b.Full(I32, {}, 2)), F32, {100}));
    b.Output("new", RandomNormal(NewKey(b), F32, {100}));
    b.Output("gamma", RandomGamma(b.Full(F32, {100}, 2), 1.0, {.key = key}));
    b.Output("permutation", RandomPermutation(key, I32, 100));
    b.Output("coins", RandomBernoulli(key, {100}, 0.5));
    b.Output("uniform", RandomUniform(key, F32, {100}, 2, 3));
    const std::vector<Key> keys = key.Split(3);
    b.Output("split", RandomNormal(keys[2], F32, {100}));
  };
  Values once = Compute(body, 1), twice = Compute(body, 2), seed2 = Compute(body, 1, Mode::kTrain, 2);
  for (const std::string name : {"a", "folded", "gamma", "permutation", "coins", "uniform"}) {
    EXPECT_EQ(once[name], twice[name]) << name;
    EXPECT_NE(once[name], seed2[name]) << name;
  }
  EXPECT_EQ(once["a"], once["again"]);
  EXPECT_EQ(once["two"], once["computed"]);
  EXPECT_EQ(once["two"], once["split"]);
  EXPECT_NE(once["new"], twice["new"]);
  const std::vector<std::string> names = {"a", "other", "folded", "two", "new"};
  for (const std::string& x : names) {
    for (const std::string& y : names) {
      if (x < y) {
        EXPECT_NE(once[x], once[y]) << x << " " << y;
      }
    }
  }
  EXPECT_GE(*std::ranges::min_element(once["uniform"]), 2);
}

TEST_F(RandomTest, SeedsOfTheCallerAndKeysOfTrips) {
  Graph graph("g");
  graph.Function("f", Mode::kEval, [](Builder& b) {
    const Key key = NewKey(b.Input("seed", I64, {}));
    const auto [none, numbers] = Scan(None{}, Steps{4}, [&](None n, const Tensor& i) {
      return std::pair(n, std::pair(RandomNormal(key.Fold(i), F64, {1000}), RandomNormal(key, F64, {3})));
    });
    b.Output("folded", numbers.first);
    b.Output("same", numbers.second);
    b.Output("third", RandomNormal(key.Fold(2), F64, {1000}));
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const auto run = [&](int64_t seed) {
    auto outputs = session.Run("f", {{"seed", *HostTensor::FromVector<int64_t>({}, {seed})}});
    SINTER_CHECK(outputs.ok()) << outputs.status();
    return Values{{"folded", Doubles((*outputs)["folded"])},
                  {"same", Doubles((*outputs)["same"])},
                  {"third", Doubles((*outputs)["third"])}};
  };
  Values one = run(1), two = run(2), again = run(1);
  EXPECT_EQ(one, again);
  EXPECT_NE(one["folded"], two["folded"]);
  for (size_t i = 0; i < 1000; ++i) EXPECT_EQ(one["folded"][2000 + i], one["third"][i]);
  for (size_t i = 3; i < 12; ++i) EXPECT_EQ(one["same"][i], one["same"][i % 3]);
  // Numbers of neighbouring keys are independent: together they are normal.
  EXPECT_LT(Distance(one["folded"], NormalCdf), 1.95);
  double products = 0;
  for (size_t i = 0; i < 3000; ++i) products += one["folded"][i] * one["folded"][i + 1000];
  EXPECT_LT(std::abs(products), 4 * std::sqrt(3000));
}

TEST_F(RandomTest, FirstNumbersOfManyKeysAreUniform) {
  // The first number of each of 2000 folded keys.
  Values got = Compute([](Builder& b) {
    const Key key = NewKey(b, "many");
    const auto [none, u] = Scan(None{}, Steps{2000}, [&](None n, const Tensor& i) {
      return std::pair(n, RandomUniform(key.Fold(i).Fold(7), F64, {}));
    });
    b.Output("u", u);
  });
  EXPECT_LT(Distance(got["u"], [](double x) { return x; }), 1.95);
  EXPECT_EQ(std::set<double>(got["u"].begin(), got["u"].end()).size(), 2000u);
}

TEST_F(RandomTest, GammaHasTheGradientOfItsRate) {
  ExpectGradient({2.0, 0.5}, {2}, [](Builder& b, const Tensor& rate) {
    return Sum(Square(RandomGamma(Vector(b, {1.5, 3}), rate, {.key = NewKey(b, "gamma")})));
  });
}

TEST_F(RandomTest, GumbelSoftmax) {
  Values got = Compute([](Builder& b) {
    const Tensor logits = BroadcastTo(Log(Vector(b, {0.5, 0.3, 0.2})), {4000, 3});
    b.Output("soft", GumbelSoftmax(logits, 0.5, {.key = NewKey(b, "k")}));
    b.Output("hard", GumbelSoftmax(logits, 0.5, {.hard = true, .key = NewKey(b, "k")}));
  });
  double first = 0;
  for (size_t i = 0; i < 12000; i += 3) {
    EXPECT_NEAR(got["soft"][i] + got["soft"][i + 1] + got["soft"][i + 2], 1, 1e-12);
    for (size_t c = i; c < i + 3; ++c) {
      const bool is_largest = got["soft"][c] == *std::max_element(&got["soft"][i], &got["soft"][i] + 3);
      EXPECT_NEAR(got["hard"][c], is_largest ? 1 : 0, 1e-12);
    }
    first += got["hard"][i] / 4000;
  }
  EXPECT_NEAR(first, 0.5, 0.03);
  ExpectGradient({0.4, -1, 0.3}, {3}, [](Builder& b, const Tensor& logits) {
    return GumbelSoftmax(logits, 0.7, {.key = NewKey(b, "k")})[0];
  });
}

class RandomErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(RandomErrorTest, Says) { ExpectSays(GetParam(), "random_test.cc:"); }
INSTANTIATE_TEST_SUITE_P(
    Cases, RandomErrorTest,
    ::testing::Values(
        In("IntType", [](Builder& b) { RandomInt(b, F32, {2}, 0, 3); }, {"RandomInt", "gives i32 or i64"}),
        In("IntOrder", [](Builder& b) { RandomInt(b, I32, {2}, 3, 3); }, {"needs low < high, got 3 and 3"}),
        In("IntRange", [](Builder& b) { RandomInt(b, I64, {2}, 0, (int64_t{1} << 53) + 1); },
           {"more than 2^53"}),
        In("Choice", [](Builder& b) { RandomChoice(b, 3, 4); },
           {"RandomChoice", "takes 4 different numbers of 3; expected 0 to 3"}),
        In("Rate", [](Builder& b) { RandomExponential(b, F32, {2}, 0); }, {"RandomExponential", "a rate"}),
        In("Scale", [](Builder& b) { RandomLaplace(b, F32, {2}, 0, -1); }, {"RandomLaplace", "a scale"}),
        In("GumbelType", [](Builder& b) { RandomGumbel(b, I32, {2}); }, {"gives floats, not i32"}),
        In("TruncatedBounds",
           [](Builder& b) { RandomTruncatedNormal(b, F32, {2}, 0, 1, {.low = 40, .high = 41}); },
           {"needs low < high with numbers between them, got 40 and 41"}),
        In("CategoricalRank", [](Builder& b) { RandomCategorical(X(b, {})); }, {"rank 1 or more"}),
        In("GammaType", [](Builder& b) { RandomGamma(X(b, {2}, I32)); },
           {"RandomGamma(i32[2])", "takes floats"}),
        In("BetaShapes", [](Builder& b) { RandomBeta(X(b, {2}), X(b, {3})); },
           {"RandomBeta(f32[2], f32[3])", "takes floats of one type and shape"}),
        In("Temperature", [](Builder& b) { GumbelSoftmax(X(b), 0); }, {"GumbelSoftmax", "a temperature"}),
        In("SeedType", [](Builder& b) { NewKey(X(b, {2}, I64)); }, {"takes a seed of type i64[] or i32[]"}),
        In("FoldType", [](Builder& b) { NewKey(b, "k").Fold(0.5); }, {"Fold", "takes a whole number"}),
        In("KeyType", [](Builder& b) { RandomNormal(Key{X(b, {2}, I64), X(b, {}, I64)}, F32, {2}); },
           {"has a key of i64[2], not i64[]; make it with NewKey"}),
        In("UniformBounds", [](Builder& b) { RandomUniform(NewKey(b, "k"), F32, {2}, 1, 1); },
           {"needs finite low < high"}),
        In("NormalStddev", [](Builder& b) { RandomNormal(NewKey(b, "k"), F32, {2}, 0, -1); },
           {"a standard deviation of at least 0"}),
        In("Bernoulli", [](Builder& b) { RandomBernoulli(NewKey(b, "k"), {2}, 2); },
           {"a probability between 0 and 1, got 2"}),
        In("PermutationType", [](Builder& b) { RandomPermutation(NewKey(b, "k"), F32, 2); },
           {"gives i32 or i64"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
