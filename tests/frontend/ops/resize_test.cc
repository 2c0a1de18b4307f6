// Other sizes of signals and volumes against loops, and their gradients and errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sinter/tests/frontend/builder_values.h"
#include "sinter/tests/frontend/error_case.h"

namespace sinter {
namespace {

using ResizeTest = DeviceTest;

// Returns the element at a place between the elements of a line, whose ends go on.
double Between(const std::vector<double>& line, double place) {
  place = std::clamp(place, 0.0, static_cast<double>(line.size() - 1));
  const auto low = static_cast<size_t>(place);
  const size_t high = std::min(low + 1, line.size() - 1);
  const double part = place - static_cast<double>(low);
  return line[low] * (1 - part) + line[high] * part;
}

double PlaceOf(int64_t i, int64_t from, int64_t to, bool align_corners) {
  const auto n = static_cast<double>(from), m = static_cast<double>(to), at = static_cast<double>(i);
  if (align_corners) return to == 1 ? 0 : at * (n - 1) / (m - 1);
  return (at + 0.5) * n / m - 0.5;
}

std::vector<double> Squares(int64_t count) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<double>(i * i * 7 % 23) - 10);
  return numbers;
}

TEST_F(ResizeTest, SignalsAreLinearBetweenElements) {
  const std::vector<double> x = Squares(5);
  for (const int64_t size : {1, 3, 5, 8}) {
    for (const bool align_corners : {false, true}) {
      Values got = Compute([&](Builder& b) {
        const Tensor in = Vector(b, x, {1, 1, 5});
        b.Output("y", Resize1d(in, size, {.align_corners = align_corners}));
        b.Output("nearest", Resize1d(in, size, {.interpolation = Interpolation::kNearest}));
      });
      for (int64_t i = 0; i < size; ++i) {
        EXPECT_NEAR(got["y"][static_cast<size_t>(i)], Between(x, PlaceOf(i, 5, size, align_corners)), 1e-12);
        EXPECT_EQ(got["nearest"][static_cast<size_t>(i)], x[static_cast<size_t>(i * 5 / size)]);
      }
    }
  }
}

TEST_F(ResizeTest, VolumesAreLinearInEachDimension) {
  constexpr int64_t kDepth = 2, kHeight = 3, kWidth = 4;
  const std::vector<double> x = Squares(kDepth * kHeight * kWidth);
  const std::array<int64_t, 3> size = {3, 2, 7};
  for (const bool align_corners : {false, true}) {
    Values got = Compute([&](Builder& b) {
      const Tensor in = Vector(b, x, {1, 1, kDepth, kHeight, kWidth});
      EXPECT_EQ(Resize3d(in, size).shape(), (Shape{1, 1, 3, 2, 7}));
      b.Output("y", Resize3d(in, size, {.align_corners = align_corners}));
    });
    for (int64_t i = 0; i < size[0]; ++i)
      for (int64_t j = 0; j < size[1]; ++j)
        for (int64_t k = 0; k < size[2]; ++k) {
          std::vector<double> slices;
          for (int64_t z = 0; z < kDepth; ++z) {
            std::vector<double> rows;
            for (int64_t y = 0; y < kHeight; ++y) {
              const auto row = x.begin() + (z * kHeight + y) * kWidth;
              rows.push_back(Between({row, row + kWidth}, PlaceOf(k, kWidth, size[2], align_corners)));
            }
            slices.push_back(Between(rows, PlaceOf(j, kHeight, size[1], align_corners)));
          }
          EXPECT_NEAR(got["y"][static_cast<size_t>((i * size[1] + j) * size[2] + k)],
                      Between(slices, PlaceOf(i, kDepth, size[0], align_corners)), 1e-12);
        }
  }
}

TEST_F(ResizeTest, LayersTakeSignalsAndVolumes) {
  Values got = Compute([](Builder& b) {
    const nn::Module up = nn::Upsample(3, {.interpolation = Interpolation::kBilinear});
    const Tensor signals = Vector(b, Squares(8), {2, 1, 4}),
                 volumes = Vector(b, Squares(12), {1, 1, 2, 3, 2});
    b.Output("signals", up(signals) - Resize1d(signals, 12));
    b.Output("volumes", up(volumes) - Resize3d(volumes, {6, 9, 6}));
  });
  EXPECT_EQ(got["signals"], std::vector<double>(24, 0));
  EXPECT_EQ(got["volumes"], std::vector<double>(324, 0));
}

TEST_F(ResizeTest, GradientsAreThoseOfDifferences) {
  ExpectGradient(
      Squares(8), {1, 2, 4},
      [](Builder&, const Tensor& x) {
        return Sum(Square(Resize1d(x, 7, {.interpolation = Interpolation::kBicubic}))) * 0.1;
      },
      1e-5);
  ExpectGradient(
      Squares(12), {1, 1, 2, 3, 2},
      [](Builder&, const Tensor& x) { return Sum(Square(Resize3d(x, {3, 2, 5}))) * 0.1; }, 1e-5);
}

class ResizeErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(ResizeErrorTest, Says) { ExpectSays(GetParam(), "resize_test.cc:"); }
INSTANTIATE_TEST_SUITE_P(
    Cases, ResizeErrorTest,
    ::testing::Values(In("Signals", [](Builder& b) { Resize1d(X(b), 2); },
                         {"Resize1d(f32[2,3])", "takes float signals of shape [N, C, L]"}),
                      In("Volumes", [](Builder& b) { Resize3d(X(b, {1, 1, 2, 3, 4}), {2, 0, 2}); },
                         {"makes volumes of 2x0x2 of those of 2x3x4; both need elements"}),
                      In("Corners",
                         [](Builder& b) {
                           Resize1d(X(b, {1, 1, 4}), 2,
                                    {.interpolation = Interpolation::kNearest, .align_corners = true});
                         },
                         {"has aligned corners, which the nearest pixel does not know"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
