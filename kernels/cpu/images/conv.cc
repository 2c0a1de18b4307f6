// Convolutions by tiles (conv_tiles.h), depthwise ones (depthwise.h), and direct ones for all others.
// A direct unit of work is one row of the result, or the window of one pair of output and input channels of a
// weight gradient. Its sums are a row of the compute type in the thread's workspace.
#include "sinter/kernels/cpu/images/conv.h"

#include <cstring>

#include "sinter/kernels/cpu/element_types.h"
#include "sinter/kernels/cpu/images/conv_tiles.h"
#include "sinter/kernels/cpu/images/depthwise.h"
#include "sinter/kernels/cpu/images/image.h"
#include "sinter/kernels/cpu/math/activation.h"

namespace sinter::kernels {
namespace {

int64_t RowBytes(const Conv& c) {
  const int64_t width = c.in_w > c.out_w ? c.in_w : c.out_w;
  return (width * static_cast<int64_t>(sizeof(double)) + 63) / 64 * 64;
}

template <typename F>
void ForUnits(const Conv& c, int64_t units, int64_t work, void* workspace, const Parallel& parallel, F&& f) {
  parallel.For(units, 1 + 32768 / (work + 1), [&](int64_t begin, int64_t end, int thread) {
    void* const own = static_cast<char*>(workspace) + RowBytes(c) * thread;
    for (int64_t unit = begin; unit < end; ++unit) f(unit, own);
  });
}

template <typename E>
struct Direct {
  using S = typename E::Storage;
  using C = typename E::Compute;

  explicit Direct(const Conv& conv)
      : c(conv),
        in(StridesOf(c.channels_last, c.in_channels, c.in_h, c.in_w)),
        out(StridesOf(c.channels_last, c.out_channels, c.out_h, c.out_w)),
        group_in(c.in_channels / c.groups),
        group_out(c.out_channels / c.groups) {}

  // Computes row `row` of output channel `channel` of image `image`.
  void ForwardRow(const S* x, const S* weights, const S* bias, S* y, int64_t image, int64_t channel,
                  int64_t row, C* sums) const {
    const C start = bias == nullptr ? C(0) : E::Load(bias[channel]);
    for (int64_t o = 0; o < c.out_w; ++o) sums[o] = start;
    for (int64_t i = 0; i < group_in; ++i) {
      const S* const plane = x + image * in.image + (channel / group_out * group_in + i) * in.channel;
      const S* const window = weights + (channel * group_in + i) * c.kernel_h * c.kernel_w;
      for (int64_t ky = 0; ky < c.kernel_h; ++ky) {
        const int64_t iy = row * c.stride_h + ky * c.dilation_h - c.pad_top;
        if (iy < 0 || iy >= c.in_h) continue;
        for (int64_t kx = 0; kx < c.kernel_w; ++kx) {
          const C w = E::Load(window[ky * c.kernel_w + kx]);
          const int64_t shift = kx * c.dilation_w - c.pad_left;
          const Range range = TapRange(c.out_w, c.in_w, c.stride_w, shift);
          const S* const from = plane + iy * in.row + shift * in.column;
          const int64_t step = c.stride_w * in.column;
          for (int64_t o = range.begin; o < range.end; ++o) sums[o] += w * E::Load(from[o * step]);
        }
      }
    }
    ActivateRow(c.activation, sums, c.out_w);
    S* const to = y + image * out.image + channel * out.channel + row * out.row;
    for (int64_t o = 0; o < c.out_w; ++o) to[o * out.column] = E::Store(sums[o]);
  }

  // Computes row `row` of input channel `channel` of image `image`.
  void InputGradRow(const S* g, const S* weights, S* dx, int64_t image, int64_t channel, int64_t row,
                    C* sums) const {
    std::memset(sums, 0, static_cast<size_t>(c.in_w) * sizeof(C));
    const int64_t group = channel / group_in;
    for (int64_t i = 0; i < group_out; ++i) {
      const int64_t oc = group * group_out + i;
      const S* const window = weights + (oc * group_in + channel % group_in) * c.kernel_h * c.kernel_w;
      for (int64_t ky = 0; ky < c.kernel_h; ++ky) {
        const int64_t at = row + c.pad_top - ky * c.dilation_h;
        if (at < 0 || at % c.stride_h != 0 || at / c.stride_h >= c.out_h) continue;
        const S* const from = g + image * out.image + oc * out.channel + at / c.stride_h * out.row;
        for (int64_t kx = 0; kx < c.kernel_w; ++kx) {
          const C w = E::Load(window[ky * c.kernel_w + kx]);
          const int64_t shift = kx * c.dilation_w - c.pad_left;
          const Range range = TapRange(c.out_w, c.in_w, c.stride_w, shift);
          for (int64_t o = range.begin; o < range.end; ++o) {
            sums[o * c.stride_w + shift] += w * E::Load(from[o * out.column]);
          }
        }
      }
    }
    S* const to = dx + image * in.image + channel * in.channel + row * in.row;
    for (int64_t i = 0; i < c.in_w; ++i) to[i * in.column] = E::Store(sums[i]);
  }

  // Computes the window of output channel `oc` and its group's input channel `i`.
  void WeightGradWindow(const S* x, const S* g, S* dw, int64_t oc, int64_t i, C* sums) const {
    const int64_t ic = oc / group_out * group_in + i;
    for (int64_t ky = 0; ky < c.kernel_h; ++ky) {
      const Range rows = TapRange(c.out_h, c.in_h, c.stride_h, ky * c.dilation_h - c.pad_top);
      for (int64_t kx = 0; kx < c.kernel_w; ++kx) {
        std::memset(sums, 0, static_cast<size_t>(c.out_w) * sizeof(C));
        const int64_t shift = kx * c.dilation_w - c.pad_left;
        const Range range = TapRange(c.out_w, c.in_w, c.stride_w, shift);
        for (int64_t image = 0; image < c.batch; ++image) {
          for (int64_t row = rows.begin; row < rows.end; ++row) {
            const int64_t iy = row * c.stride_h + ky * c.dilation_h - c.pad_top;
            const S* const from = x + image * in.image + ic * in.channel + iy * in.row + shift * in.column;
            const S* const gradient = g + image * out.image + oc * out.channel + row * out.row;
            for (int64_t o = range.begin; o < range.end; ++o) {
              sums[o] += E::Load(gradient[o * out.column]) * E::Load(from[o * c.stride_w * in.column]);
            }
          }
        }
        C sum = 0;
        for (int64_t o = 0; o < c.out_w; ++o) sum += sums[o];
        dw[((oc * group_in + i) * c.kernel_h + ky) * c.kernel_w + kx] = E::Store(sum);
      }
    }
  }

  Conv c;
  ImageStrides in, out;
  int64_t group_in, group_out;
};

}  // namespace

size_t ConvWorkspaceBytes(const Conv& conv, ConvPass pass, int threads) {
  if (HasDepthwise(conv)) return DepthwiseWorkspaceBytes(conv, pass, threads);
  if (!HasConvTiles(conv)) return static_cast<size_t>(RowBytes(conv)) * static_cast<size_t>(threads);
  return pass == ConvPass::kWeightGrad ? WeightGradWorkspaceBytes(conv, threads)
                                       : GatherWorkspaceBytes(conv, pass == ConvPass::kForward, threads);
}

void RunConvForward(const Conv& conv, const void* x, const void* weights, const void* bias, void* y,
                    void* workspace, const Parallel& parallel) {
  if (HasDepthwise(conv))
    return RunDepthwiseForward(conv, x, weights, bias, y, workspace, parallel, BestDepthwiseKernels());
  if (HasConvTiles(conv))
    return RunTiledForward(conv, x, weights, bias, y, workspace, parallel, BestMatmulKernels());
  WithFloatElement(conv.dtype, [&](auto element) {
    using E = decltype(element);
    using S = typename E::Storage;
    const Direct<E> direct(conv);
    const int64_t rows = conv.out_channels * conv.out_h;
    const int64_t work = conv.out_w * direct.group_in * conv.kernel_h * conv.kernel_w;
    ForUnits(conv, conv.batch * rows, work, workspace, parallel, [&](int64_t unit, void* own) {
      direct.ForwardRow(static_cast<const S*>(x), static_cast<const S*>(weights), static_cast<const S*>(bias),
                        static_cast<S*>(y), unit / rows, unit % rows / conv.out_h, unit % conv.out_h,
                        static_cast<typename E::Compute*>(own));
    });
  });
}

void RunConvInputGrad(const Conv& conv, const void* g, const void* weights, void* dx, void* workspace,
                      const Parallel& parallel) {
  if (HasDepthwise(conv))
    return RunDepthwiseInputGrad(conv, g, weights, dx, workspace, parallel, BestDepthwiseKernels());
  if (HasConvTiles(conv))
    return RunTiledInputGrad(conv, g, weights, dx, workspace, parallel, BestMatmulKernels());
  WithFloatElement(conv.dtype, [&](auto element) {
    using E = decltype(element);
    using S = typename E::Storage;
    const Direct<E> direct(conv);
    const int64_t rows = conv.in_channels * conv.in_h;
    const int64_t work = conv.out_w * direct.group_out * conv.kernel_h * conv.kernel_w;
    ForUnits(conv, conv.batch * rows, work, workspace, parallel, [&](int64_t unit, void* own) {
      direct.InputGradRow(static_cast<const S*>(g), static_cast<const S*>(weights), static_cast<S*>(dx),
                          unit / rows, unit % rows / conv.in_h, unit % conv.in_h,
                          static_cast<typename E::Compute*>(own));
    });
  });
}

void RunConvWeightGrad(const Conv& conv, const void* x, const void* g, void* dw, void* workspace,
                       const Parallel& parallel) {
  if (HasDepthwise(conv))
    return RunDepthwiseWeightGrad(conv, x, g, dw, workspace, parallel, BestDepthwiseKernels());
  if (HasConvTiles(conv)) return RunTiledWeightGrad(conv, x, g, dw, workspace, parallel, BestMatmulKernels());
  WithFloatElement(conv.dtype, [&](auto element) {
    using E = decltype(element);
    using S = typename E::Storage;
    const Direct<E> direct(conv);
    const int64_t work = conv.batch * conv.out_h * conv.out_w * conv.kernel_h * conv.kernel_w;
    ForUnits(conv, conv.out_channels * direct.group_in, work, workspace, parallel,
             [&](int64_t unit, void* own) {
               direct.WeightGradWindow(static_cast<const S*>(x), static_cast<const S*>(g),
                                       static_cast<S*>(dw), unit / direct.group_in, unit % direct.group_in,
                                       static_cast<typename E::Compute*>(own));
             });
  });
}

}  // namespace sinter::kernels
