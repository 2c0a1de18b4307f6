// A judge of convolutions: loops in double precision, and a check of one pass with all kernels.
//
//   const ConvLoops<E> judge(conv, x, w, g);
//   CheckConvPass<E>("forward", conv, ConvPass::kForward, judge.y, AllMatmulKernels(), run);
//
// `run` has the arguments (void* result, void* workspace, const Parallel&, const MatmulKernels&).
#ifndef SINTER_TESTS_KERNELS_CONV_JUDGE_H_
#define SINTER_TESTS_KERNELS_CONV_JUDGE_H_

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "sinter/kernels/cpu/element_types.h"
#include "sinter/kernels/cpu/images/conv.h"
#include "sinter/tests/kernels/batch_images.h"
#include "sinter/tests/kernels/matmul_kernels.h"

namespace sinter::kernels {

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

inline int64_t ImageAt(const Conv& c, int64_t n, int64_t channel, int64_t y, int64_t x, bool of_result) {
  const int64_t channels = of_result ? c.out_channels : c.in_channels;
  const int64_t height = of_result ? c.out_h : c.in_h, width = of_result ? c.out_w : c.in_w;
  return c.channels_last ? ((n * height + y) * width + x) * channels + channel
                         : ((n * channels + channel) * height + y) * width + x;
}

// Visits each multiplication of a convolution once: y += x w, dx += g w, dw += x g.
template <typename E>
struct ConvLoops {
  std::vector<double> y, dx, dw;

  ConvLoops(const Conv& c, const Values<E>& x, const Values<E>& w, const Values<E>& g)
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
template <typename E, typename Kernels, typename Run>
void CheckConvPass(const std::string& what, const Conv& c, ConvPass pass, const std::vector<double>& want,
                   const std::vector<const Kernels*>& all_kernels, const Run& run) {
  std::vector<typename E::Storage> first;
  for (size_t k = 0; k < all_kernels.size(); ++k) {
    for (const int threads : {1, 2, 5}) {
      std::vector<typename E::Storage> result(want.size());
      std::memset(result.data(), 0xff, result.size() * sizeof(result[0]));
      // A workspace starts at a multiple of 64 bytes, with arbitrary content.
      std::vector<float> room(ConvWorkspaceBytes(c, pass, threads) / sizeof(float) + 16, NAN);
      const size_t before = reinterpret_cast<uintptr_t>(room.data()) % 64;
      run(result.data(), room.data() + (64 - before) % 64 / sizeof(float), InTurn(threads), *all_kernels[k]);
      if (first.empty()) first = result;
      ASSERT_EQ(std::memcmp(result.data(), first.data(), first.size() * sizeof(first[0])), 0)
          << what << ": other bits with kernels " << k << " and " << threads << " threads";
    }
  }
  for (size_t i = 0; i < want.size(); ++i) {
    const double rounding = E::kDType == kBf16 ? 1e-2 : E::kDType == kF16 ? 1e-3 : 1e-5;
    const double tolerance = rounding * (1 + std::abs(want[i]));
    ASSERT_NEAR(static_cast<double>(E::Load(first[i])), want[i], tolerance) << what << " at " << i;
  }
}

}  // namespace sinter::kernels

#endif  // SINTER_TESTS_KERNELS_CONV_JUDGE_H_
