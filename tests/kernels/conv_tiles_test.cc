// Compares with loops in double precision. All instruction sets and thread counts must give the same bits.
#include "sinter/kernels/cpu/images/conv_tiles.h"

#include <gtest/gtest.h>

#include <string>

#include "sinter/tests/kernels/conv_judge.h"

namespace sinter::kernels {
namespace {

template <typename E>
void Check(const ConvGeometry& geometry, bool channels_last, int64_t bottom, int64_t right) {
  Conv c{geometry, E::kDType, channels_last};
  c.out_h = (c.in_h + c.pad_top + bottom - (c.kernel_h - 1) * c.dilation_h - 1) / c.stride_h + 1;
  c.out_w = (c.in_w + c.pad_left + right - (c.kernel_w - 1) * c.dilation_w - 1) / c.stride_w + 1;
  ASSERT_TRUE(HasConvTiles(c));
  const auto x = RandomValues<E>(c.batch * c.in_channels * c.in_h * c.in_w);
  const auto w = RandomValues<E>(c.out_channels * (c.in_channels / c.groups) * c.kernel_h * c.kernel_w);
  const auto g = RandomValues<E>(c.batch * c.out_channels * c.out_h * c.out_w);
  const ConvLoops<E> judge(c, x, w, g);
  const std::string what = std::to_string(c.in_channels) + " to " + std::to_string(c.out_channels) +
                           " channels, window " + std::to_string(c.kernel_h) + "x" +
                           std::to_string(c.kernel_w) + ", type " + std::to_string(c.dtype);
  CheckConvPass<E>(what + ", forward", c, ConvPass::kForward, judge.y, AllMatmulKernels(),
                   [&](void* y, void* room, const Parallel& parallel, const MatmulKernels& kernels) {
                     RunTiledForward(c, x.stored.data(), w.stored.data(), nullptr, y, room, parallel,
                                     kernels);
                   });
  CheckConvPass<E>(what + ", gradient of images", c, ConvPass::kInputGrad, judge.dx, AllMatmulKernels(),
                   [&](void* dx, void* room, const Parallel& parallel, const MatmulKernels& kernels) {
                     RunTiledInputGrad(c, g.stored.data(), w.stored.data(), dx, room, parallel, kernels);
                   });
  CheckConvPass<E>(what + ", gradient of weights", c, ConvPass::kWeightGrad, judge.dw, AllMatmulKernels(),
                   [&](void* dw, void* room, const Parallel& parallel, const MatmulKernels& kernels) {
                     RunTiledWeightGrad(c, x.stored.data(), g.stored.data(), dw, room, parallel, kernels);
                   });
}

void CheckTypes(const ConvGeometry& c, int64_t bottom = 0, int64_t right = 0) {
  for (const bool channels_last : {false, true}) {
    Check<Element<float, float, kF32>>(c, channels_last, bottom, right);
    Check<Element<double, double, kF64>>(c, channels_last, bottom, right);
    Check<Element<uint16_t, float, kBf16>>(c, channels_last, bottom, right);
  }
}

TEST(ConvTilesTest, SinglePixels) {
  // A matmul; few pixels, so that the weight gradient is summed in place; a stride, which is no matmul.
  CheckTypes({.batch = 2, .in_channels = 48, .out_channels = 40, .in_h = 5, .in_w = 7});
  CheckTypes({.batch = 1, .in_channels = 16, .out_channels = 420, .in_h = 1, .in_w = 3});
  CheckTypes({.batch = 2,
              .in_channels = 20,
              .out_channels = 33,
              .in_h = 6,
              .in_w = 5,
              .stride_h = 2,
              .stride_w = 2});
}

TEST(ConvTilesTest, Windows) {
  // The first layer of a network: few input channels.
  CheckTypes({.batch = 2,
              .in_channels = 3,
              .out_channels = 32,
              .in_h = 12,
              .in_w = 11,
              .kernel_h = 7,
              .kernel_w = 7,
              .stride_h = 2,
              .stride_w = 2,
              .pad_top = 3,
              .pad_left = 3},
             3, 3);
  CheckTypes({.batch = 2,
              .in_channels = 17,
              .out_channels = 35,
              .in_h = 9,
              .in_w = 10,
              .kernel_h = 3,
              .kernel_w = 3,
              .pad_top = 1,
              .pad_left = 1},
             1, 1);
  // Each remainder modulo the strides has its own taps; one remainder has none.
  CheckTypes({.batch = 1,
              .in_channels = 32,
              .out_channels = 16,
              .in_h = 9,
              .in_w = 8,
              .kernel_h = 2,
              .kernel_w = 3,
              .stride_h = 3,
              .stride_w = 2,
              .pad_left = 1});
  // Runs of the image end after each tap.
  CheckTypes({.batch = 1,
              .in_channels = 16,
              .out_channels = 12,
              .groups = 2,
              .in_h = 8,
              .in_w = 8,
              .kernel_h = 3,
              .kernel_w = 2});
  CheckTypes({.batch = 1,
              .in_channels = 8,
              .out_channels = 20,
              .in_h = 9,
              .in_w = 9,
              .kernel_h = 2,
              .kernel_w = 2,
              .dilation_h = 2,
              .dilation_w = 3});
}

TEST(ConvTilesTest, SeveralChains) {
  // More taps and channels than one chain holds, more pixels in a row, and a window that is packed in several
  // steps.
  CheckTypes({.batch = 1,
              .in_channels = 90,
              .out_channels = 16,
              .in_h = 3,
              .in_w = 4,
              .kernel_h = 3,
              .kernel_w = 3,
              .pad_top = 1,
              .pad_left = 1},
             1, 1);
  CheckTypes({.batch = 1, .in_channels = 4, .out_channels = 4, .in_h = 2, .in_w = 300});
  CheckTypes(
      {.batch = 1, .in_channels = 4, .out_channels = 5, .in_h = 9, .in_w = 10, .kernel_h = 9, .kernel_w = 9});
}

}  // namespace
}  // namespace sinter::kernels
