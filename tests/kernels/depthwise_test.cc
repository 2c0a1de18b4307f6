// Compares with loops in double precision. All instruction sets and thread counts must give the same bits.
#include "sinter/kernels/cpu/images/depthwise.h"

#include <gtest/gtest.h>

#include <string>

#include "sinter/kernels/cpu/math/activation.h"
#include "sinter/tests/kernels/conv_judge.h"

namespace sinter::kernels {
namespace {

std::vector<const DepthwiseKernels*> AllDepthwiseKernels() {
#if defined(__x86_64__)
  std::vector<const DepthwiseKernels*> all = {&DepthwiseKernelsOf<Isa::kV3>()};
  if (BestIsa() >= Isa::kV4) all.push_back(&DepthwiseKernelsOf<Isa::kV4>());
  return all;
#else
  return {&DepthwiseKernelsOf<Isa::kBaseline>()};
#endif
}

std::string NameOf(const Conv& c) {
  const auto text = [](int64_t a, int64_t b) { return std::to_string(a) + "x" + std::to_string(b); };
  return std::to_string(c.in_channels) + " to " + std::to_string(c.out_channels) + " channels of " +
         text(c.in_h, c.in_w) + ", window " + text(c.kernel_h, c.kernel_w) + ", strides " +
         text(c.stride_h, c.stride_w) + ", dilation " + text(c.dilation_h, c.dilation_w) + ", padding " +
         text(c.pad_top, c.pad_left) + ", type " + std::to_string(c.dtype) +
         (c.channels_last ? ", channels last" : "");
}

template <typename E>
void Check(const ConvGeometry& geometry, bool channels_last) {
  const Conv c{geometry, E::kDType, channels_last};
  const std::string what = NameOf(c);
  ASSERT_TRUE(HasDepthwise(c)) << what;
  const auto x = RandomValues<E>(c.image_elements());
  const auto w = RandomValues<E>(c.weight_elements());
  const auto g = RandomValues<E>(c.result_elements());
  const auto bias = RandomValues<E>(c.out_channels);
  const ConvLoops<E> judge(c, x, w, g);
  const auto kernels = AllDepthwiseKernels();
  CheckConvPass<E>(what + ", forward", c, ConvPass::kForward, judge.y, kernels,
                   [&](void* y, void* room, const Parallel& parallel, const DepthwiseKernels& k) {
                     RunDepthwiseForward(c, x.stored.data(), w.stored.data(), nullptr, y, room, parallel, k);
                   });
  CheckConvPass<E>(what + ", gradient of images", c, ConvPass::kInputGrad, judge.dx, kernels,
                   [&](void* dx, void* room, const Parallel& parallel, const DepthwiseKernels& k) {
                     RunDepthwiseInputGrad(c, g.stored.data(), w.stored.data(), dx, room, parallel, k);
                   });
  CheckConvPass<E>(what + ", gradient of weights", c, ConvPass::kWeightGrad, judge.dw, kernels,
                   [&](void* dw, void* room, const Parallel& parallel, const DepthwiseKernels& k) {
                     RunDepthwiseWeightGrad(c, x.stored.data(), g.stored.data(), dw, room, parallel, k);
                   });
  // With bias and relu.
  Conv relu = c;
  relu.activation = SN_RELU;
  std::vector<double> want = judge.y;
  for (int64_t i = 0; i < static_cast<int64_t>(want.size()); ++i) {
    const int64_t channel = channels_last ? i % c.out_channels : i / c.out_pixels() % c.out_channels;
    want[static_cast<size_t>(i)] = std::max(0.0, want[static_cast<size_t>(i)] + bias[channel]);
  }
  CheckConvPass<E>(what + ", bias and relu", relu, ConvPass::kForward, want, kernels,
                   [&](void* y, void* room, const Parallel& parallel, const DepthwiseKernels& k) {
                     RunDepthwiseForward(relu, x.stored.data(), w.stored.data(), bias.stored.data(), y, room,
                                         parallel, k);
                   });
}

// Sets the sizes of the results, with padding `bottom` and `right` behind.
ConvGeometry WithResults(ConvGeometry c, int64_t bottom, int64_t right) {
  c.pad_bottom = bottom, c.pad_right = right;
  c.out_h = WindowPositions(c.in_h, c.pad_top, bottom, WindowExtent(c.kernel_h, c.dilation_h), c.stride_h);
  c.out_w = WindowPositions(c.in_w, c.pad_left, right, WindowExtent(c.kernel_w, c.dilation_w), c.stride_w);
  return c;
}

void CheckAll(const ConvGeometry& geometry, int64_t bottom, int64_t right) {
  const ConvGeometry c = WithResults(geometry, bottom, right);
  for (const bool channels_last : {false, true}) {
    Check<Element<float, float, kF32>>(c, channels_last);
    Check<Element<double, double, kF64>>(c, channels_last);
    Check<Element<uint16_t, float, kBf16>>(c, channels_last);
    Check<Element<uint16_t, float, kF16>>(c, channels_last);
  }
}

// Describes images, windows and equal padding on both sides of each dimension.
struct Shape {
  int64_t batch, channels, multiplier, h, w;
};
struct Window {
  int64_t h, w, stride_h, stride_w, dilation_h, dilation_w, pad_h, pad_w;
};
void CheckShape(const Shape& s, const Window& k) {
  CheckAll({.batch = s.batch,
            .in_channels = s.channels,
            .out_channels = s.channels * s.multiplier,
            .groups = s.channels,
            .in_h = s.h,
            .in_w = s.w,
            .kernel_h = k.h,
            .kernel_w = k.w,
            .stride_h = k.stride_h,
            .stride_w = k.stride_w,
            .pad_top = k.pad_h,
            .pad_left = k.pad_w,
            .dilation_h = k.dilation_h,
            .dilation_w = k.dilation_w},
           k.pad_h, k.pad_w);
}

TEST(DepthwiseTest, SquareWindows) {
  // Whole vectors; several blocks, the last not full; a few channels, which share a vector with other pixels.
  for (const int64_t channels : {16, 64, 72, 150, 3, 2, 24}) {
    CheckShape({2, channels, 1, 7, 9}, {3, 3, 1, 1, 1, 1, 1, 1});
    CheckShape({1, channels, 1, 10, 7}, {3, 3, 2, 2, 1, 1, 1, 1});
  }
  CheckShape({1, 40, 1, 9, 8}, {5, 5, 1, 1, 1, 1, 2, 2});
  CheckShape({1, 20, 1, 11, 12}, {5, 5, 2, 2, 1, 1, 2, 2});
  CheckShape({1, 33, 1, 9, 10}, {7, 7, 1, 1, 1, 1, 3, 3});
  CheckShape({1, 7, 1, 9, 10}, {7, 7, 2, 2, 1, 1, 3, 3});
}

TEST(DepthwiseTest, SeveralTiles) {
  CheckShape({1, 70, 1, 37, 35}, {3, 3, 1, 1, 1, 1, 1, 1});
  CheckShape({1, 17, 1, 37, 41}, {3, 3, 2, 2, 1, 1, 1, 1});
  CheckShape({1, 2, 1, 33, 150}, {5, 3, 1, 2, 1, 1, 2, 1});
  // More images than parts of a weight gradient.
  CheckShape({70, 5, 1, 3, 3}, {3, 3, 1, 1, 1, 1, 1, 1});
}

TEST(DepthwiseTest, Lines) {
  CheckShape({2, 35, 1, 1, 300}, {1, 9, 1, 1, 1, 1, 0, 4});
  CheckShape({1, 16, 1, 1, 700}, {1, 4, 1, 1, 1, 8, 0, 0});
  CheckShape({1, 3, 2, 1, 45}, {1, 31, 1, 3, 1, 1, 0, 15});
  CheckShape({1, 6, 1, 50, 1}, {3, 1, 2, 1, 1, 1, 1, 0});
}

TEST(DepthwiseTest, Multipliers) {
  CheckShape({2, 24, 2, 6, 7}, {3, 3, 1, 1, 1, 1, 1, 1});
  CheckShape({1, 50, 3, 8, 7}, {3, 3, 2, 2, 1, 1, 1, 1});
  CheckShape({1, 2, 8, 5, 9}, {2, 3, 1, 2, 1, 2, 0, 1});
  CheckShape({1, 3, 1, 6, 6}, {1, 1, 1, 1, 1, 1, 0, 0});
}

TEST(DepthwiseTest, StridesAndDilation) {
  for (const int64_t stride : {1, 2, 3, 4}) {
    for (const int64_t dilation : {1, 2, 3, 4, 6}) {
      CheckShape({1, 18, 1, 17, 15}, {3, 2, stride, stride, dilation, dilation, 3, 2});
      CheckShape({1, 36, 1, 16, 13}, {2, 3, stride, 1, 1, dilation, 0, 5});
    }
  }
  // A stride that leaves sources out, and images that no window reaches.
  CheckShape({1, 32, 1, 14, 15}, {2, 2, 5, 4, 1, 1, 0, 0});
  CheckShape({1, 4, 1, 9, 9}, {1, 1, 3, 2, 1, 1, 0, 0});
}

TEST(DepthwiseTest, Padding) {
  // Windows that see nothing but padding; padding on one side.
  CheckShape({1, 19, 1, 2, 3}, {3, 3, 1, 1, 1, 1, 5, 6});
  CheckShape({1, 64, 1, 1, 1}, {3, 3, 2, 2, 2, 2, 4, 4});
  CheckAll(WithResults({.batch = 1,
                        .in_channels = 21,
                        .out_channels = 21,
                        .groups = 21,
                        .in_h = 6,
                        .in_w = 5,
                        .kernel_h = 4,
                        .kernel_w = 3,
                        .stride_w = 2,
                        .pad_left = 2},
                       3, 0),
           3, 0);
}

TEST(DepthwiseTest, LeavesOthersAlone) {
  Conv c{WithResults({.batch = 1,
                      .in_channels = 8,
                      .out_channels = 8,
                      .groups = 8,
                      .in_h = 5,
                      .in_w = 5,
                      .kernel_h = 3,
                      .kernel_w = 3},
                     0, 0),
         kF32};
  EXPECT_TRUE(HasDepthwise(c));
  c.groups = 4;
  EXPECT_FALSE(HasDepthwise(c));
  c.groups = 1;
  EXPECT_FALSE(HasDepthwise(c));
  c.groups = 8, c.batch = 0;
  EXPECT_FALSE(HasDepthwise(c));
  // A window of a million taps.
  c = {WithResults({.batch = 1,
                    .in_channels = 8,
                    .out_channels = 8,
                    .groups = 8,
                    .in_h = 1024,
                    .in_w = 1024,
                    .kernel_h = 1024,
                    .kernel_w = 1024},
                   0, 0),
       kF32};
  EXPECT_FALSE(HasDepthwise(c));
}

// Infinities and NaN reach the results of their own channel and windows, and no others.
TEST(DepthwiseTest, KeepsInfinitiesApart) {
  for (const bool channels_last : {false, true}) {
    const Conv c{WithResults({.batch = 1,
                              .in_channels = 3,
                              .out_channels = 3,
                              .groups = 3,
                              .in_h = 1,
                              .in_w = 7,
                              .kernel_w = 2},
                             0, 0),
                 kF32, channels_last};
    std::vector<float> x(21, 1), g(18, 1), dw(6);
    x[static_cast<size_t>(ImageAt(c, 0, 1, 0, 6, false))] = INFINITY;
    std::vector<float> room(DepthwiseWorkspaceBytes(c, ConvPass::kWeightGrad, 1) / sizeof(float) + 16, NAN);
    const size_t before = reinterpret_cast<uintptr_t>(room.data()) % 64;
    RunDepthwiseWeightGrad(c, x.data(), g.data(), dw.data(), room.data() + (64 - before) % 64 / sizeof(float),
                           InTurn(1), BestDepthwiseKernels());
    EXPECT_EQ(dw, (std::vector<float>{6, 6, 6, INFINITY, 6, 6}));
  }
}

}  // namespace
}  // namespace sinter::kernels
