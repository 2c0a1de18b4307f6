// Gradient of a convolution's images. With stride and dilation 1 and a kernel width of 3 or 5, it spreads:
// it adds each pixel of a row of g to the pixels of dx that it came from, in registers, without wasted work
// at borders. In all other cases it gathers: each pixel of dx sums its contributions, with zeros outside g.
#include "sinter/kernels/cpu/images/batch_lanes.h"

namespace sinter::kernels {
namespace {

constexpr int64_t kUnitChannels = 4;  // Input channels of a unit.

struct Row {
  const BatchConv* conv = nullptr;
  const float* g = nullptr;  // First output channel of the group.
  const float* w = nullptr;  // First output channel of the group, first input channel of the tile.
  float* dx = nullptr;       // First input channel of the tile.
  int64_t iy = 0;
  // Spreading: the first pixel of g. Gathering: the index of the first dx pixel among those with the same
  // residue.
  int64_t first = 0;
};

// Spreading.
// -----------------------------------------------------------------------------------------------------------

constexpr int SpreadChannels(int width, int kernel) {
  int channels = kAccumulators / (width + kernel - 1);
  return channels > 4 ? 4 : channels < 1 ? 1 : channels;
}
constexpr int SpreadWidest(int kernel) { return kLanes == 16 ? 9 : kernel == 3 ? 4 : 8; }

template <int kChannels, int kWidth, int kKernel>
SINTER_ALWAYS_INLINE void SpreadPiece(const Row& row, int piece) {
  constexpr int kColumns = kWidth + kKernel - 1;
  const BatchConv& conv = *row.conv;
  const int64_t in_channels = conv.in_channels / conv.groups, out_channels = conv.out_channels / conv.groups;
  const int64_t taps = conv.kernel_h * kKernel, g_plane = conv.out_h * conv.out_w * kPixel;
  Lanes sum[kChannels][kColumns];
  SINTER_UNROLL
  for (int i = 0; i < kChannels; ++i) {
    SINTER_UNROLL
    for (int j = 0; j < kColumns; ++j) sum[i][j] = Lanes{};
  }
  for (int64_t ky = 0; ky < conv.kernel_h; ++ky) {
    const int64_t oy = row.iy + conv.pad_top - ky;
    if (!Inside(oy, conv.out_h)) continue;
    const float* g = row.g + (oy * conv.out_w + row.first) * kPixel + piece * kLanes;
    const float* w = row.w + ky * kKernel;
    for (int64_t o = 0; o < out_channels; ++o, g += g_plane, w += in_channels * taps) {
      SINTER_UNROLL
      for (int kx = 0; kx < kKernel; ++kx) {
        Lanes weight[kChannels];
        SINTER_UNROLL
        for (int i = 0; i < kChannels; ++i) weight[i] = Splat(w[i * taps + kx]);
        SINTER_UNROLL
        for (int j = 0; j < kWidth; ++j) {
          const Lanes value = LoadOnce(g + j * kPixel);
          SINTER_UNROLL
          for (int i = 0; i < kChannels; ++i) sum[i][j + kx] += value * weight[i];
        }
      }
    }
  }
  const int64_t left = row.first - conv.pad_left;
  SINTER_UNROLL
  for (int i = 0; i < kChannels; ++i) {
    float* dx = row.dx + ((i * conv.in_h + row.iy) * conv.in_w + left) * kPixel + piece * kLanes;
    SINTER_UNROLL
    for (int j = 0; j < kColumns; ++j) {
      if (!Inside(left + j, conv.in_w)) continue;
      // The tile to the left has already written the shared columns.
      const bool shared = j < kKernel - 1 && row.first > 0;
      Store(dx + j * kPixel, shared ? Load(dx + j * kPixel) + sum[i][j] : sum[i][j]);
    }
  }
}

template <int kChannels, int kWidth, int kKernel>
void Spread(const Row& row) {
  for (int piece = 0; piece < kPieces; ++piece) SpreadPiece<kChannels, kWidth, kKernel>(row, piece);
}

template <int kChannels, int kWidth, int kKernel>
void SpreadOfWidth(const Row& row, int width) {
  if constexpr (kWidth > 0) {
    if (width != kWidth) return SpreadOfWidth<kChannels, kWidth - 1, kKernel>(row, width);
    if constexpr (kChannels <= SpreadChannels(kWidth, kKernel))
      return Spread<kChannels, kWidth, kKernel>(row);
  }
}

template <int kKernel>
void SpreadRows(const BatchConv& conv, Row row, int64_t channels) {
  const RowTiles tiles(conv.out_w, SpreadWidest(kKernel));
  const int64_t taps = conv.kernel_h * kKernel, plane = conv.in_h * conv.in_w * kPixel;
  int step = 0;
  for (int64_t c = 0; c < channels; c += step) {
    // The widest tile determines the channel count, so that all tiles of a row cover the same channels.
    const int most = SpreadChannels(tiles.width(0), kKernel);
    step = static_cast<int>(Min(most, channels - c));
    Row tile = row;
    tile.w += c * taps, tile.dx += c * plane;
    for (tile.iy = 0; tile.iy < conv.in_h; ++tile.iy) {
      for (int64_t t = 0; t < tiles.count; ++t) {
        tile.first = tiles.start(t);
        const int width = tiles.width(t);
        switch (step) {
          case 4:
            SpreadOfWidth<4, SpreadWidest(kKernel), kKernel>(tile, width);
            break;
          case 3:
            SpreadOfWidth<3, SpreadWidest(kKernel), kKernel>(tile, width);
            break;
          case 2:
            SpreadOfWidth<2, SpreadWidest(kKernel), kKernel>(tile, width);
            break;
          default:
            SpreadOfWidth<1, SpreadWidest(kKernel), kKernel>(tile, width);
        }
      }
    }
  }
}

// Gathering.
// -----------------------------------------------------------------------------------------------------------

// The taps of all dx pixels whose columns have the same residue modulo the stride: kx = first_tap, first_tap
// + tap_step, ... These pixels read neighbouring pixels of g.
struct Residue {
  int64_t first_tap, tap_step;
  bool any;
};

Residue TapsOf(const BatchConv& conv, int64_t residue) {
  int64_t a = conv.stride_w, b = conv.dilation_w;
  while (b != 0) {
    const int64_t rest = a % b;
    a = b, b = rest;
  }
  Residue taps = {.first_tap = 0, .tap_step = conv.stride_w / a, .any = false};
  for (int64_t kx = 0; kx < Min(taps.tap_step, conv.kernel_w); ++kx) {
    if ((residue + conv.pad_left - kx * conv.dilation_w) % conv.stride_w != 0) continue;
    taps.first_tap = kx, taps.any = true;
    break;
  }
  return taps;
}

constexpr int GatherChannels(int width) {
  int channels = kAccumulators / width;
  return channels > 4 ? 4 : channels;
}
constexpr int kGatherWidest = 6;

template <int kChannels, int kWidth>
SINTER_ALWAYS_INLINE void GatherPiece(const Row& row, int64_t residue, const Residue& taps_of, int piece) {
  const BatchConv& conv = *row.conv;
  const int64_t in_channels = conv.in_channels / conv.groups, out_channels = conv.out_channels / conv.groups;
  const int64_t taps = conv.kernel_h * conv.kernel_w, g_plane = conv.out_h * conv.out_w * kPixel;
  Lanes sum[kChannels][kWidth];
  SINTER_UNROLL
  for (int i = 0; i < kChannels; ++i) {
    SINTER_UNROLL
    for (int j = 0; j < kWidth; ++j) sum[i][j] = Lanes{};
  }
  const int64_t ox_step = taps_of.tap_step * conv.dilation_w / conv.stride_w;
  for (int64_t ky = 0; taps_of.any && ky < conv.kernel_h; ++ky) {
    const int64_t place = row.iy + conv.pad_top - ky * conv.dilation_h;
    if (place % conv.stride_h != 0 || !Inside(place / conv.stride_h, conv.out_h)) continue;
    const float* g = row.g + place / conv.stride_h * conv.out_w * kPixel + piece * kLanes;
    const float* w = row.w + ky * conv.kernel_w;
    for (int64_t o = 0; o < out_channels; ++o, g += g_plane, w += in_channels * taps) {
      int64_t ox =
          row.first + (residue + conv.pad_left - taps_of.first_tap * conv.dilation_w) / conv.stride_w;
      for (int64_t kx = taps_of.first_tap; kx < conv.kernel_w; kx += taps_of.tap_step, ox -= ox_step) {
        Lanes weight[kChannels];
        SINTER_UNROLL
        for (int i = 0; i < kChannels; ++i) weight[i] = Splat(w[i * taps + kx]);
        SINTER_UNROLL
        for (int j = 0; j < kWidth; ++j) {
          const Lanes value = LoadOnce(Inside(ox + j, conv.out_w) ? g + (ox + j) * kPixel : kZeroPixel);
          SINTER_UNROLL
          for (int i = 0; i < kChannels; ++i) sum[i][j] += value * weight[i];
        }
      }
    }
  }
  SINTER_UNROLL
  for (int i = 0; i < kChannels; ++i) {
    float* dx = row.dx + (i * conv.in_h + row.iy) * conv.in_w * kPixel + piece * kLanes;
    SINTER_UNROLL
    for (int j = 0; j < kWidth; ++j) {
      Store(dx + (residue + (row.first + j) * conv.stride_w) * kPixel, sum[i][j]);
    }
  }
}

template <int kChannels, int kWidth>
void GatherOfWidth(const Row& row, int64_t residue, const Residue& taps, int width) {
  if constexpr (kWidth > 0) {
    if (width != kWidth) return GatherOfWidth<kChannels, kWidth - 1>(row, residue, taps, width);
    if constexpr (kChannels <= GatherChannels(kWidth)) {
      for (int piece = 0; piece < kPieces; ++piece) GatherPiece<kChannels, kWidth>(row, residue, taps, piece);
    }
  }
}

void GatherRows(const BatchConv& conv, Row row, int64_t channels) {
  const int64_t taps = conv.kernel_h * conv.kernel_w, plane = conv.in_h * conv.in_w * kPixel;
  for (int64_t residue = 0; residue < Min(conv.stride_w, conv.in_w); ++residue) {
    const Residue taps_of = TapsOf(conv, residue);
    const RowTiles tiles(CeilDiv(conv.in_w - residue, conv.stride_w), kGatherWidest);
    for (int64_t t = 0; t < tiles.count; ++t) {
      const int width = tiles.width(t);
      int step = 0;
      for (int64_t c = 0; c < channels; c += step) {
        step = static_cast<int>(Min(GatherChannels(width), channels - c));
        Row tile = row;
        tile.w += c * taps, tile.dx += c * plane, tile.first = tiles.start(t);
        for (tile.iy = 0; tile.iy < conv.in_h; ++tile.iy) {
          switch (step) {
            case 4:
              GatherOfWidth<4, kGatherWidest>(tile, residue, taps_of, width);
              break;
            case 3:
              GatherOfWidth<3, kGatherWidest>(tile, residue, taps_of, width);
              break;
            case 2:
              GatherOfWidth<2, kGatherWidest>(tile, residue, taps_of, width);
              break;
            default:
              GatherOfWidth<1, kGatherWidest>(tile, residue, taps_of, width);
          }
        }
      }
    }
  }
}

}  // namespace

template <>
int64_t BatchIsa<kIsa>::ConvInputGradUnits(const BatchConv& conv) {
  return conv.blocks() * conv.groups * CeilDiv(conv.in_channels / conv.groups, kUnitChannels);
}

template <>
void BatchIsa<kIsa>::ConvInputGrad(const BatchConv& conv, const float* g, const float* weights, float* dx,
                                   int64_t begin, int64_t end) {
  const int64_t in_channels = conv.in_channels / conv.groups, out_channels = conv.out_channels / conv.groups;
  const int64_t chunks = CeilDiv(in_channels, kUnitChannels), taps = conv.kernel_h * conv.kernel_w;
  const bool unit_steps = conv.stride_h == 1 && conv.stride_w == 1 && conv.dilation_h == 1 &&
                          conv.dilation_w == 1 && conv.out_w > 0;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t block = unit / (conv.groups * chunks), group = unit / chunks % conv.groups;
    const int64_t c = unit % chunks * kUnitChannels;
    Row row = {.conv = &conv};
    row.g = g + (block * conv.out_channels + group * out_channels) * conv.out_h * conv.out_w * kPixel;
    row.w = weights + (group * out_channels * in_channels + c) * taps;
    row.dx = dx + (block * conv.in_channels + group * in_channels + c) * conv.in_h * conv.in_w * kPixel;
    const int64_t channels = Min(kUnitChannels, in_channels - c);
    if (unit_steps && conv.kernel_w == 5) {
      SpreadRows<5>(conv, row, channels);
    } else if (unit_steps && conv.kernel_w == 3) {
      SpreadRows<3>(conv, row, channels);
    } else {
      GatherRows(conv, row, channels);
    }
  }
}

}  // namespace sinter::kernels
