// Sampled images against ONNX Runtime's GridSample and AffineGrid (opset 20), and pools that are undone.
#include "sinter/frontend/ops/sampling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    const MaxPool2dPlaces pool = MaxPool2dWithPlaces(x, {2, 2});
    b.Output("values", pool.values);
    b.Output("places", pool.places);
    b.Output("back", MaxUnpool2d(pool.values, pool.places, {3, 4}));
    const MaxPool2dPlaces padded =
        MaxPool2dWithPlaces(x - 10.0, {3, 3}, {.strides = {2, 2}, .padding = {1, 1, 1, 1}});
    b.Output("padded", padded.values);
    b.Output("padded places", padded.places);
    const MaxPool2dPlaces close = MaxPool2dWithPlaces(x, {2, 2}, {.strides = {1, 1}});
    b.Output("overlapping", MaxUnpool2d(close.values, close.places, {3, 4}));
    const Tensor two = Concat({x, x * 2.0}, 1);
    const MaxPool2dPlaces both = MaxPool2dWithPlaces(two, {3, 4});
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
    const MaxPool2dPlaces pool = MaxPool2dWithPlaces(x, {2, 2}, {.strides = {1, 1}});
    return Sum(Square(MaxUnpool2d(pool.values, pool.places, {4, 4})));
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
        In("Images", [](Builder& b) { GridSample(X(b), X(b)); }, {"takes float images [N, C, H, W]"}),
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
