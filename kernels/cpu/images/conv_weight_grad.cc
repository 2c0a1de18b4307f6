// Gradient of a convolution's weights: a matmul of the gradient's pixels and the pixels that each tap reads.
// It sums over all images: k runs over pixels, one row of the images after another. Rows of the sums are
// output channels; columns are taps and input channels. If this needs more padding to whole vectors (few
// input channels), rows and columns are exchanged.
#include <cstring>

#include "sinter/kernels/cpu/images/conv_images.h"
#include "sinter/kernels/cpu/images/conv_tiles.h"

namespace sinter::kernels {
namespace {

// Maximum size of a tile: the packed part of the gradient stays in the L2 cache.
template <typename C>
inline constexpr int64_t kMostRows = 1536 / static_cast<int64_t>(sizeof(C));
constexpr int64_t kMostColumns = 2048;
// The images are summed in parts, so that even small windows give about this many units of work with such
// tiles. The number of parts depends only on the shape.
constexpr int64_t kUnits = 32, kUnitRows = 120, kUnitColumns = 192;
// The width of a run of columns is a multiple of this, for any vector width.
constexpr int64_t kRunStep = 16;

template <typename C>
struct Scratch {
  alignas(64) C rows[MostRowPanels(kMostRows<C>)];
  alignas(64) C panel[kMostTileColumns * kChain];
};

// Layout of one group's sums. A run is contiguous in the images: the channels of one tap, or of a row of
// taps.
struct Runs {
  int64_t count, length, width;  // Runs, elements of a run, and its padded width in the sums.
  int64_t channels, room;        // Output channels, and their padded number among the sums.
  bool are_rows;                 // Rows of sums are elements of runs, not output channels.

  explicit Runs(const Conv& c) {
    const int64_t merged = c.groups == 1 && c.dilation_w == 1 ? c.kernel_w : 1;
    count = c.kernel_h * c.kernel_w / merged;
    length = merged * (c.in_channels / c.groups);
    width = CeilDiv(length, kRunStep) * kRunStep;
    channels = c.out_channels / c.groups;
    room = CeilDiv(channels, kRunStep) * kRunStep;
    are_rows = length * room < channels * width;
  }
  int64_t rows() const { return are_rows ? count * length : channels; }
  // Number of columns of a row of sums.
  int64_t row() const { return are_rows ? room : count * width; }
  // Number of columns, rounded up to whole register panels in each run.
  int64_t columns(int64_t panel_width) const {
    return are_rows ? channels : count * CeilDiv(length, panel_width) * panel_width;
  }
};

// Returns the parts of the images' rows.
EvenParts PartsOf(const Conv& c) {
  const int64_t rows = c.kernel_h * c.kernel_w * (c.in_channels / c.groups),
                columns = c.out_channels / c.groups;
  const int64_t tiles = c.groups * CeilDiv(rows, kUnitRows) * CeilDiv(columns, kUnitColumns);
  EvenParts parts(c.batch * c.out_h, 1);
  parts.count = Least(Most(1, kUnits / tiles), parts.total);
  return parts;
}

// The parts of the workspace, in order: images, gradient, sums, one channel's sums of each thread, and each
// thread's scratch.
template <typename E>
struct Workspace {
  using C = typename E::Compute;
  size_t images, gradient, sums, channel;

  explicit Workspace(const Conv& c)
      : images(ImagesBytes<E>(c, FrameOfInput(c))),
        gradient(ImagesBytes<E>(c, Whole(c))),
        sums(Bytes(PartsOf(c).count * c.groups * Runs(c).rows() * Runs(c).row())),
        channel(Bytes(2 * (Runs(c).count * Runs(c).length + kRunStep))) {}
  static Frame Whole(const Conv& c) {
    return {
        .height = c.out_h, .width = c.out_w, .channels = c.out_channels, .rows = c.out_h, .columns = c.out_w};
  }
  static size_t Bytes(int64_t elements) {
    return static_cast<size_t>(CeilDiv(elements * static_cast<int64_t>(sizeof(C)), 64)) * 64;
  }
  size_t Total(int threads) const {
    return images + gradient + sums + (channel + sizeof(Scratch<C>)) * static_cast<size_t>(threads);
  }
};

template <typename E>
class WeightGrad {
 public:
  using S = typename E::Storage;
  using C = typename E::Compute;

  WeightGrad(const Conv& c, const void* x, const void* g, void* dw, void* workspace, const Parallel& parallel,
             const MatmulKernels& kernels)
      : c_(c),
        runs_(c),
        parts_(PartsOf(c)),
        frame_(FrameOfInput(c)),
        panels_of_run_(CeilDiv(runs_.length, 2 * kernels.lanes<C>())),
        grid_(runs_.rows(), runs_.columns(2 * kernels.lanes<C>()), 2 * kernels.lanes<C>(),
              parts_.count * c.groups, parallel.threads, kMostRows<C>, kMostColumns),
        in_place_(sizeof(S) == sizeof(C) && parts_.count == 1 && c.kernel_h * c.kernel_w == 1 &&
                  !runs_.are_rows && runs_.width == runs_.length),
        dw_(static_cast<S*>(dw)),
        parallel_(parallel),
        kernels_(kernels) {
    const Workspace<E> parts(c);
    char* at = static_cast<char*>(workspace);
    images_ = ImagesOf<E>(x, c, frame_, at, parallel);
    gradient_ = ImagesOf<E>(g, c, Workspace<E>::Whole(c), at += parts.images, parallel);
    sums_ = reinterpret_cast<C*>(at += parts.gradient);
    if (in_place_) sums_ = static_cast<C*>(dw);
    channels_ = at += parts.sums;
    channel_bytes_ = parts.channel;
    scratch_ = reinterpret_cast<Scratch<C>*>(at + parts.channel * static_cast<size_t>(parallel.threads));
  }

  void Run() const {
    const int64_t units = parts_.count * c_.groups * grid_.tiles();
    parallel_.For(units, 1, [&](int64_t begin, int64_t end, int thread) {
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t tile = unit % grid_.tiles(), r = tile / grid_.panels.count,
                      p = tile % grid_.panels.count;
        Tile t = {.part = unit / grid_.tiles() / c_.groups, .group = unit / grid_.tiles() % c_.groups};
        t.row = grid_.rows.start(r), t.rows = grid_.rows.size(r);
        t.panel = grid_.panels.start(p), t.panels = grid_.panels.size(p);
        RunTile(t, scratch_[thread]);
      }
    });
    if (in_place_) return;
    parallel_.For(c_.out_channels, 1 + (1 << 14) / runs_.row(), [&](int64_t begin, int64_t end, int thread) {
      C* const own = reinterpret_cast<C*>(channels_ + channel_bytes_ * static_cast<size_t>(thread));
      for (int64_t o = begin; o < end; ++o) FinishChannel(o, own);
    });
  }

 private:
  struct Tile {
    int64_t part, group, row = 0, rows = 0, panel = 0, panels = 0;
  };

  void RunTile(const Tile& t, Scratch<C>& s) const {
    const int64_t first = parts_.start(t.part), lines = parts_.size(t.part);
    bool adds = false;
    if (c_.out_w <= kChain) {
      const EvenParts chains(lines, kChain / c_.out_w);
      for (int64_t i = 0; i < chains.count; ++i, adds = true) {
        MultiplyChain(t, first + chains.start(i), chains.size(i), 0, c_.out_w, adds, s);
      }
    } else {
      const EvenParts chains(c_.out_w, kChain);
      for (int64_t line = first; line < first + lines; ++line) {
        for (int64_t i = 0; i < chains.count; ++i, adds = true) {
          MultiplyChain(t, line, 1, chains.start(i), chains.size(i), adds, s);
        }
      }
    }
  }

  // Multiplies the pixels [x, x + width) of `lines` rows of the gradient; whole rows if `lines` is more than
  // 1.
  void MultiplyChain(const Tile& t, int64_t line, int64_t lines, int64_t x, int64_t width, bool adds,
                     Scratch<C>& s) const {
    if (runs_.are_rows) return MultiplyRuns(t, line, lines, x, width, adds, s);
    const int64_t depth = lines * width, lanes = kernels_.lanes<C>();
    const int64_t at = GradientAt(t, line, x) + t.row;
    PackRows<Plain>(kernels_, gradient_ + at, 1, c_.out_channels, t.rows, depth,
                    c_.batch * c_.out_h * c_.out_w * c_.out_channels - at, s.rows);
    const EvenParts heights(t.rows, kernels_.rows);
    Ahead nothing;
    for (int64_t p = t.panel; p < t.panel + t.panels; ++p) {
      const int64_t run = p / panels_of_run_, column = p % panels_of_run_ * grid_.panel_width;
      const int64_t columns = Least(grid_.panel_width, runs_.length - column);
      PanelTile<C> tile = {.depth = depth, .b = s.panel, .vectors = columns > lanes ? 2 : 1, .adds = adds};
      tile.b_stride = tile.vectors * lanes, tile.ahead_a = tile.ahead_b = &nothing;
      for (int64_t i = 0; i < lines; ++i) {
        PackColumns<Plain>(kernels_, Images(t, run, line + i, x) + column, 1, c_.stride_w * frame_.channels,
                           columns, width, s.panel + i * width * tile.b_stride, tile.b_stride);
      }
      tile.sums_stride = runs_.row();
      for (int64_t h = 0; h < heights.count; ++h) {
        tile.a = s.rows + h * RowPanelSize(kernels_, depth);
        tile.a_stride = heights.size(h), tile.row_count = static_cast<int>(heights.size(h));
        tile.sums = Sums(t, t.row + heights.start(h)) + run * runs_.width + column;
        kernels_.Multiply(tile);
      }
    }
  }

  // Like MultiplyChain, but the rows are elements of runs and are read in place.
  void MultiplyRuns(const Tile& t, int64_t line, int64_t lines, int64_t x, int64_t width, bool adds,
                    Scratch<C>& s) const {
    const int64_t depth = lines * width, lanes = kernels_.lanes<C>();
    const C* rows[kMostRows<C>];
    for (int64_t i = 0; i < t.rows; ++i) {
      rows[i] = Images(t, (t.row + i) / runs_.length, line, x) + (t.row + i) % runs_.length;
    }
    int64_t offsets[kChain];
    for (int64_t i = 0; i < lines; ++i) offsets[i] = Images(t, 0, line + i, x) - Images(t, 0, line, x);
    for (int64_t p = t.panel; p < t.panel + t.panels; ++p) {
      const int64_t column = p * grid_.panel_width,
                    columns = Least(grid_.panel_width, runs_.channels - column);
      MatmulTile<C> tile = {.offsets = offsets, .segments = lines, .length = width, .b = s.panel};
      tile.vectors = columns > lanes ? 2 : 1, tile.b_stride = tile.vectors * lanes, tile.adds = adds;
      tile.k_stride = c_.stride_w * frame_.channels, tile.sums_stride = runs_.row();
      PackColumns<Plain>(kernels_, gradient_ + GradientAt(t, line, x) + column, 1, c_.out_channels, columns,
                         depth, s.panel, tile.b_stride);
      const EvenParts heights(t.rows, kernels_.rows);
      for (int64_t h = 0; h < heights.count; ++h) {
        tile.rows = rows + heights.start(h), tile.row_count = static_cast<int>(heights.size(h));
        tile.sums = Sums(t, t.row + heights.start(h)) + column;
        kernels_.Multiply(tile);
      }
    }
  }

  // Returns a row of sums.
  C* Sums(const Tile& t, int64_t row) const {
    return sums_ + ((t.part * c_.groups + t.group) * runs_.rows() + row) * runs_.row();
  }
  // Returns the offset of a gradient pixel's first channel of the group.
  int64_t GradientAt(const Tile& t, int64_t line, int64_t x) const {
    return (line * c_.out_w + x) * c_.out_channels + t.group * runs_.channels;
  }

  // Returns the address that the first tap of a run reads for pixel x of a row of the gradient.
  const C* Images(const Tile& t, int64_t run, int64_t line, int64_t x) const {
    const int64_t n = line / c_.out_h, y = line % c_.out_h, taps = c_.kernel_h * c_.kernel_w / runs_.count;
    const int64_t ky = run * taps / c_.kernel_w, kx = run * taps % c_.kernel_w;
    return images_ + n * frame_.image() + (y * c_.stride_h + ky * c_.dilation_h) * frame_.row() +
           (x * c_.stride_w + kx * c_.dilation_w) * frame_.channels + t.group * (c_.in_channels / c_.groups);
  }

  // Adds the parts of one output channel and reorders the sums to the layout of the weights.
  void FinishChannel(int64_t o, C* own) const {
    const int64_t window = c_.kernel_h * c_.kernel_w, depth = c_.in_channels / c_.groups;
    C* const sums = own;                                             // [tap, input channel].
    C* const weights = own + runs_.count * runs_.length + kRunStep;  // [input channel, tap].
    for (int64_t p = 0; p < parts_.count; ++p) {
      const Tile t = {.part = p, .group = o / runs_.channels};
      const C* const from = Sums(t, runs_.are_rows ? 0 : o % runs_.channels);
      for (int64_t run = 0; run < runs_.count; ++run) {
        C* const to = sums + run * runs_.length;
        const C* const first = runs_.are_rows ? from + run * runs_.length * runs_.row() + o % runs_.channels
                                              : from + run * runs_.width;
        const int64_t apart = runs_.are_rows ? runs_.row() : 1;
        for (int64_t i = 0; p == 0 && i < runs_.length; ++i) to[i] = first[i * apart];
        for (int64_t i = 0; p > 0 && i < runs_.length; ++i) to[i] += first[i * apart];
      }
    }
    if (window > 1) PackRowsAlongK<Plain>(sums, depth, window, depth, weights);
    StoreRow<E>(window > 1 ? weights : sums, depth * window, dw_ + o * depth * window);
  }

  using Plain = Element<C, C, sizeof(C) == 8 ? kF64 : kF32>;

  Conv c_;
  Runs runs_;
  EvenParts parts_;
  Frame frame_;
  int64_t panels_of_run_;
  TileGrid grid_;
  bool in_place_;  // The sums are the weight gradient itself.
  S* dw_;
  Parallel parallel_;
  const MatmulKernels& kernels_;
  const C* images_ = nullptr;
  const C* gradient_ = nullptr;
  C* sums_ = nullptr;
  char* channels_ = nullptr;
  size_t channel_bytes_ = 0;
  Scratch<C>* scratch_ = nullptr;
};

// False if a frame is so much larger than its contents that the direct convolution is better.
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
  WithFloatElement(c.dtype, [&](auto element) { bytes = Workspace<decltype(element)>(c).Total(threads); });
  return bytes;
}

void RunTiledWeightGrad(const Conv& c, const void* x, const void* g, void* dw, void* workspace,
                        const Parallel& parallel, const MatmulKernels& kernels) {
  WithFloatElement(c.dtype, [&](auto element) {
    WeightGrad<decltype(element)>(c, x, g, dw, workspace, parallel, kernels).Run();
  });
}

}  // namespace sinter::kernels
