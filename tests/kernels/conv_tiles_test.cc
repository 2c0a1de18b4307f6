// Compares with loops in double precision. All instruction sets and thread counts must give the same bits.
#include "sinter/kernels/cpu/images/conv_tiles.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "sinter/kernels/cpu/element_types.h"
#include "sinter/tests/kernels/batch_images.h"
#include "sinter/tests/kernels/matmul_kernels.h"

namespace sinter::kernels {
namespace {

template <typename E>
struct Values {
  std::vector<typename E::Storage> stored;
  double operator[](int64_t i) const { return static_cast<double>(E::Load(stored[static_cast<size_t>(i)])); }
};

template <typename E>
Values<E> RandomValues(int64_t count) {
  Values<E> values;
  for (float value : RandomFloats(count)) {
    values.stored.push_back(E::Store(static_cast<typename E::Compute>(value)));
  }
  return values;
}

int64_t ImageAt(const Conv& c, int64_t n, int64_t channel, int64_t y, int64_t x, bool of_result) {
  const int64_t channels = of_result ? c.out_channels : c.in_channels;
  const int64_t height = of_result ? c.out_h : c.in_h, width = of_result ? c.out_w : c.in_w;
  return c.channels_last ? ((n * height + y) * width + x) * channels + channel
                         : ((n * channels + channel) * height + y) * width + x;
}

// Visits each multiplication of a convolution once: y += x w, dx += g w, dw += x g.
template <typename E>
struct DoubleLoops {
  std::vector<double> y, dx, dw;

  DoubleLoops(const Conv& c, const Values<E>& x, const Values<E>& w, const Values<E>& g)
      : y(g.stored.size()), dx(x.stored.size()), dw(w.stored.size()) {
    const int64_t in = c.in_channels / c.groups, out = c.out_channels / c.groups;
    for (int64_t weight = 0; weight < static_cast<int64_t>(dw.size()); ++weight) {
      const int64_t kx = weight % c.kernel_w, ky = weight / c.kernel_w % c.kernel_h;
      const int64_t o = weight / c.kernel_w / c.kernel_h / in;
      const int64_t i = o / out * in + weight / c.kernel_w / c.kernel_h % in;
      for (int64_t pixel = 0; pixel < c.batch * c.out_h * c.out_w; ++pixel) {
        const int64_t n = pixel / c.out_w / c.out_h, oy = pixel / c.out_w % c.out_h, ox = pixel % c.out_w;
        const int64_t iy = oy * c.stride_h + ky * c.dilation_h - c.pad_top;
        const int64_t ix = ox * c.stride_w + kx * c.dilation_w - c.pad_left;
        if (iy < 0 || iy >= c.in_h || ix < 0 || ix >= c.in_w) continue;
        const int64_t from = ImageAt(c, n, i, iy, ix, false), to = ImageAt(c, n, o, oy, ox, true);
        y[to] += x[from] * w[weight];
        dx[from] += g[to] * w[weight];
        dw[weight] += x[from] * g[to];
      }
    }
  }
};

// Checks one pass by `run`: near `want`, and the same bits for all kernels and thread counts.
template <typename E, typename Run>
void CheckPass(const std::string& what, const Conv& c, ConvPass pass, const std::vector<double>& want,
               const Run& run) {
  std::vector<typename E::Storage> first;
  for (const MatmulKernels* kernels : AllMatmulKernels()) {
    for (const int threads : {1, 2, 5}) {
      std::vector<typename E::Storage> result(want.size());
      std::memset(result.data(), 0xff, result.size() * sizeof(result[0]));
      // A workspace starts at a multiple of 64 bytes, with arbitrary content.
      std::vector<float> room(ConvWorkspaceBytes(c, pass, threads) / sizeof(float) + 16, NAN);
      const size_t before = reinterpret_cast<uintptr_t>(room.data()) % 64;
      run(result.data(), room.data() + (64 - before) % 64 / sizeof(float), InTurn(threads), *kernels);
      if (first.empty()) first = result;
      ASSERT_EQ(std::memcmp(result.data(), first.data(), first.size() * sizeof(first[0])), 0)
          << what << ": other bits with vectors of " << kernels->vector_bytes << " bytes and " << threads
          << " threads";
    }
  }
  for (size_t i = 0; i < want.size(); ++i) {
    const double tolerance = (E::kDType == kBf16 ? 1e-2 : 1e-5) * (1 + std::abs(want[i]));
    ASSERT_NEAR(static_cast<double>(E::Load(first[i])), want[i], tolerance) << what << " at " << i;
  }
}

template <typename E>
void Check(const ConvGeometry& geometry, bool channels_last, int64_t bottom, int64_t right) {
  Conv c{geometry, E::kDType, channels_last};
  c.out_h = (c.in_h + c.pad_top + bottom - (c.kernel_h - 1) * c.dilation_h - 1) / c.stride_h + 1;
  c.out_w = (c.in_w + c.pad_left + right - (c.kernel_w - 1) * c.dilation_w - 1) / c.stride_w + 1;
  ASSERT_TRUE(HasConvTiles(c));
  const auto x = RandomValues<E>(c.batch * c.in_channels * c.in_h * c.in_w);
  const auto w = RandomValues<E>(c.out_channels * (c.in_channels / c.groups) * c.kernel_h * c.kernel_w);
  const auto g = RandomValues<E>(c.batch * c.out_channels * c.out_h * c.out_w);
  const DoubleLoops<E> judge(c, x, w, g);
  const std::string what = std::to_string(c.in_channels) + " to " + std::to_string(c.out_channels) +
                           " channels, window " + std::to_string(c.kernel_h) + "x" +
                           std::to_string(c.kernel_w) + ", type " + std::to_string(c.dtype);
  CheckPass<E>(what + ", forward", c, ConvPass::kForward, judge.y,
               [&](void* y, void* room, const Parallel& parallel, const MatmulKernels& kernels) {
                 RunTiledForward(c, x.stored.data(), w.stored.data(), nullptr, y, room, parallel, kernels);
               });
  CheckPass<E>(what + ", gradient of images", c, ConvPass::kInputGrad, judge.dx,
               [&](void* dx, void* room, const Parallel& parallel, const MatmulKernels& kernels) {
                 RunTiledInputGrad(c, g.stored.data(), w.stored.data(), dx, room, parallel, kernels);
               });
  CheckPass<E>(what + ", gradient of weights", c, ConvPass::kWeightGrad, judge.dw,
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
