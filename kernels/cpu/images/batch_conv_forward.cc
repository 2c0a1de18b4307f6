// Forward convolution: a tile of output channels times pixels of one output row stays in registers.
#include "sinter/kernels/cpu/images/batch_lanes.h"

namespace sinter::kernels {
namespace {

constexpr int kWidest = kLanes == 16 ? 9 : 6;
// Returns the number of output channels of a tile that is `width` pixels wide.
constexpr int Channels(int width) {
  int channels = kAccumulators / width;
  return channels > 4 ? 4 : channels;
}
// Channels of a unit: a multiple of every tile's channel count, so that tiles are full.
constexpr int64_t kUnitChannels = 12;

struct Row {
  const BatchConv* conv = nullptr;
  const float* x = nullptr;     // First input channel of the group.
  const float* w = nullptr;     // First output channel of the tile.
  const float* bias = nullptr;  // First output channel of the tile; may be null.
  float* y = nullptr;           // First pixel of the tile.
  int64_t oy = 0, ox = 0;
  bool relu = false;
};

// kPlain: stride 1, and every tap of every pixel is inside the row.
template <int kChannels, int kWidth, bool kPlain>
SINTER_ALWAYS_INLINE void TilePiece(const Row& row, int piece) {
  const BatchConv& conv = *row.conv;
  const int64_t in_channels = conv.in_channels / conv.groups, taps = conv.kernel_h * conv.kernel_w;
  Lanes sum[kChannels][kWidth];
  SINTER_UNROLL
  for (int i = 0; i < kChannels; ++i) {
    SINTER_UNROLL
    for (int j = 0; j < kWidth; ++j) sum[i][j] = row.bias == nullptr ? Lanes{} : Splat(row.bias[i]);
  }
  const int64_t top = row.oy * conv.stride_h - conv.pad_top, left = row.ox * conv.stride_w - conv.pad_left;
  for (int64_t c = 0; c < in_channels; ++c) {
    for (int64_t ky = 0; ky < conv.kernel_h; ++ky) {
      const int64_t iy = top + ky * conv.dilation_h;
      if (!Inside(iy, conv.in_h)) continue;
      const float* line = row.x + (c * conv.in_h + iy) * conv.in_w * kPixel + piece * kLanes;
      const float* w = row.w + c * taps + ky * conv.kernel_w;
      for (int64_t kx = 0; kx < conv.kernel_w; ++kx, ++w) {
        Lanes weight[kChannels];
        SINTER_UNROLL
        for (int i = 0; i < kChannels; ++i) weight[i] = Splat(w[i * in_channels * taps]);
        const int64_t ix = left + kx * conv.dilation_w;
        SINTER_UNROLL
        for (int j = 0; j < kWidth; ++j) {
          const int64_t column = kPlain ? ix + j : ix + j * conv.stride_w;
          const float* pixel = kPlain || Inside(column, conv.in_w) ? line + column * kPixel : kZeroPixel;
          const Lanes value = LoadOnce(pixel);
          SINTER_UNROLL
          for (int i = 0; i < kChannels; ++i) sum[i][j] += value * weight[i];
        }
      }
    }
  }
  SINTER_UNROLL
  for (int i = 0; i < kChannels; ++i) {
    float* y = row.y + i * conv.out_h * conv.out_w * kPixel + piece * kLanes;
    SINTER_UNROLL
    for (int j = 0; j < kWidth; ++j) Store(y + j * kPixel, row.relu ? Relu(sum[i][j]) : sum[i][j]);
  }
}

template <int kChannels, int kWidth, bool kPlain>
void Tile(const Row& row) {
  for (int piece = 0; piece < kPieces; ++piece) TilePiece<kChannels, kWidth, kPlain>(row, piece);
}

template <int kChannels, int kWidth>
void TileOfWidth(const Row& row, int width, bool plain) {
  if constexpr (kWidth > 0) {
    if (width != kWidth) return TileOfWidth<kChannels, kWidth - 1>(row, width, plain);
    if constexpr (kChannels <= Channels(kWidth)) {
      return plain ? Tile<kChannels, kWidth, true>(row) : Tile<kChannels, kWidth, false>(row);
    }
  }
}

void AnyTile(const Row& row, int channels, int width, bool plain) {
  switch (channels) {
    case 4:
      return TileOfWidth<4, kWidest>(row, width, plain);
    case 3:
      return TileOfWidth<3, kWidest>(row, width, plain);
    case 2:
      return TileOfWidth<2, kWidest>(row, width, plain);
    default:
      return TileOfWidth<1, kWidest>(row, width, plain);
  }
}

}  // namespace

template <>
int64_t BatchIsa<kIsa>::ConvForwardUnits(const BatchConv& conv) {
  return conv.blocks() * conv.groups * CeilDiv(conv.out_channels / conv.groups, kUnitChannels);
}

template <>
void BatchIsa<kIsa>::ConvForward(const BatchConv& conv, const float* x, const float* weights,
                                 const float* bias, bool relu, float* y, int64_t begin, int64_t end) {
  const int64_t in_channels = conv.in_channels / conv.groups, out_channels = conv.out_channels / conv.groups;
  const int64_t chunks = CeilDiv(out_channels, kUnitChannels);
  const int64_t in_pixels = conv.in_h * conv.in_w, out_pixels = conv.out_h * conv.out_w;
  const int64_t reach = (conv.kernel_w - 1) * conv.dilation_w - conv.pad_left;
  const RowTiles tiles(conv.out_w, kWidest);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t block = unit / (conv.groups * chunks), group = unit / chunks % conv.groups;
    const int64_t first = unit % chunks * kUnitChannels, last = Min(first + kUnitChannels, out_channels);
    Row row = {.conv = &conv, .relu = relu};
    row.x = x + (block * conv.in_channels + group * in_channels) * in_pixels * kPixel;
    for (int64_t t = 0; t < tiles.count; ++t) {
      const int width = tiles.width(t);
      row.ox = tiles.start(t);
      const bool plain =
          conv.stride_w == 1 && row.ox >= conv.pad_left && row.ox + width - 1 + reach < conv.in_w;
      int channels = 0;
      for (int64_t c = first; c < last; c += channels) {
        channels = static_cast<int>(Min(Channels(width), last - c));
        const int64_t o = group * out_channels + c;
        row.w = weights + o * in_channels * conv.kernel_h * conv.kernel_w;
        row.bias = bias == nullptr ? nullptr : bias + o;
        for (row.oy = 0; row.oy < conv.out_h; ++row.oy) {
          row.y = y + ((block * conv.out_channels + o) * out_pixels + row.oy * conv.out_w + row.ox) * kPixel;
          AnyTile(row, channels, width, plain);
        }
      }
    }
  }
}

}  // namespace sinter::kernels
