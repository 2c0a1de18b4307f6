// The gradient of a convolution's weights: for each tap and channel of the input, products of the pixels that it reads with the
// gradient's pixels, summed over all images. Rows are taps and channels of the input, columns are channels of the output, and k
// runs over pixels, row by row of the images.
#include <cstring>

#include "sinter/kernels/cpu/conv_images.h"
#include "sinter/kernels/cpu/conv_tiles.h"

namespace sinter::kernels {
namespace {

constexpr int64_t kMostRows = 120, kMostColumns = 192;
// The images are summed in parts, so that there are about this many units of work even for small windows. The shape alone decides.
constexpr int64_t kUnits = 32;

template <typename C>
struct Scratch {
  alignas(64) C sums[kMostRows * kMostColumns];
  alignas(64) C panels[kMostColumns * kChain];
};

struct Cut {
  int64_t rows, columns;  // Of one group's gradient.
  EvenParts row_tiles, column_tiles, parts;

  explicit Cut(const Conv& c)
      : rows(c.kernel_h * c.kernel_w * (c.in_channels / c.groups)),
        columns(c.out_channels / c.groups),
        row_tiles(rows, kMostRows),
        column_tiles(columns, kMostColumns),
        parts(c.batch * c.out_h, 1) {
    const int64_t tiles = c.groups * row_tiles.count * column_tiles.count;
    const int64_t count = Least(Most(1, kUnits / tiles), parts.total);
    parts.count = count;
  }
  int64_t elements(const Conv& c) const { return c.groups * rows * columns; }
};

template <typename E>
struct Workspace {
  using C = typename E::Compute;
  size_t images, gradient, partial;

  Workspace(const Conv& c, const Cut& cut)
      : images(ImagesBytes<E>(c, FrameOfInput(c))),
        gradient(ImagesBytes<E>(c, Whole(c))),
        partial(static_cast<size_t>(
                    CeilDiv(cut.parts.count * cut.elements(c) * static_cast<int64_t>(sizeof(C)), 64)) *
                64) {}
  static Frame Whole(const Conv& c) {
    return {
        .height = c.out_h, .width = c.out_w, .channels = c.out_channels, .rows = c.out_h, .columns = c.out_w};
  }
  size_t Bytes(int threads) const {
    return images + gradient + partial + sizeof(Scratch<C>) * static_cast<size_t>(threads);
  }
};

template <typename E>
class WeightGrad {
 public:
  using S = typename E::Storage;
  using C = typename E::Compute;

  WeightGrad(const Conv& c, const void* x, const void* g, void* dw, void* workspace, const Parallel& parallel,
             const ProductKernels& kernels)
      : c_(c),
        cut_(c),
        frame_(FrameOfInput(c)),
        dw_(static_cast<S*>(dw)),
        parallel_(parallel),
        kernels_(kernels),
        panel_width_(2 * kernels.lanes<C>()) {
    const Workspace<E> parts(c, cut_);
    char* const base = static_cast<char*>(workspace);
    images_ = ImagesOf<E>(x, c, frame_, base, parallel);
    gradient_ = ImagesOf<E>(g, c, Workspace<E>::Whole(c), base + parts.images, parallel);
    partial_ = reinterpret_cast<C*>(base + parts.images + parts.gradient);
    scratch_ = reinterpret_cast<Scratch<C>*>(base + parts.images + parts.gradient + parts.partial);
  }

  void Run() const {
    const int64_t tiles = cut_.row_tiles.count * cut_.column_tiles.count;
    parallel_.For(cut_.parts.count * c_.groups * tiles, 1, [&](int64_t begin, int64_t end, int thread) {
      for (int64_t unit = begin; unit < end; ++unit) {
        RunTile(unit / tiles / c_.groups, unit / tiles % c_.groups, unit % tiles / cut_.column_tiles.count,
                unit % cut_.column_tiles.count, scratch_[thread]);
      }
    });
    const int64_t depth = c_.in_channels / c_.groups, window = c_.kernel_h * c_.kernel_w;
    parallel_.For(c_.out_channels, 1 + (1 << 13) / cut_.rows, [&](int64_t begin, int64_t end, int) {
      for (int64_t o = begin; o < end; ++o) {
        const C* const sums = partial_ + o / cut_.columns * cut_.rows * cut_.columns + o % cut_.columns;
        for (int64_t row = 0; row < cut_.rows; ++row) {
          C sum = sums[row * cut_.columns];
          for (int64_t p = 1; p < cut_.parts.count; ++p)
            sum += sums[p * cut_.elements(c_) + row * cut_.columns];
          dw_[(o * depth + row % depth) * window + row / depth] = E::Store(sum);
        }
      }
    });
  }

 private:
  void RunTile(int64_t part, int64_t group, int64_t row_tile, int64_t column_tile, Scratch<C>& s) const {
    const int64_t row = cut_.row_tiles.start(row_tile), rows = cut_.row_tiles.size(row_tile);
    const int64_t column = cut_.column_tiles.start(column_tile),
                  columns = cut_.column_tiles.size(column_tile);
    const int64_t depth = c_.in_channels / c_.groups;
    const C* pointers[kMostRows];
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t tap = (row + i) / depth, ky = tap / c_.kernel_w, kx = tap % c_.kernel_w;
      pointers[i] = images_ + ky * c_.dilation_h * frame_.row() + kx * c_.dilation_w * frame_.channels +
                    group * depth + (row + i) % depth;
    }
    const int64_t channel = group * cut_.columns + column;
    const int64_t first = cut_.parts.start(part), lines = cut_.parts.size(part);
    bool adds = false;
    if (c_.out_w <= kChain) {
      const EvenParts chains(lines, kChain / c_.out_w);
      for (int64_t i = 0; i < chains.count; ++i, adds = true) {
        MultiplyChain(pointers, rows, first + chains.start(i), chains.size(i), 0, c_.out_w, channel, columns,
                      adds, s);
      }
    } else {
      const EvenParts chains(c_.out_w, kChain);
      for (int64_t line = first; line < first + lines; ++line) {
        for (int64_t i = 0; i < chains.count; ++i, adds = true) {
          MultiplyChain(pointers, rows, line, 1, chains.start(i), chains.size(i), channel, columns, adds, s);
        }
      }
    }
    C* const to =
        partial_ + (part * c_.groups + group) * cut_.rows * cut_.columns + row * cut_.columns + column;
    for (int64_t i = 0; i < rows; ++i) {
      std::memcpy(to + i * cut_.columns, s.sums + i * kMostColumns, static_cast<size_t>(columns) * sizeof(C));
    }
  }

  // Pixels [x, x + width) of `lines` rows of the gradient, whole ones if there are several.
  void MultiplyChain(const C* const* pointers, int64_t rows, int64_t line, int64_t lines, int64_t x,
                     int64_t width, int64_t channel, int64_t columns, bool adds, Scratch<C>& s) const {
    int64_t offsets[kChain];
    for (int64_t i = 0; i < lines; ++i) {
      const int64_t n = (line + i) / c_.out_h, y = (line + i) % c_.out_h;
      offsets[i] = n * frame_.image() + y * c_.stride_h * frame_.row() + x * c_.stride_w * frame_.channels;
    }
    const C* const from = gradient_ + (line * c_.out_w + x) * c_.out_channels + channel;
    const int64_t panels = CeilDiv(columns, panel_width_), stride = panel_width_ * kChain;
    for (int64_t p = 0; p < panels; ++p) {
      PackColumns<Element<C, C, sizeof(C) == 8 ? kF64 : kF32>>(
          kernels_, from + p * panel_width_, 1, c_.out_channels,
          Least(panel_width_, columns - p * panel_width_), lines * width, s.panels + p * stride,
          panel_width_);
    }
    ProductTile<C> tile = {.offsets = offsets, .segments = lines, .length = width, .b_stride = panel_width_};
    tile.k_stride = c_.stride_w * frame_.channels, tile.panel_stride = stride;
    tile.sums_stride = kMostColumns, tile.adds = adds;
    tile.b = s.panels, tile.sums = s.sums;
    MultiplyPanels(kernels_, tile, pointers, rows, columns);
  }

  Conv c_;
  Cut cut_;
  Frame frame_;
  S* dw_;
  Parallel parallel_;
  const ProductKernels& kernels_;
  int64_t panel_width_;
  const C* images_ = nullptr;
  const C* gradient_ = nullptr;
  C* partial_ = nullptr;
  Scratch<C>* scratch_ = nullptr;
};

// A frame much larger than what it holds is not worth its memory.
bool IsWorthwhile(const Frame& f, double elements) {
  return static_cast<double>(f.rows) * static_cast<double>(f.row()) <= 4 * elements + 65536;
}

}  // namespace

bool HasConvTiles(const Conv& c) {
  const int64_t in = c.in_channels / c.groups, out = c.out_channels / c.groups;
  if (c.batch == 0 || in == 0 || out == 0 || c.in_h * c.in_w == 0 || c.out_h * c.out_w == 0) return false;
  constexpr int64_t kLeastChannels = 4;
  if (c.groups > 1 && (in < kLeastChannels || out < kLeastChannels)) return false;
  const double elements = static_cast<double>(c.in_channels * c.in_h * c.in_w) +
                          static_cast<double>(c.out_channels * c.out_h * c.out_w);
  return IsWorthwhile(FrameOfInput(c), elements) && IsWorthwhile(FrameOfGradient(c), elements);
}

size_t WeightGradWorkspaceBytes(const Conv& c, int threads) {
  size_t bytes = 0;
  WithFloatElement(c.dtype,
                   [&](auto element) { bytes = Workspace<decltype(element)>(c, Cut(c)).Bytes(threads); });
  return bytes;
}

void RunTiledWeightGrad(const Conv& c, const void* x, const void* g, void* dw, void* workspace,
                        const Parallel& parallel, const ProductKernels& kernels) {
  WithFloatElement(c.dtype, [&](auto element) {
    WeightGrad<decltype(element)>(c, x, g, dw, workspace, parallel, kernels).Run();
  });
}

}  // namespace sinter::kernels
