// The tiles of depthwise_tile.h, compiled once for each instruction set (batch_isa.h).
// Every multiply-add reads one operand from memory, so a core does as many as it does loads, for any taps.
#include "sinter/kernels/cpu/images/batch_lanes.h"
#include "sinter/kernels/cpu/images/depthwise_tile.h"

namespace sinter::kernels {
namespace {

template <typename C>
struct DepthwiseVector {
  static constexpr int kCount = kLanes * static_cast<int>(sizeof(float)) / static_cast<int>(sizeof(C));
  static constexpr int kOfRun = static_cast<int>(kDepthwiseRun<C>) / kCount;
  typedef C Type __attribute__((vector_size(kLanes * sizeof(float))));
};

template <typename C>
SINTER_ALWAYS_INLINE typename DepthwiseVector<C>::Type LoadElements(const C* from) {
  typename DepthwiseVector<C>::Type value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

// Sums that one pass over the taps computes: enough to hide the latency of a multiply-add.
constexpr int kPixelsAtOnce = kLanes == 16 ? 8 : kLanes == 8 ? 7 : 3;
constexpr int kTapsAtOnce = 9;

// Computes one run of each of `kPixels` pixels. kIsDense: pixels of `from` are runs without gaps.
template <typename C, int kPixels, bool kIsDense>
SINTER_ALWAYS_INLINE void GatherRun(const DepthwiseGather<C>& tile, const C* from, const C* weights, C* to) {
  using V = typename DepthwiseVector<C>::Type;
  constexpr int kCount = DepthwiseVector<C>::kCount, kVectors = DepthwiseVector<C>::kOfRun;
  const int64_t pixel = kIsDense ? kDepthwiseRun<C> : tile.from_pixel;
  V sum[kPixels][kVectors];
  SINTER_UNROLL
  for (int p = 0; p < kPixels; ++p) {
    SINTER_UNROLL
    for (int v = 0; v < kVectors; ++v)
      sum[p][v] = LoadElements((tile.adds ? to + p * tile.to_pixel : weights) + v * kCount);
  }
  SINTER_UNROLL
  for (int p = 0; p < kPixels; ++p) __builtin_prefetch(to + p * tile.to_pixel + tile.to_row, 1);
  // At least one tap: without this, compilers keep a copy of the sums for the other case.
  const DepthwiseTap *tap = tile.taps, *const end = tap + tile.tap_count;
  do {
    const C* const at = from + tap->at;
    V weight[kVectors];
    SINTER_UNROLL
    for (int v = 0; v < kVectors; ++v) weight[v] = LoadElements(weights + tap->weights + v * kCount);
    SINTER_UNROLL
    for (int p = 0; p < kPixels; ++p) {
      SINTER_UNROLL
      for (int v = 0; v < kVectors; ++v) sum[p][v] += LoadElements(at + p * pixel + v * kCount) * weight[v];
    }
  } while (++tap < end);
  SINTER_UNROLL
  for (int p = 0; p < kPixels; ++p) {
    SINTER_UNROLL
    for (int v = 0; v < kVectors; ++v)
      std::memcpy(to + p * tile.to_pixel + v * kCount, &sum[p][v], sizeof(V));
  }
}

template <typename C, int kPixels>
void GatherPixels(const DepthwiseGather<C>& tile, int pixels, const C* from, const C* weights, C* to) {
  if constexpr (kPixels > 0) {
    if (pixels < kPixels) return GatherPixels<C, kPixels - 1>(tile, pixels, from, weights, to);
    if (tile.from_pixel == kDepthwiseRun<C>) return GatherRun<C, kPixels, true>(tile, from, weights, to);
    GatherRun<C, kPixels, false>(tile, from, weights, to);
  }
}

// Computes a tile without taps: results between the pixels that a strided convolution reads.
template <typename C>
void StartTile(const DepthwiseGather<C>& tile) {
  for (int64_t i = 0; !tile.adds && i < tile.rows * tile.pixels * tile.runs; ++i) {
    const int64_t v = i % tile.runs, p = i / tile.runs % tile.pixels, r = i / tile.runs / tile.pixels;
    std::memcpy(tile.to + r * tile.to_row + p * tile.to_pixel + v * tile.to_run,
                tile.weights + v * tile.weights_run, kDepthwiseBytes);
  }
}

template <typename C>
void GatherTile(const DepthwiseGather<C>& tile) {
  if (tile.tap_count == 0) return StartTile(tile);
  const RowTiles parts(tile.pixels, kPixelsAtOnce);
  for (int64_t r = 0; r < tile.rows; ++r) {
    for (int64_t v = 0; v < tile.runs; ++v) {
      const C* const from = tile.from + r * tile.from_row + v * tile.from_run;
      const C* const weights = tile.weights + v * tile.weights_run;
      C* const to = tile.to + r * tile.to_row + v * tile.to_run;
      for (int64_t i = 0, p = 0; i < parts.count; ++i) {
        const int width = parts.width(i);
        GatherPixels<C, kPixelsAtOnce>(tile, width, from + p * tile.from_pixel, weights,
                                       to + p * tile.to_pixel);
        p += width;
      }
    }
  }
}

// Adds one vector, or several, of each of `kTaps` taps: a chain for each.
template <typename C, int kTaps, int kVectors>
SINTER_ALWAYS_INLINE void SumVectors(const DepthwiseSums<C>& tile, const DepthwiseTap* taps, const C* from,
                                     const C* gradient, C* sums) {
  using V = typename DepthwiseVector<C>::Type;
  constexpr int kCount = DepthwiseVector<C>::kCount;
  V sum[kTaps][kVectors] = {};
  const C* at[kTaps];
  SINTER_UNROLL
  for (int i = 0; i < kTaps; ++i) at[i] = from + taps[i].at;
  for (int64_t r = 0; r < tile.rows; ++r) {
    const C* g = gradient + r * tile.g_row;
    int64_t place = r * tile.from_row;
    for (int64_t p = 0; p < tile.pixels; ++p, g += tile.from_pixel, place += tile.from_pixel) {
      V value[kVectors];
      SINTER_UNROLL
      for (int v = 0; v < kVectors; ++v) value[v] = LoadElements(g + v * kCount);
      SINTER_UNROLL
      for (int i = 0; i < kTaps; ++i) {
        SINTER_UNROLL
        for (int v = 0; v < kVectors; ++v) sum[i][v] += LoadElements(at[i] + place + v * kCount) * value[v];
      }
    }
  }
  SINTER_UNROLL
  for (int i = 0; i < kTaps; ++i) {
    SINTER_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      C* const to = sums + i * kDepthwiseRun<C> + v * kCount;
      const V total = LoadElements(to) + sum[i][v];
      std::memcpy(to, &total, sizeof(V));
    }
  }
}

template <typename C, int kTaps>
void SumTaps(const DepthwiseSums<C>& tile, int taps, int64_t first, const C* from, const C* g, C* sums) {
  if constexpr (kTaps > 0) {
    if (taps < kTaps) return SumTaps<C, kTaps - 1>(tile, taps, first, from, g, sums);
    constexpr int kCount = DepthwiseVector<C>::kCount, kOfRun = DepthwiseVector<C>::kOfRun;
    // Few taps take all vectors of a run at once, so that there are enough chains.
    constexpr int kVectors = kTaps > 5 ? 1 : kOfRun;
    for (int v = 0; v < kOfRun; v += kVectors) {
      SumVectors<C, kTaps, kVectors>(tile, tile.taps + first, from + v * kCount, g + v * kCount,
                                     sums + first * kDepthwiseRun<C> + v * kCount);
    }
  }
}

template <typename C>
void SumTile(const DepthwiseSums<C>& tile) {
  const RowTiles groups(tile.tap_count, kTapsAtOnce);
  for (int64_t v = 0; v < tile.runs; ++v) {
    for (int64_t i = 0; i < groups.count; ++i) {
      SumTaps<C, kTapsAtOnce>(tile, groups.width(i), groups.start(i), tile.from + v * tile.from_run,
                              tile.g + v * tile.g_run, tile.sums + v * tile.sums_run);
    }
  }
}

}  // namespace

template <>
const DepthwiseKernels& DepthwiseKernelsOf<kIsa>() {
  static constexpr DepthwiseKernels kKernels = {.gather_f32 = GatherTile<float>,
                                                .gather_f64 = GatherTile<double>,
                                                .sums_f32 = SumTile<float>,
                                                .sums_f64 = SumTile<double>};
  return kKernels;
}

}  // namespace sinter::kernels
