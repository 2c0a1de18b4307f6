// Checks of distributions against values of SciPy (scipy.stats) and against their own samples.
#ifndef SINTER_TESTS_FRONTEND_DISTRIBUTIONS_GOLDEN_H_
#define SINTER_TESTS_FRONTEND_DISTRIBUTIONS_GOLDEN_H_

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "sinter/tests/frontend/builder_values.h"

namespace sinter {

// The values at `x` of a distribution; what a family does not have is empty or NaN.
struct Golden {
  std::vector<double> x, log_prob, cdf;
  double entropy = NAN, mean = NAN, variance = NAN;
};

inline constexpr int64_t kDrawn = 20000;

// Outputs all that the distribution has.
template <typename D>
void OutputAll(Builder& b, const D& d, const Golden& golden) {
  const Tensor x = Vector(b, golden.x);
  b.Output("log_prob", d.LogProb(x));
  if constexpr (requires { d.Cdf(x); }) b.Output("cdf", d.Cdf(x));
  if constexpr (requires { d.Entropy(); }) b.Output("entropy", d.Entropy());
  if constexpr (requires { d.Mean(); }) {
    b.Output("mean", d.Mean());
    b.Output("variance", d.Variance());
  }
  b.Output("sample", d.Sample({kDrawn}));
}

inline void ExpectGolden(Values& got, const Golden& want, double tolerance = 1e-12) {
  ASSERT_EQ(got["log_prob"].size(), want.log_prob.size());
  for (size_t i = 0; i < want.log_prob.size(); ++i) {
    EXPECT_NEAR(got["log_prob"][i], want.log_prob[i], tolerance * (1 + std::abs(want.log_prob[i])));
  }
  for (size_t i = 0; i < want.cdf.size(); ++i) EXPECT_NEAR(got["cdf"][i], want.cdf[i], tolerance);
  if (!std::isnan(want.entropy)) {
    EXPECT_NEAR(got["entropy"][0], want.entropy, tolerance * 4);
  }
  if (std::isnan(want.mean)) return;
  EXPECT_NEAR(got["mean"][0], want.mean, tolerance * 4);
  EXPECT_NEAR(got["variance"][0], want.variance, tolerance * (1 + want.variance));
  double sum = 0, squares = 0;
  for (const double x : got["sample"]) sum += x, squares += (x - want.mean) * (x - want.mean);
  EXPECT_NEAR(sum / kDrawn, want.mean, 4 * std::sqrt(want.variance / kDrawn));
  EXPECT_NEAR(squares / kDrawn / want.variance, 1, 0.12);
}

}  // namespace sinter

#endif  // SINTER_TESTS_FRONTEND_DISTRIBUTIONS_GOLDEN_H_
