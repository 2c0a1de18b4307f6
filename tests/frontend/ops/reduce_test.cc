// Norms of any order, quantiles and other reductions against loops, and their gradients and errors.
#include "sinter/frontend/ops/ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "sinter/tests/frontend/builder_values.h"
#include "sinter/tests/frontend/error_case.h"

namespace sinter {
namespace {

using ReduceTest = DeviceTest;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

// Numbers of which none are equal, and none is 0.
std::vector<double> Scattered(int64_t count) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<double>((i * 37 + 11) % 101) / 20 - 2.51);
  return numbers;
}

// Element (i, j, k) of [2, 5, 3] is in row i * 3 + k of the reduction of dimension 1.
std::vector<std::vector<double>> RowsOfMiddle(const std::vector<double>& x) {
  std::vector<std::vector<double>> rows(6);
  for (size_t i = 0; i < 2; ++i)
    for (size_t j = 0; j < 5; ++j)
      for (size_t k = 0; k < 3; ++k) rows[i * 3 + k].push_back(x[(i * 5 + j) * 3 + k]);
  return rows;
}

double NormByLoop(const std::vector<double>& row, double p) {
  double sum = 0, most = 0, least = kInfinity, count = 0;
  for (const double x : row) {
    sum += std::pow(std::fabs(x), p);
    most = std::max(most, std::fabs(x));
    least = std::min(least, std::fabs(x));
    count += x != 0;
  }
  return p == kInfinity ? most : p == -kInfinity ? least : p == 0 ? count : std::pow(sum, 1 / p);
}

const double kOrders[] = {0, 1, 2, 3, 2.5, 0.5, -1, -2, kInfinity, -kInfinity};

TEST_F(ReduceTest, NormsOfAnyOrder) {
  std::vector<double> x = Scattered(30);
  x[4] = 0;
  Values got = Compute([&](Builder& b) {
    for (const double p : kOrders) {
      const Tensor in = Vector(b, x, {2, 5, 3});
      b.Output(std::to_string(p), Norm(in, {1}, {.p = p}));
      b.Output(std::to_string(p) + " f32", Norm(Cast(in, F32), {1}, {.p = p}));
      b.Output(std::to_string(p) + " bf16", Cast(Norm(Cast(in, BF16), {1}, {.p = p}), F32));
      b.Output(std::to_string(p) + " all", Norm(in, {}, {.p = p}));
      EXPECT_EQ(Norm(in, {0, 2}, {.p = p, .keep_dims = true}).shape(), (Shape{1, 5, 1}));
    }
  });
  const auto rows = RowsOfMiddle(x);
  for (const double p : kOrders) {
    for (size_t i = 0; i < rows.size(); ++i) {
      const double want = NormByLoop(rows[i], p);
      EXPECT_NEAR(got[std::to_string(p)][i], want, 1e-12 * (1 + want)) << p << " " << i;
      EXPECT_NEAR(got[std::to_string(p) + " f32"][i], want, 1e-5 * (1 + want)) << p << " " << i;
      EXPECT_NEAR(got[std::to_string(p) + " bf16"][i], want, 0.03 * (1 + want)) << p << " " << i;
    }
    EXPECT_NEAR(got[std::to_string(p) + " all"][0], NormByLoop(x, p), 1e-10 * (1 + NormByLoop(x, p))) << p;
  }
}

TEST_F(ReduceTest, NormsHaveTheGradientsOfDifferences) {
  for (const double p : {1.0, 2.0, 3.0, 2.5, 0.5, -1.0, kInfinity, -kInfinity}) {
    SCOPED_TRACE(p);
    ExpectGradient(
        Scattered(12), {3, 4},
        [p](Builder&, const Tensor& x) { return Sum(Square(Norm(x, {1}, {.p = p}))) * 0.1; }, 1e-5, 1e-6);
  }
}

// Zeros get no gradient, whatever the order, and a NaN stays one.
TEST_F(ReduceTest, NormsAtZero) {
  Values got = Compute([](Builder& b) {
    for (const double p : kOrders) {
      const Tensor x = Vector(b, {0, 0, 0, 3, 0, -4}, {2, 3});
      b.Output(std::to_string(p), Gradients(Sum(Norm(x, {1}, {.p = p})), {x}, {.allow_unused = true})[0]);
      b.Output(std::to_string(p) + " nan", Norm(Vector(b, {1, std::nan(""), 2}), {}, {.p = p}));
    }
  });
  for (const double p : kOrders) {
    const std::vector<double>& gradient = got[std::to_string(p)];
    for (const size_t i : {0, 1, 2, 4}) EXPECT_EQ(gradient[i], 0) << p << " " << i;
    for (const double g : gradient) EXPECT_TRUE(std::isfinite(g)) << p;
    EXPECT_EQ(std::isnan(got[std::to_string(p) + " nan"][0]), p != 0) << p;
  }
  EXPECT_NEAR(got[std::to_string(2.0)][3], 0.6, 1e-12);
  EXPECT_NEAR(got[std::to_string(2.0)][5], -0.8, 1e-12);
}

struct QuantileCase {
  QuantileRule rule;
  std::function<double(double low, double high, double part)> between;
};
const QuantileCase kRules[] = {
    {QuantileRule::kLinear, [](double a, double b, double part) { return a + (b - a) * part; }},
    {QuantileRule::kLower, [](double a, double, double) { return a; }},
    {QuantileRule::kHigher, [](double a, double b, double part) { return part > 0 ? b : a; }},
    {QuantileRule::kNearest, [](double a, double b, double part) { return part > 0.5 ? b : a; }},
    {QuantileRule::kMidpoint, [](double a, double b, double part) { return part > 0 ? (a + b) / 2 : a; }},
};

TEST_F(ReduceTest, QuantilesOfEachRule) {
  const std::vector<double> x = Scattered(30);
  const double parts[] = {0, 0.1, 0.25, 0.5, 0.61, 0.9, 1};
  const auto name = [](size_t rule, double q) { return std::to_string(rule) + " " + std::to_string(q); };
  Values got = Compute([&](Builder& b) {
    const Tensor in = Vector(b, x, {2, 5, 3});
    for (size_t r = 0; r < std::size(kRules); ++r) {
      for (const double q : parts) b.Output(name(r, q), Quantile(in, q, {1}, {.rule = kRules[r].rule}));
    }
    b.Output("ends", Quantile(in, 0.3, {0, -1}));
    b.Output("low", Cast(Quantile(Cast(in, F16), 0.3, {0, 2}), F32));
    EXPECT_EQ(Quantile(in, 0.3, {0, 2}, {.keep_dims = true}).shape(), (Shape{1, 5, 1}));
    b.Output("median", Median(in));
    b.Output("lower", Median(in, {}, {.rule = QuantileRule::kLower}));
  });
  const auto sorted_at = [](std::vector<double> row, double q, const QuantileCase& rule) {
    std::sort(row.begin(), row.end());
    const double place = q * static_cast<double>(row.size() - 1);
    const auto low = static_cast<size_t>(place);
    return rule.between(row[low], row[std::min(low + 1, row.size() - 1)], place - static_cast<double>(low));
  };
  const auto rows = RowsOfMiddle(x);
  for (size_t r = 0; r < std::size(kRules); ++r) {
    for (const double q : parts) {
      for (size_t i = 0; i < rows.size(); ++i)
        EXPECT_NEAR(got[name(r, q)][i], sorted_at(rows[i], q, kRules[r]), 1e-12) << r << " " << q << " " << i;
    }
  }
  for (size_t j = 0; j < 5; ++j) {
    std::vector<double> row;
    for (const size_t i : {0, 1}) row.insert(row.end(), &x[(i * 5 + j) * 3], &x[(i * 5 + j) * 3] + 3);
    EXPECT_NEAR(got["ends"][j], sorted_at(row, 0.3, kRules[0]), 1e-12);
    EXPECT_NEAR(got["low"][j], got["ends"][j], 3e-3);
  }
  EXPECT_NEAR(got["median"][0], sorted_at(x, 0.5, kRules[0]), 1e-12);
  EXPECT_NEAR(got["lower"][0], sorted_at(x, 0.5, kRules[1]), 1e-12);
}

// NumPy 1.26: np.quantile([nan, 1, 2], 0) is NaN, and np.quantile([1, inf, inf], q) is inf above the middle.
TEST_F(ReduceTest, QuantilesOfNanAndInfinities) {
  Values got = Compute([](Builder& b) {
    b.Output("nan", Quantile(Vector(b, {kNan, 1, 2, 3, 2, 1}, {2, 3}), 0, {1}));
    b.Output("infinite", Quantile(Vector(b, {1, kInfinity, kInfinity}), 0.75));
    b.Output("low", Quantile(Vector(b, {-kInfinity, -kInfinity, 5}), 0.25));
  });
  EXPECT_TRUE(std::isnan(got["nan"][0]));
  EXPECT_EQ(got["nan"][1], 1);
  EXPECT_EQ(got["infinite"][0], kInfinity);
  EXPECT_EQ(got["low"][0], -kInfinity);
}

TEST_F(ReduceTest, QuantilesHaveTheGradientsOfDifferences) {
  for (const QuantileCase& rule : kRules) {
    ExpectGradient(Scattered(10), {2, 5}, [&](Builder&, const Tensor& x) {
      return Sum(Square(Quantile(x, 0.3, {1}, {.rule = rule.rule}))) +
             Sum(Square(Median(x, {0}, {.rule = rule.rule})));
    });
  }
}

TEST_F(ReduceTest, NanDoesNotCount) {
  Values got = Compute([](Builder& b) {
    const Tensor x = Vector(b, {1, kNan, 3, kNan, kNan, kNan}, {2, 3});
    b.Output("sum", NanSum(x, {1}));
    b.Output("mean", NanMean(x, {1}));
    b.Output("all", NanMean(Cast(x, F32)));
    EXPECT_EQ(NanMean(x, {0}, {.keep_dims = true}).shape(), (Shape{1, 3}));
    b.Output("gradient", Gradients(Sum(Square(NanMean(x, {0}))[Range{0, 1}]) + NanSum(x), {x})[0]);
  });
  EXPECT_EQ(got["sum"], (std::vector<double>{4, 0}));
  EXPECT_EQ(got["mean"][0], 2);
  EXPECT_TRUE(std::isnan(got["mean"][1]));
  EXPECT_EQ(got["all"][0], 2);
  EXPECT_EQ(got["gradient"], (std::vector<double>{3, 0, 1, 0, 0, 0}));
}

TEST_F(ReduceTest, ElementsThatAreNotZeroCount) {
  Values got = Compute([](Builder& b) {
    const Tensor x = Vector(b, {1, 0, -3, 0, kNan, 0}, {2, 3});
    b.Output("rows", CountNonZero(x, {1}));
    b.Output("all", CountNonZero(x));
    b.Output("bools", CountNonZero(x > 0.0, {0}, {.keep_dims = true}));
    b.Output("ints", CountNonZero(Whole(b, {0, 2, -1, 0})));
  });
  EXPECT_EQ(got["rows"], (std::vector<double>{2, 1}));
  EXPECT_EQ(got["all"], (std::vector<double>{3}));
  EXPECT_EQ(got["bools"], (std::vector<double>{1, 0, 0}));
  EXPECT_EQ(got["ints"], (std::vector<double>{2}));
}

TEST_F(ReduceTest, RunningSumsOfExponentials) {
  std::vector<double> x = Scattered(9);
  x[3] = 800;  // Its exponential is infinite.
  x[5] = -kInfinity;
  std::vector<double> lonely = {-kInfinity, -kInfinity, 2, 2};
  Values got = Compute([&](Builder& b) {
    const Tensor in = Vector(b, x, {9});
    b.Output("y", LogCumSumExp(in, 0));
    b.Output("reverse", LogCumSumExp(in, -1, true));
    const Tensor begin = Vector(b, lonely);
    const Tensor sums = LogCumSumExp(begin, 0);
    b.Output("lonely", sums);
    b.Output("gradient", Gradients(Sum(sums[Range{2, 4}]), {begin})[0]);
  });
  for (const bool reverse : {false, true}) {
    double sum = -kInfinity;
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t at = reverse ? x.size() - 1 - i : i;
      const double most = std::max(sum, x[at]), least = std::min(sum, x[at]);
      sum = most == -kInfinity ? most : most + std::log1p(std::exp(least - most));
      EXPECT_NEAR(got[reverse ? "reverse" : "y"][at], sum, 1e-11) << at;
    }
  }
  EXPECT_EQ(got["lonely"][0], -kInfinity);
  EXPECT_EQ(got["lonely"][1], -kInfinity);
  EXPECT_NEAR(got["lonely"][3], 2 + std::log(2.0), 1e-12);
  const double gradient[] = {0, 0, 1.5, 0.5};
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(got["gradient"][i], gradient[i], 1e-12);
  ExpectGradient(Scattered(6), {2, 3}, [](Builder&, const Tensor& in) {
    return Sum(Square(LogCumSumExp(in, 1))) + Sum(LogCumSumExp(in, 0, true));
  });
}

class ReduceErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(ReduceErrorTest, Says) { ExpectSays(GetParam(), "reduce_test.cc:"); }
INSTANTIATE_TEST_SUITE_P(
    Cases, ReduceErrorTest,
    ::testing::Values(
        In("NormNan", [](Builder& b) { Norm(X(b), {}, {.p = kNan}); }, {"Norm(f32[2,3])", "has a p of NaN"}),
        In("NormInt", [](Builder& b) { Norm(X(b, {2}, I32), {}, {.p = 1}); },
           {"Norm(i32[2])", "takes floats; Cast(x, F32) first"}),
        In("NormDims", [](Builder& b) { Norm(X(b), {2}, {.p = 3}); }, {"no dimension 2"}),
        In("QuantileHigh", [](Builder& b) { Quantile(X(b), 1.5); },
           {"Quantile(f32[2,3])", "needs a q of at least 0 and at most 1, got 1.5"}),
        In("QuantileInt", [](Builder& b) { Quantile(X(b, {2}, I32), 0.5); }, {"takes floats"}),
        In("QuantileDims", [](Builder& b) { Quantile(X(b), 0.5, {1, 1}); }, {"names a dimension twice"}),
        In("MedianOfNone", [](Builder& b) { Median(X(b, {2, 0}), {1}); },
           {"Median(f32[2,0])", "takes an element of none"}),
        In("NanSumInt", [](Builder& b) { NanSum(X(b, {2}, I32)); }, {"NanSum(i32[2])", "takes floats"}),
        In("NanMeanInt", [](Builder& b) { NanMean(X(b, {2}, I32)); }, {"NanMean(i32[2])", "takes floats"}),
        In("CountOfBytes", [](Builder& b) { CountNonZero(X(b, {2}, F8E4M3)); }, {"CountNonZero(f8e4m3[2])"}),
        In("CountOfMany", [](Builder& b) { CountNonZero(X(b, {1 << 16, 1 << 16}, I8)); },
           {"counts fewer than 2^31 elements"}),
        In("LogCumSumExpInt", [](Builder& b) { LogCumSumExp(X(b, {2}, I32), 0); },
           {"LogCumSumExp(i32[2])", "takes floats"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
