// The forward convolution and the gradient of its images. Each pixel of the result gathers pixels times
// weights over the taps of its window. In an image gradient with a stride, pixels whose positions have the
// same remainder modulo the stride use the same taps. Such pixels are computed together, as a convolution
// without a stride.
#include <cstring>

#include "sinter/kernels/cpu/images/conv_images.h"
#include "sinter/kernels/cpu/images/conv_tiles.h"
#include "sinter/kernels/cpu/math/activation.h"
#include "sinter/kernels/cpu/matmul/float_matmul.h"

namespace sinter::kernels {
namespace {

constexpr int64_t kMostPixels = 192, kMostColumns = 192, kTilesOfThread = 4;

// The result's pixels at (y + i * step_y, x + j * step_x). They read the frame at (i * frame_y, j * frame_x),
// with `taps` taps starting at `first_tap`.
struct Pixels {
  int64_t y = 0, x = 0, step_y = 1, step_x = 1, count_y = 0, count_x = 0, frame_y = 1, frame_x = 1;
  int64_t first_tap = 0, taps = 0;
  int64_t count() const { return count_y * count_x; }
};

// Numbers of channels of one group.
struct Channels {
  int64_t depth, columns;  // Channels of the frame, and of the result.
};

// The taps in gathering order. `offsets`: the offset in the frame of each tap. `places`: for each position of
// the window its index in this order, or -1 if no pixel gathers it.
struct Taps {
  int64_t* offsets;
  int64_t* places;
  int64_t count = 0;
  void Clear(int64_t window) {
    count = 0;
    for (int64_t i = 0; i < window; ++i) places[i] = -1;
  }
  void Add(int64_t offset, int64_t number) { offsets[count] = offset, places[number] = count++; }
};

template <typename C>
struct Scratch {
  alignas(64) C sums[kMostPixels * kMostColumns];
};

// The parts of the workspace, in order: images, packed weights, taps, and each thread's sums.
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
         const void* bias, void* to, void* workspace, const Parallel& parallel, const MatmulKernels& kernels)
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
    taps_.places = taps_.offsets + c.kernel_h * c.kernel_w;
    taps_.Clear(c.kernel_h * c.kernel_w);
    scratch_ = reinterpret_cast<Scratch<C>*>(base + parts.images + parts.weights + parts.taps);
  }

  Taps& taps() { return taps_; }

  // Call once, after all taps are added.
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

  void Run(const Pixels& pixels) const {
    if (pixels.count() == 0) return;
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
    const int64_t work = channels_.depth * pixels.taps * most_pixels * most_panels * panel_width_;
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

  // Packs one panel. Layout of all panels: [group, panel, tap, channel of the frame, column of the panel].
  void PackPanel(int64_t group, int64_t column, int64_t window, C* panel) const {
    const int64_t columns = Least(panel_width_, channels_.columns - column);
    // Forward: all weights of a column are contiguous. Gradient: all weights of a channel of the frame are
    // contiguous.
    const int64_t columns_apart = is_forward_ ? channels_.depth * window : window;
    const int64_t channels_apart = is_forward_ ? window : channels_.columns * window;
    const S* const from =
        weights_ + group * channels_.columns * channels_.depth * window + column * columns_apart;
    if (window == 1) {
      PackColumns<E>(kernels_, from, columns_apart, channels_apart, columns, Depth(), panel, panel_width_);
      return;
    }
    if (is_forward_) {
      // Weights have the taps inside each channel; panels have the channels inside each tap.
      int64_t tap = 0, channel = 0;
      PackRun(from, columns_apart, columns, channels_.depth * window, [&] {
        C* const row = panel + (tap * channels_.depth + channel) * panel_width_;
        if (++tap == window) tap = 0, ++channel;
        return row;
      });
      return;
    }
    for (int64_t k = 0; k < channels_.depth; ++k) {
      Ahead ahead = Within(
          LinesOf(from + Least(k + 2, channels_.depth - 1) * channels_apart, 1, columns * window, 0), 1, 1);
      AskAhead(ahead, 1);
      // Some taps may be gathered by no pixel.
      int64_t tap = 0;
      C nothing[kMostTileColumns];
      PackRun(from + k * channels_apart, columns_apart, columns, window, [&] {
        const int64_t place = taps_.places[tap++];
        return place < 0 ? nothing : panel + (place * channels_.depth + k) * panel_width_;
      });
    }
  }

  // Transposes columns of `length` elements into rows; `next` returns the destination of each row in turn.
  template <typename Next>
  void PackRun(const S* from, int64_t columns_apart, int64_t columns, int64_t length,
               const Next& next) const {
    constexpr int64_t kSteps = 64;
    alignas(64) C rows[kSteps * kMostTileColumns];
    for (int64_t k = 0; k < length; k += kSteps) {
      const int64_t steps = Least(kSteps, length - k);
      PackColumns<E>(kernels_, from + k, columns_apart, 1, columns, steps, rows, panel_width_);
      if (k + steps < length) {
        Ahead ahead = Within(
            LinesOf(from + k + steps, columns, Least(kSteps, length - k - steps), columns_apart), 1, 1);
        AskAhead(ahead, 1);
      }
      for (int64_t i = 0; i < steps; ++i)
        ConvertShortRow<Plain>(rows + i * panel_width_, panel_width_, next());
    }
  }

  struct Sums {
    C* first;
    int64_t stride;
    bool in_place;  // True if `first` is in the result.
  };
  // Returns the destination of the sums: the result itself if its pixels hold whole vectors of the compute
  // type, else `scratch`.
  Sums SumsOf(const Pixels& pixels, int64_t row, int64_t channel, int64_t columns, C* scratch) const {
    if constexpr (sizeof(S) == sizeof(C)) {
      const int64_t all = c_.groups * channels_.columns;
      if (c_.channels_last && pixels.step_y * pixels.step_x == 1 && columns % kernels_.lanes<C>() == 0)
        return {.first = to_ + row * all + channel, .stride = all, .in_place = true};
    }
    return {.first = scratch, .stride = kMostColumns, .in_place = false};
  }

  void RunTile(const Pixels& pixels, int64_t group, int64_t row, int64_t rows, int64_t panel, int64_t panels,
               C* scratch) const {
    const C* pointers[kMostPixels];
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t n = (row + i) / pixels.count(), at = (row + i) % pixels.count();
      pointers[i] = images_ + n * frame_.image() + at / pixels.count_x * pixels.frame_y * frame_.row() +
                    at % pixels.count_x * pixels.frame_x * frame_.channels + group * channels_.depth;
    }
    const int64_t all_panels = CeilDiv(channels_.columns, panel_width_);
    const C* const b =
        packed_ +
        ((group * all_panels + panel) * Depth() + pixels.first_tap * channels_.depth) * panel_width_;
    const int64_t columns = Least(panels * panel_width_, channels_.columns - panel * panel_width_);
    const Sums sums = SumsOf(pixels, row, group * channels_.columns + panel * panel_width_, columns, scratch);
    for (int64_t i = 0; pixels.taps == 0 && i < rows; ++i) {
      std::memset(sums.first + i * sums.stride, 0, static_cast<size_t>(columns) * sizeof(C));
    }
    // Taps that are adjacent in the frame form one run.
    const bool is_merged = is_forward_ && c_.groups == 1 && c_.dilation_w == 1;
    const int64_t merged = is_merged ? c_.kernel_w : 1, runs = pixels.taps / merged,
                  length = channels_.depth * merged;
    bool adds = false;
    if (length <= kChain) {
      const EvenParts chains(runs, Most(1, kChain / length));
      for (int64_t i = 0; i < chains.count; ++i, adds = true) {
        MultiplyChain(pointers, rows, pixels.first_tap + chains.start(i) * merged, merged, chains.size(i), 0,
                      length, b + chains.start(i) * length * panel_width_, columns, adds, sums);
      }
    } else {
      const EvenParts chains(length, kChain);
      for (int64_t run = 0; run < runs; ++run) {
        for (int64_t i = 0; i < chains.count; ++i, adds = true) {
          MultiplyChain(pointers, rows, pixels.first_tap + run * merged, merged, 1, chains.start(i),
                        chains.size(i), b + (run * length + chains.start(i)) * panel_width_, columns, adds,
                        sums);
        }
      }
    }
    StoreTile(pixels, group, row, rows, panel * panel_width_, columns, sums);
  }

  // Multiplies `runs` runs of `length` elements starting at element `start`, for the taps `tap`, `tap` +
  // `step`, ...
  void MultiplyChain(const C* const* pointers, int64_t rows, int64_t tap, int64_t step, int64_t runs,
                     int64_t start, int64_t length, const C* b, int64_t columns, bool adds,
                     const Sums& sums) const {
    int64_t offsets[kChain];
    for (int64_t i = 0; i < runs; ++i) offsets[i] = taps_.offsets[tap + i * step] + start;
    MatmulTile<C> tile = {.offsets = offsets, .segments = runs, .length = length, .b_stride = panel_width_};
    tile.sums_stride = sums.stride, tile.adds = adds;
    tile.b = b, tile.sums = sums.first;
    MultiplyPanels(kernels_, tile, Depth() * panel_width_, pointers, rows, columns);
  }

  void StoreTile(const Pixels& pixels, int64_t group, int64_t row, int64_t rows, int64_t column,
                 int64_t columns, const Sums& sums) const {
    const int64_t channel = group * channels_.columns + column, all = c_.groups * channels_.columns;
    const int64_t plane = height_ * width_;
    for (int64_t i = 0; i < rows; ++i) {
      C* const values = sums.first + i * sums.stride;
      if (is_forward_) {
        for (int64_t j = 0; bias_ != nullptr && j < columns; ++j) values[j] += E::Load(bias_[channel + j]);
        if (c_.activation != SN_NO_ACTIVATION) ActivateRow(c_.activation, values, columns);
      }
      if (sums.in_place) continue;
      const int64_t n = (row + i) / pixels.count(), at = (row + i) % pixels.count();
      const int64_t y = pixels.y + at / pixels.count_x * pixels.step_y,
                    x = pixels.x + at % pixels.count_x * pixels.step_x;
      if (c_.channels_last) {
        StoreRow<E>(values, columns, to_ + (n * plane + y * width_ + x) * all + channel);
      } else {
        S* const to = to_ + (n * all + channel) * plane + y * width_ + x;
        for (int64_t j = 0; j < columns; ++j) to[j * plane] = E::Store(values[j]);
      }
    }
  }

  using Plain = Element<C, C, sizeof(C) == 8 ? kF64 : kF32>;

  Conv c_;
  bool is_forward_;
  Frame frame_;
  Channels channels_;
  const S* weights_;
  const S* bias_;
  S* to_;
  int64_t height_, width_;  // Size of the result.
  Parallel parallel_;
  const MatmulKernels& kernels_;
  int64_t panel_width_;
  const C* images_ = nullptr;
  C* packed_ = nullptr;
  Taps taps_ = {};
  Scratch<C>* scratch_ = nullptr;
};

// Returns the frame's row (or column) that a tap reads for the pixels with this remainder; -1 if it reads
// none.
int64_t PlaceOf(int64_t remainder, int64_t pad, int64_t tap, int64_t dilation, int64_t stride,
                int64_t first) {
  const int64_t place = remainder + pad - tap * dilation;
  return place % stride == 0 ? place / stride - first : -1;
}

// True for a convolution of single pixels, which is a matmul of the pixels, or of their gradients, with the
// weights.
bool IsMatmul(const Conv& c) {
  return c.channels_last && c.groups == 1 && c.kernel_h * c.kernel_w == 1 && c.stride_h * c.stride_w == 1 &&
         c.pad_top == 0 && c.pad_left == 0 && c.out_h == c.in_h && c.out_w == c.in_w;
}
Matmul MatmulOf(const Conv& c, bool is_forward) {
  return {.dtype = c.dtype,
          .m = c.batch * c.out_h * c.out_w,
          .n = is_forward ? c.out_channels : c.in_channels,
          .k = is_forward ? c.in_channels : c.out_channels,
          .transpose_b = is_forward,
          .activation = is_forward ? c.activation : 0};
}

}  // namespace

size_t GatherWorkspaceBytes(const Conv& c, bool is_forward, int threads) {
  if (IsMatmul(c)) return FloatMatmulWorkspaceBytes(MatmulOf(c, is_forward), threads);
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
                     void* workspace, const Parallel& parallel, const MatmulKernels& kernels) {
  if (IsMatmul(c)) {
    return RunFloatMatmul(MatmulOf(c, true), {.a = x, .b = weights, .bias = bias, .result = y}, workspace,
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
    gather.PackWeights();
    gather.Run({.count_y = c.out_h,
                .count_x = c.out_w,
                .frame_y = c.stride_h,
                .frame_x = c.stride_w,
                .taps = gather.taps().count});
  });
}

void RunTiledInputGrad(const Conv& c, const void* g, const void* weights, void* dx, void* workspace,
                       const Parallel& parallel, const MatmulKernels& kernels) {
  if (IsMatmul(c)) {
    return RunFloatMatmul(MatmulOf(c, false), {.a = g, .b = weights, .result = dx}, workspace, parallel,
                          kernels);
  }
  WithFloatElement(c.dtype, [&](auto element) {
    const Frame frame = FrameOfGradient(c);
    Gather<decltype(element)> gather(c, false, frame, g, weights, nullptr, dx, workspace, parallel, kernels);
    const int64_t rests_y = Least(c.stride_h, c.in_h), rests_x = Least(c.stride_w, c.in_w);
    const auto pixels_of = [&](int64_t y, int64_t x) {
      return Pixels{.y = y,
                    .x = x,
                    .step_y = c.stride_h,
                    .step_x = c.stride_w,
                    .count_y = CeilDiv(c.in_h - y, c.stride_h),
                    .count_x = CeilDiv(c.in_w - x, c.stride_w)};
    };
    const auto for_taps = [&](const Pixels& pixels, auto&& f) {
      for (int64_t ky = 0; ky < c.kernel_h; ++ky) {
        const int64_t row = PlaceOf(pixels.y, c.pad_top, ky, c.dilation_h, c.stride_h, frame.top);
        for (int64_t kx = 0; row >= 0 && kx < c.kernel_w; ++kx) {
          const int64_t column = PlaceOf(pixels.x, c.pad_left, kx, c.dilation_w, c.stride_w, frame.left);
          if (column >= 0) f(row * frame.row() + column * frame.channels, ky * c.kernel_w + kx);
        }
      }
    };
    // Weights are packed once, with the taps of all remainders together.
    for (int64_t i = 0; i < rests_y * rests_x; ++i) {
      for_taps(pixels_of(i / rests_x, i % rests_x),
               [&](int64_t offset, int64_t number) { gather.taps().Add(offset, number); });
    }
    gather.PackWeights();
    for (int64_t i = 0, first = 0; i < rests_y * rests_x; ++i) {
      Pixels pixels = pixels_of(i / rests_x, i % rests_x);
      pixels.first_tap = first;
      for_taps(pixels, [&](int64_t, int64_t) { ++pixels.taps; });
      gather.Run(pixels);
      first += pixels.taps;
    }
  });
}

}  // namespace sinter::kernels
