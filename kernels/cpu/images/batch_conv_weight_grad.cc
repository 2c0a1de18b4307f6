// Gradient of a convolution's weights: a tile of output channels times taps stays in registers.
// The tile sums over all pixels of a few blocks of images; its 16 lanes are added once at the end.
#include "sinter/kernels/cpu/images/batch_lanes.h"

namespace sinter::kernels {
namespace {

// A tap reads one channel of x with an offset: line(oy) = oy * stride_h + dy, column(ox) = ox * stride_w +
// dx.
struct Tap {
  const float* x;  // The channel in the first block of the part.
  int64_t dy, dx;
};

struct Part {
  const BatchConv* conv = nullptr;
  const float* g = nullptr;  // First output channel of the tile, first block of the part.
  float* dw = nullptr;       // First output channel of the tile, first tap.
  int64_t blocks = 0;
};

constexpr int TileChannels(int taps) {
  if (kLanes == 16) return taps == 3 ? 8 : taps == 5 ? 5 : 6;
  return taps == 3 ? 4 : taps == 5 ? 2 : 3;
}
constexpr int kAnyTaps = 4;  // Number of taps of a tile that is not one row of a kernel of width 3 or 5.

template <int kChannels, int kTaps>
struct Sums {
  Lanes sum[kChannels][kTaps];
};

// Adds one pixel. kRow: the taps are adjacent, and `line` is the first tap's.
template <int kChannels, int kTaps, bool kRow, bool kChecked>
SINTER_ALWAYS_INLINE void AddPixel(Sums<kChannels, kTaps>& sums, const float* g, int64_t g_plane,
                                   const float* const* line, const int64_t* dx, int64_t column,
                                   int64_t in_w) {
  SINTER_UNROLL
  for (int piece = 0; piece < kPieces; ++piece) {
    Lanes value[kTaps];
    SINTER_UNROLL
    for (int k = 0; k < kTaps; ++k) {
      const int64_t at = kRow ? column + dx[0] + k : column + dx[k];
      const float* from = kRow ? line[0] : line[k];
      const bool inside = !kChecked || (Inside(at, in_w) && from != nullptr);
      value[k] = LoadOnce((inside ? from + at * kPixel : kZeroPixel) + piece * kLanes);
    }
    SINTER_UNROLL
    for (int i = 0; i < kChannels; ++i) {
      const Lanes gradient = LoadOnce(g + i * g_plane + piece * kLanes);
      SINTER_UNROLL
      for (int k = 0; k < kTaps; ++k) sums.sum[i][k] += gradient * value[k];
    }
  }
}

template <int kChannels, int kTaps, bool kRow>
void Tile(const Part& part, const Tap* taps) {
  const BatchConv& conv = *part.conv;
  const int64_t g_plane = conv.out_h * conv.out_w * kPixel, x_plane = conv.in_h * conv.in_w * kPixel;
  int64_t dx[kTaps];
  SINTER_UNROLL
  for (int k = 0; k < kTaps; ++k) dx[k] = taps[k].dx;
  // In output columns [low, high) all taps are inside the image.
  int64_t low = 0, high = conv.out_w;
  if (kRow) {
    low = Min(Max(0, CeilDiv(Max(-dx[0], 0), conv.stride_w)), conv.out_w);
    const int64_t room = conv.in_w - kTaps - dx[0];
    high = room < 0 ? low : Max(low, Min(conv.out_w, room / conv.stride_w + 1));
  }
  Sums<kChannels, kTaps> sums;
  SINTER_UNROLL
  for (int i = 0; i < kChannels; ++i) {
    SINTER_UNROLL
    for (int k = 0; k < kTaps; ++k) sums.sum[i][k] = Lanes{};
  }
  for (int64_t block = 0; block < part.blocks; ++block) {
    for (int64_t oy = 0; oy < conv.out_h; ++oy) {
      const float* line[kTaps];
      bool any = false;
      SINTER_UNROLL
      for (int k = 0; k < (kRow ? 1 : kTaps); ++k) {
        const int64_t iy = oy * conv.stride_h + taps[k].dy;
        const bool inside = Inside(iy, conv.in_h);
        line[k] = inside ? taps[k].x + block * conv.in_channels * x_plane + iy * conv.in_w * kPixel : nullptr;
        any |= inside;
      }
      if (!any) continue;
      const float* g = part.g + block * conv.out_channels * g_plane + oy * conv.out_w * kPixel;
      const auto add_checked = [&](int64_t from, int64_t to) {
        for (int64_t ox = from; ox < to; ++ox) {
          AddPixel<kChannels, kTaps, kRow, true>(sums, g + ox * kPixel, g_plane, line, dx, ox * conv.stride_w,
                                                 conv.in_w);
        }
      };
      if constexpr (kRow) {
        add_checked(0, low);
        for (int64_t ox = low; ox < high; ++ox) {
          AddPixel<kChannels, kTaps, kRow, false>(sums, g + ox * kPixel, g_plane, line, dx,
                                                  ox * conv.stride_w, conv.in_w);
        }
        add_checked(high, conv.out_w);
      } else {
        add_checked(0, conv.out_w);
      }
    }
  }
  const int64_t row = conv.in_channels / conv.groups * conv.kernel_h * conv.kernel_w;
  SINTER_UNROLL
  for (int i = 0; i < kChannels; ++i) {
    SINTER_UNROLL
    for (int k = 0; k < kTaps; ++k) part.dw[i * row + k] = Sum(sums.sum[i][k]);
  }
}

template <int kChannels, int kTaps, bool kRow>
void TileOfChannels(const Part& part, const Tap* taps, int channels) {
  if constexpr (kChannels > 0) {
    if (channels != kChannels) return TileOfChannels<kChannels - 1, kTaps, kRow>(part, taps, channels);
    Tile<kChannels, kTaps, kRow>(part, taps);
  }
}

template <int kTaps>
void AnyTile(const Part& part, const Tap* taps, int channels, int count) {
  if constexpr (kTaps > 0) {
    if (count != kTaps) return AnyTile<kTaps - 1>(part, taps, channels, count);
    TileOfChannels<TileChannels(kAnyTaps), kTaps, false>(part, taps, channels);
  }
}

// Returns the number of taps of a tile: one row of the kernel, or kAnyTaps arbitrary taps.
int TapsOf(const BatchConv& conv) {
  const bool row = conv.dilation_w == 1 && (conv.kernel_w == 3 || conv.kernel_w == 5);
  return row ? static_cast<int>(conv.kernel_w) : kAnyTaps;
}

void AllTaps(const Part& part, const float* x, int channels) {
  const BatchConv& conv = *part.conv;
  const int64_t kernel = conv.kernel_h * conv.kernel_w, all = conv.in_channels / conv.groups * kernel;
  const int most = TapsOf(conv);
  int count = 0;
  for (int64_t k = 0; k < all; k += count) {
    count = static_cast<int>(Min(most, all - k));
    Tap taps[5];
    for (int t = 0; t < count; ++t) {
      const int64_t c = (k + t) / kernel, ky = (k + t) % kernel / conv.kernel_w, kx = (k + t) % conv.kernel_w;
      taps[t] = {.x = x + c * conv.in_h * conv.in_w * kPixel,
                 .dy = ky * conv.dilation_h - conv.pad_top,
                 .dx = kx * conv.dilation_w - conv.pad_left};
    }
    Part tile = part;
    tile.dw += k;
    switch (most) {
      case 3:
        TileOfChannels<TileChannels(3), 3, true>(tile, taps, channels);
        break;
      case 5:
        TileOfChannels<TileChannels(5), 5, true>(tile, taps, channels);
        break;
      default:
        AnyTile<kAnyTaps>(tile, taps, channels, count);
    }
  }
}

}  // namespace

template <>
int64_t BatchIsa<kIsa>::ConvWeightGradUnits(const BatchConv& conv) {
  return WeightGradParts(conv) * conv.groups *
         CeilDiv(conv.out_channels / conv.groups, TileChannels(TapsOf(conv)));
}

template <>
void BatchIsa<kIsa>::ConvWeightGrad(const BatchConv& conv, const float* x, const float* g, float* workspace,
                                    int64_t begin, int64_t end) {
  const int64_t in_channels = conv.in_channels / conv.groups, out_channels = conv.out_channels / conv.groups;
  const int64_t parts = WeightGradParts(conv), tile = TileChannels(TapsOf(conv));
  const int64_t chunks = CeilDiv(out_channels, tile);
  const int64_t row = in_channels * conv.kernel_h * conv.kernel_w;
  const int64_t x_plane = conv.in_h * conv.in_w * kPixel, g_plane = conv.out_h * conv.out_w * kPixel;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t p = unit / (conv.groups * chunks), group = unit / chunks % conv.groups;
    const int64_t first = p * conv.blocks() / parts;
    const int64_t o = group * out_channels + unit % chunks * tile;
    Part part = {.conv = &conv};
    part.blocks = (p + 1) * conv.blocks() / parts - first;
    part.g = g + (first * conv.out_channels + o) * g_plane;
    part.dw = workspace + (p * conv.out_channels + o) * row;
    AllTaps(part, x + (first * conv.in_channels + group * in_channels) * x_plane,
            static_cast<int>(Min(tile, out_channels - unit % chunks * tile)));
  }
}

}  // namespace sinter::kernels
