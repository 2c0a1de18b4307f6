// Sampled images against ONNX Runtime's GridSample and AffineGrid (opset 20), and pools that are undone.
#include "sinter/frontend/ops/sampling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sinter/frontend/ops/ops.h"
#include "sinter/tests/frontend/builder_values.h"
#include "sinter/tests/frontend/error_case.h"

namespace sinter {
namespace {

using SamplingTest = DeviceTest;

std::vector<double> Spread(int64_t count, double low, double high, int64_t step = 37) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i) {
    numbers.push_back(low + (high - low) * static_cast<double>((i * step + 11) % 101) / 100);
  }
  return numbers;
}

struct Sample {
  GridSampleOptions options;
  std::vector<double> want;
};
const std::vector<Sample> kSamples = {
    {{Interpolation::kBilinear, OutsidePixels::kZeros, false},
     {0, 0, -0.1998257, 0, -0.5437953, 0,           0, 0, 0.8817742, 0, 0.8322049, 0, 0.001074425,
      0, 0, 0.1905394,  0, -0.8340876, 0.009074608, 0, 0, 0.1806364, 0, 0.2630694}},
    {{Interpolation::kBilinear, OutsidePixels::kZeros, true},
     {-0.1092488, -0.06555651, 0.1049599, -0.3624673, 0.13916,     0,          0.3339512,  -0.08046023,
      1.273003,   0.1374876,   0.7821649, 0,          0.0309272,   0.05342625, 0.1311559,  0.07979859,
      -0.5662719, -0.7631986,  1.102927,  0.1988157,  0.009567982, 0.1400415,  -0.1132544, 0.2411599}},
    {{Interpolation::kBilinear, OutsidePixels::kBorder, false},
     {-0.7516, -1.29664, -0.2956001, -1.16,     -0.63232,  -1.16,     0.8484, 0.07712001,
      1.3044,  0.44,     0.96768,    0.44,      0.2148801, 0.4649602, 1.76,   0.2301201,
      -2,      -1.11808, 1.81488,    0.2227199, -0.68,     0.2181599, -0.4,   0.3526399}},
    {{Interpolation::kBilinear, OutsidePixels::kBorder, true},
     {-0.3944,  -0.3724799, 0.1049599, -1.16,   0.13916,    -0.92312,  1.2056,  -0.4571601,
      1.273003, 0.44,       0.7821649, 0.16784, 0.04616,    0.1366401, 1.31156, 0.07979859,
      -2,       -0.7631986, 1.64616,   0.50848, 0.09567991, 0.1400415, -0.4,    0.2411599}},
    {{Interpolation::kBilinear, OutsidePixels::kReflection, false},
     {-0.06488001, 0.1266075,  -0.2956001, -0.6892135,  -0.63232,  1.06848,   0.7290592, -1.140048,
      1.3044,      0.01345368, 0.96768,    -0.46656,    0.2148801, 0.3519412, 0.1619993, 0.2301201,
      -1.347659,   -1.11808,   1.81488,    -0.00122121, 1.156001,  0.2181599, -0.65152,  0.3526399}},
    {{Interpolation::kBilinear, OutsidePixels::kReflection, true},
     {0.67564,    0.01918359, 0.1049599, 0.01033329, 0.13916,    0.8433485, 0.4646696,  -0.6181036,
      1.273003,   -0.3816131, 0.7821649, -0.2021883, -0.3635943, 0.2900106, -0.3804401, 0.07979859,
      -0.7157094, -0.7631986, 1.02576,   -0.3026106, 0.9379721,  0.1400415, -0.52512,   0.2411599}},
    {{Interpolation::kNearest, OutsidePixels::kZeros, false},
     {0, 0, 0.32, 0, -0.36, 0, 0, 0, 1.92, 0, 1.24, 0, 0, 0, 0, -0.52, 0, -1.2, 0, 0, 0, 1.08, 0, 0.4}},
    {{Interpolation::kNearest, OutsidePixels::kZeros, true},
     {0,    0, 0.32, -1.16, -0.36, 0,    0,    0, 1.92, 0.44, 1.24, 0,
      0.28, 0, 0,    -0.52, 0,     -1.2, 1.88, 0, 0,    1.08, 0,    0.4}},
    {{Interpolation::kNearest, OutsidePixels::kBorder, false},
     {-1.56, -1.44, 0.32, -1.16, -0.36, -1.16, 0.04, 0.16, 1.92,  0.44, 1.24, 0.44,
      0.28,  -0.52, 1.76, -0.52, -2,    -1.2,  1.88, 1.08, -0.68, 1.08, -0.4, 0.4}},
    {{Interpolation::kNearest, OutsidePixels::kBorder, true},
     {0.32, -1.44, 0.32, -1.16, -0.36, -1.16, 1.92, 0.16, 1.92,  0.44, 1.24, 0.44,
      0.28, -0.52, 1.76, -0.52, -2,    -1.2,  1.88, 1.08, -0.68, 1.08, -0.4, 0.4}},
    {{Interpolation::kNearest, OutsidePixels::kReflection, false},
     {-1.56, 0.72,  0.32,  -1.16, -0.36, 1.4,  0.04, -1.72, 1.92, 0.44, 1.24, -1.04,
      0.28,  -0.52, -0.12, -0.52, -2,    -1.2, 1.88, 1.08,  1.48, 1.08, -0.4, 0.4}},
    {{Interpolation::kNearest, OutsidePixels::kReflection, true},
     {1.8,  0.72, 0.32,  -1.16, -0.36, 1.4,  -0.64, -1.72, 1.92, 0.44, 1.24,  -1.04,
      0.28, 0.96, -0.12, -0.52, 0.56,  -1.2, 1.88,  -1.48, 1.48, 1.08, -1.88, 0.4}},
};

TEST_F(SamplingTest, GridSampleLikeOnnxRuntime) {
  const std::vector<double> x = Spread(48, -2, 2), grid = Spread(24, -1.9, 1.9, 29);
  Values got = Compute([&](Builder& b) {
    for (size_t i = 0; i < kSamples.size(); ++i) {
      b.Output(std::to_string(i), GridSample(Vector(b, x, {2, 2, 3, 4}, F32),
                                             Vector(b, grid, {2, 2, 3, 2}, F32), kSamples[i].options));
    }
    b.Output("far", GridSample(Vector(b, x, {2, 2, 3, 4}, F32), b.Full(F32, {2, 1, 1, 2}, 1e30)));
  });
  for (size_t i = 0; i < kSamples.size(); ++i) {
    for (size_t k = 0; k < 24; ++k) {
      EXPECT_NEAR(got[std::to_string(i)][k], kSamples[i].want[k], 2e-5) << i << " " << k;
    }
  }
  EXPECT_EQ(got["far"], std::vector<double>(4, 0));
}

TEST_F(SamplingTest, AffineGridLikeOnnxRuntime) {
  Values got = Compute([](Builder& b) {
    const Tensor theta = Vector(b, {0.9, 0.2, -0.1, 0.3, 1.1, 0.4}, {1, 2, 3});
    b.Output("edges", AffineGrid(theta, {2, 3}));
    b.Output("corners", AffineGrid(theta, {2, 3}, true));
  });
  const std::vector<double> edges = {-0.8, -0.35, -0.2, -0.15, 0.4, 0.05, -0.6, 0.75, 0, 0.95, 0.6, 1.15},
                            corners = {-1.2, -1, -0.3, -0.7, 0.6, -0.4, -0.8, 1.2, 0.1, 1.5, 1, 1.8};
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_NEAR(got["edges"][i], edges[i], 1e-12);
    EXPECT_NEAR(got["corners"][i], corners[i], 1e-12);
  }
}

TEST_F(SamplingTest, GradientsAreThoseOfDifferences) {
  const std::vector<double> images = Spread(12, -2, 2);
  for (const OutsidePixels outside :
       {OutsidePixels::kZeros, OutsidePixels::kBorder, OutsidePixels::kReflection}) {
    ExpectGradient({0.9, 0.2, -0.1, 0.3, 1.1, 0.4}, {1, 2, 3}, [&](Builder& b, const Tensor& theta) {
      return Sum(Square(
          GridSample(Vector(b, images, {1, 1, 3, 4}), AffineGrid(theta, {2, 3}), {.outside = outside})));
    });
  }
  ExpectGradient(images, {1, 1, 3, 4}, [](Builder& b, const Tensor& x) {
    const Tensor grid = Vector(b, Spread(12, -1.2, 1.2), {1, 2, 3, 2});
    return Sum(Square(GridSample(x, grid))) +
           Sum(Square(GridSample(x, grid, {.interpolation = Interpolation::kNearest})));
  });
}

TEST_F(SamplingTest, PoolsAreUndone) {
  Values got = Compute([](Builder& b) {
    const Tensor x = Vector(b, {1, 5, 2, 0, 3, 4, -1, 7, -5, -6, -7, -8}, {1, 1, 3, 4}, F32);
    const MaxPoolPlaces pool = MaxPool2dWithPlaces(x, {2, 2});
    b.Output("values", pool.values);
    b.Output("places", pool.places);
    b.Output("back", MaxUnpool2d(pool.values, pool.places, {3, 4}));
    const MaxPoolPlaces padded =
        MaxPool2dWithPlaces(x - 10.0, {3, 3}, {.strides = {2, 2}, .padding = {1, 1, 1, 1}});
    b.Output("padded", padded.values);
    b.Output("padded places", padded.places);
    const MaxPoolPlaces close = MaxPool2dWithPlaces(x, {2, 2}, {.strides = {1, 1}});
    b.Output("overlapping", MaxUnpool2d(close.values, close.places, {3, 4}));
    const Tensor two = Concat({x, x * 2.0}, 1);
    const MaxPoolPlaces both = MaxPool2dWithPlaces(two, {3, 4});
    b.Output("both", MaxUnpool2d(both.values, both.places, {3, 4}));
  });
  EXPECT_EQ(got["values"], (std::vector<double>{5, 7}));
  EXPECT_EQ(got["places"], (std::vector<double>{1, 7}));
  EXPECT_EQ(got["back"], (std::vector<double>{0, 5, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0}));
  EXPECT_EQ(got["padded"], (std::vector<double>{-5, -3, -6, -3}));
  EXPECT_EQ(got["padded places"], (std::vector<double>{1, 7, 5, 7}));
  EXPECT_EQ(got["overlapping"], (std::vector<double>{0, 5, 0, 0, 0, 4, 0, 7, 0, 0, 0, 0}));
  std::vector<double> both(24, 0);
  both[7] = 7;
  both[19] = 14;
  EXPECT_EQ(got["both"], both);
}

TEST_F(SamplingTest, UnpoolingHasTheGradientOfDifferences) {
  ExpectGradient(Spread(12, -1, 1), {1, 1, 3, 4}, [](Builder&, const Tensor& x) {
    const MaxPoolPlaces pool = MaxPool2dWithPlaces(x, {2, 2}, {.strides = {1, 1}});
    return Sum(Square(MaxUnpool2d(pool.values, pool.places, {4, 4})));
  });
}

// Returns trilinear samples of volumes of one channel, with zeros outside, of places as AffineGrid3d makes.
std::vector<double> SampledVolume(const std::vector<double>& x, const std::array<int64_t, 3>& sizes,
                                  const std::vector<double>& grid) {
  std::vector<double> samples;
  for (size_t p = 0; p + 2 < grid.size(); p += 3) {
    double sum = 0;
    // Each element has a weight that falls with its distance in each dimension.
    for (int64_t z = 0; z < sizes[0]; ++z)
      for (int64_t y = 0; y < sizes[1]; ++y)
        for (int64_t w = 0; w < sizes[2]; ++w) {
          double weight = 1;
          const int64_t at[] = {w, y, z};
          for (size_t d = 0; d < 3; ++d) {
            const double place = (grid[p + d] + 1) * static_cast<double>(sizes[2 - d]) / 2 - 0.5;
            weight *= std::max(0.0, 1 - std::fabs(place - static_cast<double>(at[d])));
          }
          sum += weight * x[static_cast<size_t>((z * sizes[1] + y) * sizes[2] + w)];
        }
    samples.push_back(sum);
  }
  return samples;
}

TEST_F(SamplingTest, VolumesAreSampledLikeImages) {
  const std::vector<double> x = Spread(24, -2, 2), grid = Spread(30, -1.3, 1.3, 29);
  const std::vector<double> theta = {0.9, 0.2, -0.1, 0.3, 0.1, 1.1, 0.3, -0.2, 0.4, -0.3, 0.8, 0.1};
  Values got = Compute([&](Builder& b) {
    const Tensor volume = Vector(b, x, {1, 1, 2, 3, 4});
    b.Output("y", GridSample(volume, Vector(b, grid, {1, 5, 1, 2, 3})));
    b.Output("places", AffineGrid3d(Vector(b, theta, {1, 3, 4}), {2, 3, 2}, true));
    // A grid of the volume itself.
    const Tensor same = AffineGrid3d(Vector(b, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}, {1, 3, 4}), {2, 3, 4});
    b.Output("same", GridSample(volume, same));
    b.Output("nearest",
             GridSample(volume, same * 1.1,
                        {.interpolation = Interpolation::kNearest, .outside = OutsidePixels::kBorder}));
  });
  const std::vector<double> want = SampledVolume(x, {2, 3, 4}, grid);
  ASSERT_EQ(got["y"].size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got["y"][i], want[i], 1e-12) << i;
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(got["same"][i], x[i], 1e-12);
    EXPECT_NEAR(got["nearest"][i], x[i], 1e-12);
  }
  for (int64_t i = 0; i < 12; ++i) {
    const double place[] = {i % 2 == 0 ? -1.0 : 1.0, static_cast<double>(i / 2 % 3) - 1, i < 6 ? -1.0 : 1.0,
                            1};
    for (size_t d = 0; d < 3; ++d) {
      double sum = 0;
      for (size_t k = 0; k < 4; ++k) sum += theta[d * 4 + k] * place[k];
      EXPECT_NEAR(got["places"][static_cast<size_t>(i) * 3 + d], sum, 1e-12);
    }
  }
}

TEST_F(SamplingTest, SampledVolumesHaveTheGradientsOfDifferences) {
  ExpectGradient({0.9, 0.2, -0.1, 0.31, 0.1, 1.1, 0.3, -0.21, 0.4, -0.3, 0.8, 0.1}, {1, 3, 4},
                 [](Builder& b, const Tensor& theta) {
                   return Sum(Square(GridSample(Vector(b, Spread(24, -2, 2), {1, 1, 2, 3, 4}),
                                                AffineGrid3d(theta, {2, 2, 3}))));
                 });
  ExpectGradient(Spread(12, -2, 2), {1, 1, 2, 2, 3}, [](Builder& b, const Tensor& x) {
    return Sum(Square(GridSample(x, Vector(b, Spread(18, -1.2, 1.2), {1, 1, 2, 3, 3}))));
  });
}

TEST_F(SamplingTest, PoolsOfSignalsAreUndone) {
  Values got = Compute([](Builder& b) {
    const Tensor x = Vector(b, {1, 5, 2, 0, 3, -4, -1, 7}, {1, 2, 4}, F32);
    const MaxPoolPlaces pool = MaxPool1dWithPlaces(x, 2);
    b.Output("values", pool.values);
    b.Output("places", pool.places);
    b.Output("back", MaxUnpool1d(pool.values, pool.places, 4));
    b.Output("longer", MaxUnpool1d(pool.values, pool.places, 5));
    b.Output("padded", MaxPool1dWithPlaces(x, 3, {.stride = 2, .padding = {1, 0}, .ceil_mode = true}).places);
  });
  EXPECT_EQ(got["values"], (std::vector<double>{5, 2, 3, 7}));
  EXPECT_EQ(got["places"], (std::vector<double>{1, 2, 0, 3}));
  EXPECT_EQ(got["back"], (std::vector<double>{0, 5, 2, 0, 3, 0, 0, 7}));
  EXPECT_EQ(got["longer"], (std::vector<double>{0, 5, 2, 0, 0, 3, 0, 0, 7, 0}));
  EXPECT_EQ(got["padded"], (std::vector<double>{1, 1, 0, 3}));
}

TEST_F(SamplingTest, PoolsOfVolumesAreUndone) {
  const std::vector<double> x = Spread(2 * 4 * 4 * 6, -3, -1);
  Values got = Compute([&](Builder& b) {
    const Tensor in = Vector(b, x, {1, 2, 4, 4, 6});
    const MaxPoolPlaces pool = MaxPool3dWithPlaces(in, {2, 2, 3});
    b.Output("places", pool.places);
    b.Output("back", MaxUnpool3d(pool.values, pool.places, {4, 4, 6}));
    const MaxPoolPlaces padded =
        MaxPool3dWithPlaces(in, {3, 2, 2}, {.strides = {2, 2, 3}, .padding = {1, 1, 1, 0, 0, 1}});
    b.Output("padded", padded.values);
    b.Output("padded places", padded.places);
  });
  // The first of the largest elements of a window, in the order of their places.
  const auto largest = [&](int64_t c, const std::array<int64_t, 3>& from, const std::array<int64_t, 3>& to) {
    int64_t best = -1;
    for (int64_t z = std::max<int64_t>(from[0], 0); z < std::min<int64_t>(to[0], 4); ++z)
      for (int64_t y = std::max<int64_t>(from[1], 0); y < std::min<int64_t>(to[1], 4); ++y)
        for (int64_t w = std::max<int64_t>(from[2], 0); w < std::min<int64_t>(to[2], 6); ++w) {
          const int64_t at = (z * 4 + y) * 6 + w;
          if (best < 0 || x[static_cast<size_t>(c * 96 + at)] > x[static_cast<size_t>(c * 96 + best)])
            best = at;
        }
    return best;
  };
  std::vector<double> back(x.size(), 0);
  size_t i = 0;
  for (int64_t c = 0; c < 2; ++c)
    for (int64_t z = 0; z < 2; ++z)
      for (int64_t y = 0; y < 2; ++y)
        for (int64_t w = 0; w < 2; ++w, ++i) {
          const int64_t at = largest(c, {2 * z, 2 * y, 3 * w}, {2 * z + 2, 2 * y + 2, 3 * w + 3});
          EXPECT_EQ(got["places"][i], static_cast<double>(at));
          back[static_cast<size_t>(c * 96 + at)] = x[static_cast<size_t>(c * 96 + at)];
        }
  EXPECT_EQ(got["back"], back);
  i = 0;
  for (int64_t c = 0; c < 2; ++c)
    for (int64_t z = 0; z < 2; ++z)
      for (int64_t y = 0; y < 2; ++y)
        for (int64_t w = 0; w < 2; ++w, ++i) {
          const int64_t at = largest(c, {2 * z - 1, 2 * y - 1, 3 * w}, {2 * z + 2, 2 * y + 1, 3 * w + 2});
          EXPECT_EQ(got["padded places"][i], static_cast<double>(at)) << i;
          EXPECT_EQ(got["padded"][i], x[static_cast<size_t>(c * 96 + at)]);
        }
  ASSERT_EQ(got["padded"].size(), i);
}

TEST_F(SamplingTest, UnpooledSignalsAndVolumesHaveTheGradientsOfDifferences) {
  ExpectGradient(Spread(8, -1, 1), {1, 2, 4}, [](Builder&, const Tensor& x) {
    const MaxPoolPlaces pool = MaxPool1dWithPlaces(x, 2);
    return Sum(Square(MaxUnpool1d(pool.values, pool.places, 4)));
  });
  ExpectGradient(Spread(16, -1, 1), {1, 1, 4, 2, 2}, [](Builder&, const Tensor& x) {
    const MaxPoolPlaces pool = MaxPool3dWithPlaces(x, {2, 2, 1});
    return Sum(Square(MaxUnpool3d(pool.values, pool.places, {4, 2, 2})));
  });
}

class SamplingErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(SamplingErrorTest, Says) { ExpectSays(GetParam(), "sampling_test.cc:"); }
INSTANTIATE_TEST_SUITE_P(
    Cases, SamplingErrorTest,
    ::testing::Values(
        In("Theta", [](Builder& b) { AffineGrid(X(b), {2, 2}); },
           {"AffineGrid(f32[2,3])", "takes floats [N, 2, 3]"}),
        In("GridSize", [](Builder& b) { AffineGrid(X(b, {1, 2, 3}), {0, 2}); },
           {"makes a grid of 0x2; expected 1x1 or more"}),
        In("Images", [](Builder& b) { GridSample(X(b), X(b)); },
           {"takes float images [N, C, H, W] or volumes"}),
        In("VolumeGrid", [](Builder& b) { GridSample(X(b, {2, 1, 3, 3, 3}), X(b, {2, 1, 2, 2, 2})); },
           {"takes a grid [2, D', H', W', 3] of the volumes' element type"}),
        In("VolumeTheta", [](Builder& b) { AffineGrid3d(X(b), {2, 2, 2}); },
           {"AffineGrid3d(f32[2,3])", "takes floats [N, 3, 4]"}),
        In("PoolOfSignals", [](Builder& b) { MaxPool1dWithPlaces(X(b), 2); },
           {"MaxPool1dWithPlaces(f32[2,3])", "takes float signals of shape [N, C, L]"}),
        In("PoolOfVolumes", [](Builder& b) { MaxPool3dWithPlaces(X(b), {2, 2, 2}); },
           {"MaxPool3dWithPlaces(f32[2,3])", "takes float volumes of shape [N, C, D, H, W]"}),
        In("UnpoolOfSignals", [](Builder& b) { MaxUnpool1d(X(b, {1, 1, 2}), X(b, {1, 1, 2}, I32), 0); },
           {"makes signals of 0; expected 1 or more"}),
        In("UnpoolOfVolumes", [](Builder& b) { MaxUnpool3d(X(b), X(b, {2, 3}, I32), {2, 2, 2}); },
           {"MaxUnpool3d(f32[2,3], i32[2,3])", "takes float volumes [N, C, D, H, W]"}),
        In("Grid", [](Builder& b) { GridSample(X(b, {2, 1, 3, 3}), X(b, {1, 2, 2, 2})); },
           {"GridSample(f32[2,1,3,3], f32[1,2,2,2])", "takes a grid [2, H', W', 2]"}),
        In("Bicubic",
           [](Builder& b) {
             GridSample(X(b, {1, 1, 3, 3}), X(b, {1, 2, 2, 2}), {.interpolation = Interpolation::kBicubic});
           },
           {"samples kNearest or kBilinear"}),
        In("PoolRank", [](Builder& b) { MaxPool2dWithPlaces(X(b), {2, 2}); }, {"takes float images"}),
        In("UnpoolRank", [](Builder& b) { MaxUnpool2d(X(b), X(b, {2, 3}, I32), {2, 2}); },
           {"MaxUnpool2d(f32[2,3], i32[2,3])", "takes float images [N, C, H, W]"}),
        In("Places", [](Builder& b) { MaxUnpool2d(X(b, {1, 1, 2, 2}), X(b, {1, 1, 2, 2}), {4, 4}); },
           {"takes places of type i32[1,1,2,2]"}),
        In("UnpoolSize", [](Builder& b) { MaxUnpool2d(X(b, {1, 1, 2, 2}), X(b, {1, 1, 2, 2}, I32), {0, 4}); },
           {"makes images of 0x4; expected 1x1 or more"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
