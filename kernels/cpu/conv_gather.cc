// The forward convolution and the gradient of its images: each pixel of the result gathers, from the taps of its window, products
// of pixels with weights. Of an input's gradient with a stride, pixels whose places have the same remainders gather from the same
// taps: they are done together, as a convolution without a stride.
#include <cstring>

#include "sinter/kernels/cpu/activation.h"
#include "sinter/kernels/cpu/conv_images.h"
#include "sinter/kernels/cpu/conv_tiles.h"
#include "sinter/kernels/cpu/float_matmul.h"

namespace sinter::kernels {
namespace {

constexpr int64_t kMostPixels = 192, kMostColumns = 192, kTilesOfThread = 4;

// Pixels of the result at (y + i * step_y, x + j * step_x), which read at (i * frame_y, j * frame_x) of the frame.
struct Pixels {
  int64_t y = 0, x = 0, step_y = 1, step_x = 1, count_y = 0, count_x = 0, frame_y = 1, frame_x = 1;
  int64_t count() const { return count_y * count_x; }
};

// The channels of one group.
struct Channels {
  int64_t depth, columns;  // Of the frame, and of the result.
};

// Taps in the order in which they are gathered: where each begins in the frame, and which of the window it is.
struct Taps {
  int64_t* offsets;
  int64_t* numbers;
  int64_t count = 0;
  void Add(int64_t offset, int64_t number) { offsets[count] = offset, numbers[count++] = number; }
};

template <typename C>
struct Scratch {
  alignas(64) C sums[kMostPixels * kMostColumns];
};

// The parts of the workspace, in order: images, packed weights, taps, and sums of each thread.
template <typename E>
struct Workspace {
  using C = typename E::Compute;
  size_t images, weights, taps;

  Workspace(const Conv& c, const Frame& frame, const Channels& channels)
      : images(ImagesBytes<E>(c, frame)),
        // A panel is 64 or 128 bytes wide.
        weights(static_cast<size_t>(c.groups *
                                    CeilDiv(channels.columns * static_cast<int64_t>(sizeof(C)), 128) * 128 *
                                    channels.depth * c.kernel_h * c.kernel_w)),
        taps(static_cast<size_t>(CeilDiv(2 * c.kernel_h * c.kernel_w, 8)) * 64) {}
  size_t Bytes(int threads) const {
    return images + weights + taps + sizeof(Scratch<C>) * static_cast<size_t>(threads);
  }
};

template <typename E>
class Gather {
 public:
  using S = typename E::Storage;
  using C = typename E::Compute;

  Gather(const Conv& c, bool is_forward, const Frame& frame, const void* from, const void* weights,
         const void* bias, void* to, void* workspace, const Parallel& parallel, const ProductKernels& kernels)
      : c_(c),
        is_forward_(is_forward),
        frame_(frame),
        channels_(is_forward ? Channels{c.in_channels / c.groups, c.out_channels / c.groups}
                             : Channels{c.out_channels / c.groups, c.in_channels / c.groups}),
        weights_(static_cast<const S*>(weights)),
        bias_(static_cast<const S*>(bias)),
        to_(static_cast<S*>(to)),
        height_(is_forward ? c.out_h : c.in_h),
        width_(is_forward ? c.out_w : c.in_w),
        parallel_(parallel),
        kernels_(kernels),
        panel_width_(2 * kernels.lanes<C>()) {
    const Workspace<E> parts(c, frame, channels_);
    char* const base = static_cast<char*>(workspace);
    images_ = ImagesOf<E>(from, c, frame, base, parallel);
    packed_ = reinterpret_cast<C*>(base + parts.images);
    taps_.offsets = reinterpret_cast<int64_t*>(base + parts.images + parts.weights);
    taps_.numbers = taps_.offsets + c.kernel_h * c.kernel_w;
    scratch_ = reinterpret_cast<Scratch<C>*>(base + parts.images + parts.weights + parts.taps);
  }

  Taps& taps() { return taps_; }

  // The sums of the taps that `taps` holds, for these pixels.
  void Run(const Pixels& pixels) {
    if (pixels.count() == 0) return;
    PackWeights();
    const int64_t panels = CeilDiv(channels_.columns, panel_width_);
    int64_t most_pixels = kMostPixels, most_panels = kMostColumns / panel_width_;
    const int64_t rows = c_.batch * pixels.count();
    while (c_.groups * CeilDiv(rows, most_pixels) * CeilDiv(panels, most_panels) <
               kTilesOfThread * parallel_.threads &&
           (most_pixels > 48 || most_panels > 2)) {
      (most_pixels > 48 ? most_pixels : most_panels) /= 2;
    }
    const EvenParts row_tiles(rows, most_pixels), panel_tiles(panels, most_panels);
    const int64_t tiles = row_tiles.count * panel_tiles.count;
    const int64_t work = channels_.depth * taps_.count * most_pixels * most_panels * panel_width_;
    parallel_.For(c_.groups * tiles, 1 + (1 << 16) / (work + 1), [&](int64_t begin, int64_t end, int thread) {
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t r = unit % tiles / panel_tiles.count, p = unit % panel_tiles.count;
        RunTile(pixels, unit / tiles, row_tiles.start(r), row_tiles.size(r), panel_tiles.start(p),
                panel_tiles.size(p), scratch_[thread].sums);
      }
    });
  }

 private:
  int64_t Depth() const { return taps_.count * channels_.depth; }

  // [group, panel, tap, channel of the frame, column of the panel].
  void PackWeights() const {
    const int64_t panels = CeilDiv(channels_.columns, panel_width_), window = c_.kernel_h * c_.kernel_w;
    parallel_.For(c_.groups * panels, 1 + (1 << 14) / (Depth() * panel_width_ + 1),
                  [&](int64_t begin, int64_t end, int) {
                    for (int64_t unit = begin; unit < end; ++unit) {
                      PackPanel(unit / panels, unit % panels * panel_width_, window,
                                packed_ + unit * Depth() * panel_width_);
                    }
                  });
  }
  void PackPanel(int64_t group, int64_t column, int64_t window, C* panel) const {
    const int64_t columns = Least(panel_width_, channels_.columns - column);
    ClearColumns(columns, Depth(), panel, panel_width_);
    // Forward, a column's weights lie together; else a channel's of the frame do.
    const int64_t columns_apart = is_forward_ ? channels_.depth * window : window;
    const int64_t depth_apart = is_forward_ ? window : channels_.columns * window;
    const S* const from =
        weights_ + group * channels_.columns * channels_.depth * window + column * columns_apart;
    if (is_forward_) {
      PackTransposed<E>(from, columns_apart, columns, channels_.depth * window, panel, panel_width_,
                        [&](int64_t k) { return k % window * channels_.depth + k / window; });
      return;
    }
    for (int64_t t = 0; t < taps_.count; ++t, panel += channels_.depth * panel_width_) {
      const S* const tap = from + taps_.numbers[t];
      if (window == 1) {
        PackColumns<E>(kernels_, tap, columns_apart, depth_apart, columns, channels_.depth, panel,
                       panel_width_);
        continue;
      }
      for (int64_t k = 0; k < channels_.depth; ++k) {
        for (int64_t j = 0; j < columns; ++j)
          panel[k * panel_width_ + j] = E::Load(tap[j * columns_apart + k * depth_apart]);
      }
    }
  }

  void RunTile(const Pixels& pixels, int64_t group, int64_t row, int64_t rows, int64_t panel, int64_t panels,
               C* sums) const {
    const C* pointers[kMostPixels];
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t n = (row + i) / pixels.count(), at = (row + i) % pixels.count();
      pointers[i] = images_ + n * frame_.image() + at / pixels.count_x * pixels.frame_y * frame_.row() +
                    at % pixels.count_x * pixels.frame_x * frame_.channels + group * channels_.depth;
    }
    if (taps_.count == 0) std::memset(sums, 0, static_cast<size_t>(rows * kMostColumns) * sizeof(C));
    const int64_t all_panels = CeilDiv(channels_.columns, panel_width_);
    const C* const b = packed_ + (group * all_panels + panel) * Depth() * panel_width_;
    const int64_t columns = Least(panels * panel_width_, channels_.columns - panel * panel_width_);
    // Runs of the frame: taps that follow one another at once are one.
    const bool is_merged = is_forward_ && c_.groups == 1 && c_.dilation_w == 1;
    const int64_t merged = is_merged ? c_.kernel_w : 1, runs = taps_.count / merged,
                  length = channels_.depth * merged;
    bool adds = false;
    if (length <= kChain) {
      const EvenParts chains(runs, Most(1, kChain / length));
      for (int64_t i = 0; i < chains.count; ++i, adds = true) {
        MultiplyChain(pointers, rows, chains.start(i) * merged, merged, chains.size(i), 0, length,
                      b + chains.start(i) * length * panel_width_, columns, adds, sums);
      }
    } else {
      const EvenParts chains(length, kChain);
      for (int64_t run = 0; run < runs; ++run) {
        for (int64_t i = 0; i < chains.count; ++i, adds = true) {
          MultiplyChain(pointers, rows, run * merged, merged, 1, chains.start(i), chains.size(i),
                        b + (run * length + chains.start(i)) * panel_width_, columns, adds, sums);
        }
      }
    }
    StoreTile(pixels, group, row, rows, panel * panel_width_, columns, sums);
  }

  // `runs` runs, each of `length` elements from `start` on, from tap `tap` on in steps of `step`.
  void MultiplyChain(const C* const* pointers, int64_t rows, int64_t tap, int64_t step, int64_t runs,
                     int64_t start, int64_t length, const C* b, int64_t columns, bool adds, C* sums) const {
    int64_t offsets[kChain];
    for (int64_t i = 0; i < runs; ++i) offsets[i] = taps_.offsets[tap + i * step] + start;
    ProductTile<C> tile = {.offsets = offsets, .segments = runs, .length = length, .b_stride = panel_width_};
    tile.panel_stride = Depth() * panel_width_, tile.sums_stride = kMostColumns, tile.adds = adds;
    tile.b = b, tile.sums = sums;
    MultiplyPanels(kernels_, tile, pointers, rows, columns);
  }

  void StoreTile(const Pixels& pixels, int64_t group, int64_t row, int64_t rows, int64_t column,
                 int64_t columns, C* sums) const {
    const int64_t channel = group * channels_.columns + column, all = c_.groups * channels_.columns;
    const int64_t plane = height_ * width_;
    for (int64_t i = 0; i < rows; ++i, sums += kMostColumns) {
      if (is_forward_) {
        for (int64_t j = 0; bias_ != nullptr && j < columns; ++j) sums[j] += E::Load(bias_[channel + j]);
        ActivateRow(c_.activation, sums, columns);
      }
      const int64_t n = (row + i) / pixels.count(), at = (row + i) % pixels.count();
      const int64_t y = pixels.y + at / pixels.count_x * pixels.step_y,
                    x = pixels.x + at % pixels.count_x * pixels.step_x;
      if (c_.channels_last) {
        StoreRow<E>(sums, columns, to_ + (n * plane + y * width_ + x) * all + channel);
      } else {
        S* const to = to_ + (n * all + channel) * plane + y * width_ + x;
        for (int64_t j = 0; j < columns; ++j) to[j * plane] = E::Store(sums[j]);
      }
    }
  }

  Conv c_;
  bool is_forward_;
  Frame frame_;
  Channels channels_;
  const S* weights_;
  const S* bias_;
  S* to_;
  int64_t height_, width_;  // Of the result.
  Parallel parallel_;
  const ProductKernels& kernels_;
  int64_t panel_width_;
  const C* images_ = nullptr;
  C* packed_ = nullptr;
  Taps taps_ = {};
  Scratch<C>* scratch_ = nullptr;
};

// Where a tap's product with the pixel of this remainder lies in the gradient; -1: there is none.
int64_t PlaceOf(int64_t remainder, int64_t pad, int64_t tap, int64_t dilation, int64_t stride,
                int64_t first) {
  const int64_t place = remainder + pad - tap * dilation;
  return place % stride == 0 ? place / stride - first : -1;
}

// A convolution of single pixels is a product: that of its pixels with its weights, or of the gradient's.
bool IsProduct(const Conv& c) {
  return c.channels_last && c.groups == 1 && c.kernel_h * c.kernel_w == 1 && c.stride_h * c.stride_w == 1 &&
         c.pad_top == 0 && c.pad_left == 0 && c.out_h == c.in_h && c.out_w == c.in_w;
}
Matmul ProductOf(const Conv& c, bool is_forward) {
  return {.dtype = c.dtype,
          .m = c.batch * c.out_h * c.out_w,
          .n = is_forward ? c.out_channels : c.in_channels,
          .k = is_forward ? c.in_channels : c.out_channels,
          .transpose_b = is_forward,
          .activation = is_forward ? c.activation : 0};
}

}  // namespace

size_t GatherWorkspaceBytes(const Conv& c, bool is_forward, int threads) {
  if (IsProduct(c)) return FloatMatmulWorkspaceBytes(ProductOf(c, is_forward), threads);
  size_t bytes = 0;
  WithFloatElement(c.dtype, [&](auto element) {
    using E = decltype(element);
    const int64_t in = c.in_channels / c.groups, out = c.out_channels / c.groups;
    bytes = is_forward ? Workspace<E>(c, FrameOfInput(c), {in, out}).Bytes(threads)
                       : Workspace<E>(c, FrameOfGradient(c), {out, in}).Bytes(threads);
  });
  return bytes;
}

void RunTiledForward(const Conv& c, const void* x, const void* weights, const void* bias, void* y,
                     void* workspace, const Parallel& parallel, const ProductKernels& kernels) {
  if (IsProduct(c)) {
    return RunFloatMatmul(ProductOf(c, true), {.a = x, .b = weights, .bias = bias, .result = y}, workspace,
                          parallel, kernels);
  }
  WithFloatElement(c.dtype, [&](auto element) {
    const Frame frame = FrameOfInput(c);
    Gather<decltype(element)> gather(c, true, frame, x, weights, bias, y, workspace, parallel, kernels);
    for (int64_t ky = 0; ky < c.kernel_h; ++ky) {
      for (int64_t kx = 0; kx < c.kernel_w; ++kx) {
        gather.taps().Add(ky * c.dilation_h * frame.row() + kx * c.dilation_w * frame.channels,
                          ky * c.kernel_w + kx);
      }
    }
    gather.Run({.count_y = c.out_h, .count_x = c.out_w, .frame_y = c.stride_h, .frame_x = c.stride_w});
  });
}

void RunTiledInputGrad(const Conv& c, const void* g, const void* weights, void* dx, void* workspace,
                       const Parallel& parallel, const ProductKernels& kernels) {
  if (IsProduct(c)) {
    return RunFloatMatmul(ProductOf(c, false), {.a = g, .b = weights, .result = dx}, workspace, parallel,
                          kernels);
  }
  WithFloatElement(c.dtype, [&](auto element) {
    const Frame frame = FrameOfGradient(c);
    Gather<decltype(element)> gather(c, false, frame, g, weights, nullptr, dx, workspace, parallel, kernels);
    for (int64_t y = 0; y < Least(c.stride_h, c.in_h); ++y) {
      for (int64_t x = 0; x < Least(c.stride_w, c.in_w); ++x) {
        gather.taps().count = 0;
        for (int64_t ky = 0; ky < c.kernel_h; ++ky) {
          const int64_t row = PlaceOf(y, c.pad_top, ky, c.dilation_h, c.stride_h, frame.top);
          for (int64_t kx = 0; row >= 0 && kx < c.kernel_w; ++kx) {
            const int64_t column = PlaceOf(x, c.pad_left, kx, c.dilation_w, c.stride_w, frame.left);
            if (column >= 0)
              gather.taps().Add(row * frame.row() + column * frame.channels, ky * c.kernel_w + kx);
          }
        }
        gather.Run({.y = y,
                    .x = x,
                    .step_y = c.stride_h,
                    .step_x = c.stride_w,
                    .count_y = CeilDiv(c.in_h - y, c.stride_h),
                    .count_x = CeilDiv(c.in_w - x, c.stride_w)});
      }
    }
  });
}

}  // namespace sinter::kernels
