// Pools to sizes of signals and volumes against loops, and their gradients, layers and errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sinter/tests/frontend/builder_values.h"
#include "sinter/tests/frontend/error_case.h"

namespace sinter {
namespace {

using PoolingTest = DeviceTest;

std::vector<double> Waves(int64_t count) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(std::sin(static_cast<double>(i * i % 97) + 0.3));
  return numbers;
}

// Means and largest elements of the windows of volumes [images, sizes], which may have depths and heights of
// 1.
struct Pooled {
  std::vector<double> means, largest;
};
Pooled PooledByLoops(const std::vector<double>& x, int64_t images, const std::array<int64_t, 3>& from,
                     const std::array<int64_t, 3>& to) {
  Pooled pooled;
  const auto begin = [&](int d, int64_t i) { return i * from[d] / to[d]; };
  const auto end = [&](int d, int64_t i) { return ((i + 1) * from[d] + to[d] - 1) / to[d]; };
  for (int64_t n = 0; n < images; ++n)
    for (int64_t i = 0; i < to[0]; ++i)
      for (int64_t j = 0; j < to[1]; ++j)
        for (int64_t k = 0; k < to[2]; ++k) {
          double sum = 0, count = 0, largest = -std::numeric_limits<double>::infinity();
          for (int64_t z = begin(0, i); z < end(0, i); ++z)
            for (int64_t y = begin(1, j); y < end(1, j); ++y)
              for (int64_t at = begin(2, k); at < end(2, k); ++at) {
                const double element =
                    x[static_cast<size_t>(((n * from[0] + z) * from[1] + y) * from[2] + at)];
                sum += element;
                count += 1;
                largest = std::max(largest, element);
              }
          pooled.means.push_back(sum / count);
          pooled.largest.push_back(largest);
        }
  return pooled;
}

void ExpectNear(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-12) << i;
}

TEST_F(PoolingTest, AdaptivePoolsOfSignals) {
  const std::vector<double> x = Waves(2 * 3 * 12);
  for (const int64_t size : {1, 4, 5, 12, 17}) {
    Values got = Compute([&](Builder& b) {
      const Tensor in = Vector(b, x, {2, 3, 12});
      EXPECT_EQ(AdaptiveMaxPool1d(in, size).shape(), (Shape{2, 3, size}));
      b.Output("mean", AdaptiveAvgPool1d(in, size));
      b.Output("max", AdaptiveMaxPool1d(in, size));
      b.Output("mean layer", nn::AdaptiveAvgPool1d(size)(in));
      b.Output("max layer", nn::AdaptiveMaxPool1d(size)(in));
    });
    const Pooled want = PooledByLoops(x, 6, {1, 1, 12}, {1, 1, size});
    ExpectNear(got["mean"], want.means);
    ExpectNear(got["max"], want.largest);
    ExpectNear(got["mean layer"], want.means);
    ExpectNear(got["max layer"], want.largest);
  }
}

TEST_F(PoolingTest, AdaptivePoolsOfVolumes) {
  const std::vector<double> x = Waves(2 * 2 * 4 * 5 * 6);
  for (const std::array<int64_t, 3>& size :
       {std::array<int64_t, 3>{2, 5, 3}, {3, 2, 4}, {1, 1, 1}, {4, 7, 6}}) {
    Values got = Compute([&](Builder& b) {
      const Tensor in = Vector(b, x, {2, 2, 4, 5, 6});
      b.Output("mean", AdaptiveAvgPool3d(in, size));
      b.Output("max", AdaptiveMaxPool3d(in, size));
      b.Output("mean layer", nn::AdaptiveAvgPool3d(size)(in));
      b.Output("max layer", nn::AdaptiveMaxPool3d(size)(in));
    });
    const Pooled want = PooledByLoops(x, 4, {4, 5, 6}, size);
    ExpectNear(got["mean"], want.means);
    ExpectNear(got["max"], want.largest);
    ExpectNear(got["mean layer"], want.means);
    ExpectNear(got["max layer"], want.largest);
  }
}

TEST_F(PoolingTest, AdaptivePoolsHaveTheGradientsOfDifferences) {
  ExpectGradient(Waves(10), {1, 2, 5}, [](Builder&, const Tensor& x) {
    return Sum(Square(AdaptiveAvgPool1d(x, 3))) + Sum(Square(AdaptiveMaxPool1d(x, 2)));
  });
  ExpectGradient(Waves(18), {1, 1, 3, 2, 3}, [](Builder&, const Tensor& x) {
    return Sum(Square(AdaptiveAvgPool3d(x, {2, 2, 2}))) + Sum(Square(AdaptiveMaxPool3d(x, {2, 1, 2})));
  });
}

class PoolingErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(PoolingErrorTest, Says) { ExpectSays(GetParam(), "pooling_test.cc:"); }
INSTANTIATE_TEST_SUITE_P(
    Cases, PoolingErrorTest,
    ::testing::Values(In("Signals", [](Builder& b) { AdaptiveAvgPool1d(X(b), 2); },
                         {"AdaptiveAvgPool1d(f32[2,3])", "takes float signals of shape [N, C, L]"}),
                      In("Volumes", [](Builder& b) { AdaptiveMaxPool3d(X(b, {1, 2, 3, 3}), {1, 1, 1}); },
                         {"AdaptiveMaxPool3d(f32[1,2,3,3])", "takes float volumes of shape [N, C, D, H, W]"}),
                      In("NoSignal", [](Builder& b) { AdaptiveMaxPool1d(X(b, {1, 2, 3}), 0); },
                         {"makes signals of 0 of those of 3; both need elements"}),
                      In("NoVolume", [](Builder& b) { AdaptiveAvgPool3d(X(b, {1, 2, 3, 4, 5}), {1, -1, 2}); },
                         {"makes volumes of 1x-1x2 of those of 3x4x5; both need elements"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
