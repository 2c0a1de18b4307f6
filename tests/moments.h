// Moments of numbers that were drawn, for tests of distributions.
//
//   EXPECT_NEAR(MeanOf(draws), 0, 0.01);
//   EXPECT_NEAR(VarianceOf(draws), 1, 0.02);
//
// The numbers must not be empty.
#ifndef SINTER_TESTS_MOMENTS_H_
#define SINTER_TESTS_MOMENTS_H_

#include <vector>

namespace sinter {

inline double MeanOf(const std::vector<double>& x) {
  double sum = 0;
  for (const double value : x) sum += value;
  return sum / static_cast<double>(x.size());
}

inline double VarianceOf(const std::vector<double>& x) {
  const double mean = MeanOf(x);
  double sum = 0;
  for (const double value : x) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(x.size());
}

}  // namespace sinter

#endif  // SINTER_TESTS_MOMENTS_H_
