// Compares with loops in double precision, for every instruction set of the running CPU.
#include "sinter/kernels/cpu/images/batch_conv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "sinter/kernels/cpu/images/batch_isa.h"
#include "sinter/tests/kernels/batch_images.h"

namespace sinter::kernels {
namespace {

struct Case {
  BatchConv conv;
  std::vector<float> x, w, bias, g;
};

int64_t Places(int64_t size, int64_t padding, int64_t kernel, int64_t dilation, int64_t stride) {
  return (size + padding - dilation * (kernel - 1) - 1) / stride + 1;
}

// `bottom` and `right` are the padding after the image.
Case MakeCase(const ConvGeometry& geometry, int64_t bottom, int64_t right) {
  BatchConv conv{geometry};
  conv.out_h = Places(conv.in_h, conv.pad_top + bottom, conv.kernel_h, conv.dilation_h, conv.stride_h);
  conv.out_w = Places(conv.in_w, conv.pad_left + right, conv.kernel_w, conv.dilation_w, conv.stride_w);
  const int64_t images = conv.batch;
  return {conv, RandomFloats(images * conv.in_channels * conv.in_h * conv.in_w),
          RandomFloats(BatchConvWeightGradElements(conv)), RandomFloats(conv.out_channels),
          RandomFloats(images * conv.out_channels * conv.out_h * conv.out_w)};
}

struct Results {
  std::vector<double> y, dx, dw;  // y: with bias, without relu.
};

// Visits each multiplication of a convolution once: y += x w, dx += g w, dw += x g.
Results Judge(const Case& test) {
  const BatchConv& c = test.conv;
  Results results{std::vector<double>(test.g.size()), std::vector<double>(test.x.size()),
                  std::vector<double>(test.w.size())};
  const int64_t in = c.in_channels / c.groups, out = c.out_channels / c.groups;
  for (int64_t n = 0; n < c.batch; ++n) {
    for (int64_t o = 0; o < c.out_channels; ++o) {
      for (int64_t oy = 0; oy < c.out_h; ++oy) {
        for (int64_t ox = 0; ox < c.out_w; ++ox) {
          const int64_t at = BatchOffset(n, o, oy, ox, c.out_channels, c.out_h, c.out_w);
          results.y[at] += test.bias[o];
          for (int64_t i = 0; i < in; ++i) {
            for (int64_t ky = 0; ky < c.kernel_h; ++ky) {
              for (int64_t kx = 0; kx < c.kernel_w; ++kx) {
                const int64_t iy = oy * c.stride_h + ky * c.dilation_h - c.pad_top;
                const int64_t ix = ox * c.stride_w + kx * c.dilation_w - c.pad_left;
                if (iy < 0 || ix < 0 || iy >= c.in_h || ix >= c.in_w) continue;
                const int64_t from = BatchOffset(n, o / out * in + i, iy, ix, c.in_channels, c.in_h, c.in_w);
                const int64_t w = ((o * in + i) * c.kernel_h + ky) * c.kernel_w + kx;
                results.y[at] += static_cast<double>(test.x[from]) * test.w[w];
                results.dx[from] += static_cast<double>(test.g[at]) * test.w[w];
                results.dw[w] += static_cast<double>(test.g[at]) * test.x[from];
              }
            }
          }
        }
      }
    }
  }
  return results;
}

struct Outputs {
  std::vector<float> y, relu, dx, dw;
};

// Splits the units of each function into `parts` contiguous parts, and runs the last part first.
template <typename Kernels>
Outputs RunAll(Kernels isa, const Case& test, int64_t parts) {
  const BatchConv& c = test.conv;
  const float stale = NAN;  // Makes unwritten elements visible.
  Outputs out{std::vector<float>(test.g.size(), stale), std::vector<float>(test.g.size(), stale),
              std::vector<float>(test.x.size(), stale), std::vector<float>(test.w.size(), stale)};
  std::vector<float> sums(BatchConvWeightGradWorkspaceBytes(c) / sizeof(float), stale);
  InParts(isa.ConvForwardUnits(c), parts, [&](int64_t begin, int64_t end) {
    isa.ConvForward(c, test.x.data(), test.w.data(), test.bias.data(), false, out.y.data(), begin, end);
    isa.ConvForward(c, test.x.data(), test.w.data(), nullptr, true, out.relu.data(), begin, end);
  });
  InParts(isa.ConvInputGradUnits(c), parts, [&](int64_t begin, int64_t end) {
    isa.ConvInputGrad(c, test.g.data(), test.w.data(), out.dx.data(), begin, end);
  });
  InParts(isa.ConvWeightGradUnits(c), parts, [&](int64_t begin, int64_t end) {
    isa.ConvWeightGrad(c, test.x.data(), test.g.data(), sums.data(), begin, end);
  });
  InParts(BatchConvWeightGradElements(c), parts, [&](int64_t begin, int64_t end) {
    BatchConvAddWeightGrads(c, sums.data(), out.dw.data(), begin, end);
  });
  return out;
}

// `terms` is the number of terms in the sum of one element.
void ExpectNear(const std::vector<float>& got, const std::vector<double>& want, double terms,
                const char* what) {
  ASSERT_EQ(got.size(), want.size());
  const double tolerance = 6e-8 * terms + 1e-6;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], tolerance * (1 + std::abs(want[i]))) << what << " at " << i;
  }
}

void Check(const Case& test) {
  const BatchConv& c = test.conv;
  const Results want = Judge(test);
  Results relu = want;
  for (size_t i = 0; i < want.y.size(); ++i) {
    const size_t channel = i / (c.out_h * c.out_w * kBatchBlock) % c.out_channels;
    relu.y[i] = std::max(0.0, want.y[i] - test.bias[channel]);
  }
  const double taps = static_cast<double>(c.kernel_h * c.kernel_w) / c.groups;
  ForEachIsa([&](auto isa) {
    const Outputs whole = RunAll(isa, test, 1);
    ExpectNear(whole.y, want.y, taps * c.in_channels, "y");
    ExpectNear(whole.relu, relu.y, taps * c.in_channels, "relu(y)");
    ExpectNear(whole.dx, want.dx, taps * c.out_channels, "dx");
    ExpectNear(whole.dw, want.dw, static_cast<double>(c.batch * c.out_h * c.out_w), "dw");
    for (int64_t parts : {2, 3, 1000}) {
      const Outputs split = RunAll(isa, test, parts);
      EXPECT_EQ(split.y, whole.y) << parts << " parts";
      EXPECT_EQ(split.relu, whole.relu) << parts << " parts";
      EXPECT_EQ(split.dx, whole.dx) << parts << " parts";
      EXPECT_EQ(split.dw, whole.dw) << parts << " parts";
    }
  });
}

TEST(BatchConvTest, LeNetsConvolutions) {
  Check(MakeCase({.batch = 32,
                  .in_channels = 1,
                  .out_channels = 20,
                  .in_h = 28,
                  .in_w = 28,
                  .kernel_h = 3,
                  .kernel_w = 3},
                 0, 0));
  Check(MakeCase({.batch = 16,
                  .in_channels = 20,
                  .out_channels = 50,
                  .in_h = 13,
                  .in_w = 13,
                  .kernel_h = 5,
                  .kernel_w = 5},
                 0, 0));
}

TEST(BatchConvTest, EveryWidthFromOnePixelOn) {
  for (int64_t width = 1; width <= 30; ++width) {
    SCOPED_TRACE(width);
    Check(MakeCase({.batch = 16,
                    .in_channels = 2,
                    .out_channels = 3,
                    .in_h = 3,
                    .in_w = width,
                    .kernel_h = 3,
                    .kernel_w = 3,
                    .pad_top = 1,
                    .pad_left = 1},
                   1, 1));
  }
}

TEST(BatchConvTest, EveryNumberOfChannels) {
  for (int64_t channels = 1; channels <= 14; ++channels) {
    SCOPED_TRACE(channels);
    Check(MakeCase({.batch = 16,
                    .in_channels = channels,
                    .out_channels = 15 - channels,
                    .in_h = 4,
                    .in_w = 5,
                    .kernel_h = 2,
                    .kernel_w = channels % 2 == 0 ? 3 : 5,
                    .pad_left = 3},
                   0, 2));
  }
}

TEST(BatchConvTest, PartsOfTheWeightGradient) {
  for (int64_t blocks : {1, 2, 3, 5, 7, 40}) {
    SCOPED_TRACE(blocks);
    Check(MakeCase({.batch = kBatchBlock * blocks,
                    .in_channels = 1,
                    .out_channels = 2,
                    .in_h = 3,
                    .in_w = 3,
                    .kernel_h = 2,
                    .kernel_w = 2},
                   0, 0));
  }
}

TEST(BatchConvTest, PointwiseAndDepthwise) {
  Check(MakeCase({.batch = 32, .in_channels = 7, .out_channels = 9, .in_h = 5, .in_w = 8}, 0, 0));
  Check(MakeCase({.batch = 16,
                  .in_channels = 6,
                  .out_channels = 12,
                  .groups = 6,
                  .in_h = 7,
                  .in_w = 9,
                  .kernel_h = 3,
                  .kernel_w = 3,
                  .pad_top = 1,
                  .pad_left = 1},
                 1, 1));
}

TEST(BatchConvTest, PaddingWiderThanTheImage) {
  Check(MakeCase({.batch = 16,
                  .in_channels = 2,
                  .out_channels = 2,
                  .in_h = 1,
                  .in_w = 2,
                  .kernel_h = 3,
                  .kernel_w = 5,
                  .pad_top = 3,
                  .pad_left = 6},
                 2, 7));
}

TEST(BatchConvTest, RandomShapes) {
  std::mt19937 random(7);
  const auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int i = 0; i < 150; ++i) {
    ConvGeometry conv{.batch = kBatchBlock * between(1, 3), .groups = between(1, 3)};
    conv.in_channels = conv.groups * between(1, 5), conv.out_channels = conv.groups * between(1, 9);
    conv.kernel_h = between(1, 6), conv.kernel_w = between(1, 7);
    conv.stride_h = between(1, 3), conv.stride_w = between(1, 4);
    conv.dilation_h = between(1, 3), conv.dilation_w = between(1, 3);
    conv.pad_top = between(0, 3), conv.pad_left = between(0, 3);
    const int64_t bottom = between(0, 3), right = between(0, 3);
    const int64_t least_h = conv.dilation_h * (conv.kernel_h - 1) + 1 - conv.pad_top - bottom;
    const int64_t least_w = conv.dilation_w * (conv.kernel_w - 1) + 1 - conv.pad_left - right;
    conv.in_h = std::max<int64_t>(1, least_h) + between(0, 8);
    conv.in_w = std::max<int64_t>(1, least_w) + between(0, 12);
    SCOPED_TRACE(testing::Message() << "shape " << i << ": kernel " << conv.kernel_h << "x" << conv.kernel_w
                                    << ", image " << conv.in_h << "x" << conv.in_w << ", strides "
                                    << conv.stride_h << " " << conv.stride_w << ", dilations "
                                    << conv.dilation_h << " " << conv.dilation_w);
    Check(MakeCase(conv, bottom, right));
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(BatchConvTest, ReluKeepsNan) {
  Case test = MakeCase({.batch = 16, .in_channels = 1, .out_channels = 1, .in_h = 1, .in_w = 3}, 0, 0);
  test.x[0] = NAN;
  ForEachIsa([&](auto isa) {
    const Outputs out = RunAll(isa, test, 1);
    EXPECT_TRUE(std::isnan(out.relu[0]));
    EXPECT_FALSE(std::isnan(out.relu[1]));
  });
}

TEST(BatchConvTest, PicksTheBestInstructionSet) {
  const Case test = MakeCase(
      {.batch = 16, .in_channels = 3, .out_channels = 5, .in_h = 6, .in_w = 6, .kernel_h = 3, .kernel_w = 3},
      0, 0);
  std::vector<float> y(test.g.size());
  BatchConvForward(test.conv, test.x.data(), test.w.data(), test.bias.data(), false, y.data(), 0,
                   BatchConvForwardUnits(test.conv));
  std::vector<float> want;
  ForEachIsa([&](auto isa) { want = RunAll(isa, test, 1).y; });  // The last is the best.
  EXPECT_EQ(y, want);
}

}  // namespace
}  // namespace sinter::kernels
