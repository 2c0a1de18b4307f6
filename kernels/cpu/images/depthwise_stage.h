// Moves pixels between images and the memory of a tile of a depthwise convolution.
//
//   const TileAxis y = {grid.y.Pass(0), /*start=*/16, /*count=*/16};
//   StageSources<E>(grid, source_of_image, y, x, channels, staged);
//   taps = TapsOf(grid, y.pass, x.pass, ...);    // Where each tap starts in `staged`.
#ifndef SINTER_KERNELS_CPU_IMAGES_DEPTHWISE_STAGE_H_
#define SINTER_KERNELS_CPU_IMAGES_DEPTHWISE_STAGE_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "sinter/kernels/cpu/images/depthwise_grid.h"
#include "sinter/kernels/cpu/images/image.h"

namespace sinter::kernels {

// Results [start, start + count) of a pass along one dimension.
struct TileAxis {
  AxisPass pass;
  int64_t start = 0, count = 0;

  static TileAxis Of(const Axis& axis, int64_t pass_number, int64_t start, int64_t most) {
    TileAxis tile = {.pass = axis.Pass(pass_number), .start = start};
    tile.count = Most(0, Least(most, tile.pass.count - start));
    return tile;
  }
  // Position among all results.
  int64_t result(const Axis& axis) const { return pass.first + start * axis.step(); }
  // Position of a phase's first source; may be outside.
  int64_t source(const Axis& axis, int64_t phase) const {
    return pass.origin + start * axis.source_step() + phase * pass.apart;
  }
};

// The channels of one tile in an image: channel i is channel (first + i) * multiplied + offset, divided by
// `divided`.
struct ChannelMap {
  int64_t first = 0, count = 0, multiplied = 1, offset = 0, divided = 1;

  int64_t at(int64_t i) const { return ((first + i) * multiplied + offset) / divided; }
  bool IsPlain() const { return multiplied == 1 && divided == 1; }
};

// Images [channels, height, width] in any order.
struct PlaneStrides : ImageStrides {
  int64_t height = 0, width = 0;
  static PlaneStrides Of(const Conv& c, bool of_result) {
    const int64_t h = of_result ? c.out_h : c.in_h, w = of_result ? c.out_w : c.in_w;
    return {StridesOf(c.channels_last, of_result ? c.out_channels : c.in_channels, h, w), h, w};
  }
};

// Prefetches a pixel, which is read soon: tiles are too small for a CPU to foresee what comes next.
inline void AskForPixel(const void* from, int64_t bytes) {
  for (int64_t b = 0; b < bytes; b += kLine) __builtin_prefetch(static_cast<const char*>(from) + b, 0, 3);
}

// Copies a pixel's neighbouring channels to runs that are `run_apart` elements apart, with zeros behind them.
template <typename E>
void StageRuns(const typename E::Storage* from, int64_t channels, typename E::Compute* to,
               int64_t run_apart) {
  using C = typename E::Compute;
  using V = typename Lanes32<C>::Type;
  constexpr int64_t kRun = kDepthwiseRun<C>, kCount = Lanes32<C>::kCount;
  static_assert(kRun == 2 * kCount);
  for (; channels >= kRun; channels -= kRun, from += kRun, to += run_apart) {
    const V low = LoadLanes<E>(from), high = LoadLanes<E>(from + kCount);
    std::memcpy(to, &low, sizeof(V));
    std::memcpy(to + kCount, &high, sizeof(V));
  }
  if (channels == 0) return;
  for (int64_t i = 0; i < channels; ++i) to[i] = E::Load(from[i]);
  std::fill(to + channels, to + kRun, C{0});
}

// Copies the channels [first, first + used) of each pixel, one run, from neighbouring memory in any order.
template <typename E>
void StageMixed(const typename E::Storage* from, const ChannelMap& channels, int64_t first, int64_t used,
                int64_t step, int64_t count, typename E::Compute* to, int64_t pixel) {
  int64_t places[kDepthwiseRun<typename E::Compute>];
  for (int64_t e = 0; e < used; ++e) places[e] = channels.at(first + e);
  for (int64_t i = 0; i < count; ++i, from += step, to += pixel) {
    for (int64_t e = 0; e < used; ++e) to[e] = E::Load(from[places[e]]);
  }
}

// Bytes between what is copied and what is prefetched.
inline constexpr int64_t kAheadBytes = 4096;

// Copies `count` pixels that are `step` elements apart. `next`: the first pixel of the next row.
template <typename E>
void StagePixels(const DepthwiseGrid& grid, const typename E::Storage* from, const typename E::Storage* next,
                 int64_t channel_apart, int64_t step, int64_t count, const ChannelMap& channels,
                 typename E::Compute* to, int64_t run_apart) {
  const int64_t pixel = grid.pixel();
  if (channels.IsPlain() && (channel_apart == 1 || channels.count == 1)) {
    from += channels.first * channel_apart, next += channels.first * channel_apart;
    if (grid.fold == 1) {
      const int64_t bytes = channels.count * static_cast<int64_t>(sizeof(*from));
      const int64_t ahead = kAheadBytes / bytes + 1;
      for (int64_t i = 0; i < count; ++i) {
        AskForPixel(i + ahead < count ? from + (i + ahead) * step : next + (i + ahead - count) * step, bytes);
        StageRuns<E>(from + i * step, channels.count, to + i * pixel, run_apart);
      }
    } else if (step == pixel) {
      ConvertShortRow<E>(from, count * pixel, to);
    } else {
      for (int64_t i = 0; i < count; ++i) ConvertShortRow<E>(from + i * step, pixel, to + i * pixel);
    }
    return;
  }
  // Run by run; channels that are not neighbours, or are far apart.
  constexpr int64_t kRun = kDepthwiseRun<typename E::Compute>;
  for (int64_t c = 0; c < channels.count; c += kRun, to += run_apart) {
    const int64_t used = Least(kRun, channels.count - c);
    if (used == kRun && step == 1 && channels.IsPlain()) {
      PackTransposed<E>(from + channels.at(c) * channel_apart, channel_apart, kRun, count, to, kRun);
      continue;
    }
    if (channel_apart == 1) {
      StageMixed<E>(from, channels, c, used, step, count, to, pixel);
    } else {
      // Plane by plane: the same pixel of many planes may have one place in a cache.
      for (int64_t e = 0; e < used; ++e) {
        const auto* const plane = from + channels.at(c + e) * channel_apart;
        for (int64_t i = 0; i < count; ++i) to[i * pixel + e] = E::Load(plane[i * step]);
      }
    }
    // Elements without a channel are multiplied too.
    for (int64_t i = 0; grid.fold == 1 && used < kRun && i < count; ++i)
      std::fill(to + i * pixel + used, to + i * pixel + kRun, typename E::Compute{0});
  }
}

// Sets `count` pixels of `runs` runs to zero.
template <typename C>
void ClearPixels(const DepthwiseGrid& grid, int64_t count, int64_t runs, C* to, int64_t run_apart) {
  for (int64_t v = 0; count > 0 && v < runs; ++v)
    std::fill(to + v * run_apart, to + v * run_apart + count * grid.pixel(), C{0});
}

// Copies the sources that a tile reads, with zeros outside the image.
template <typename E>
void StageSources(const DepthwiseGrid& grid, const typename E::Storage* image, const PlaneStrides& strides,
                  const TileAxis& y, const TileAxis& x, const ChannelMap& channels,
                  typename E::Compute* staged) {
  using C = typename E::Compute;
  const int64_t step_y = grid.y.source_step(), step_x = grid.x.source_step();
  const int64_t pixel = grid.pixel(), apart = grid.staged_run(),
                runs = grid.fold == 1 ? CeilDiv(channels.count, grid.run) : 1;
  for (int64_t py = 0; py < y.pass.phases; ++py) {
    const int64_t top = y.source(grid.y, py), rows = y.pass.Columns(py, y.count);
    for (int64_t r = 0; r < rows; ++r) {
      C* const row = staged + (py * grid.staged_rows() + r) * grid.staged_row();
      const int64_t at = top + r * step_y;
      const bool is_inside = at >= 0 && at < strides.height;
      for (int64_t px = 0; px < x.pass.phases; ++px) {
        C* const to = row + px * grid.staged_columns() * pixel;
        const int64_t left = x.source(grid.x, px), columns = x.pass.Columns(px, x.count);
        const Range inside = TapRange(columns, strides.width, step_x, left);
        if (!is_inside || inside.begin >= inside.end) {
          ClearPixels(grid, columns, runs, to, apart);
          continue;
        }
        ClearPixels(grid, inside.begin, runs, to, apart);
        ClearPixels(grid, columns - inside.end, runs, to + inside.end * pixel, apart);
        const auto* const from = image + at * strides.row + (left + inside.begin * step_x) * strides.column;
        const int64_t count = inside.end - inside.begin, apart_x = step_x * strides.column;
        const auto* const next = r + 1 < rows ? from + step_y * strides.row : from;
        StagePixels<E>(grid, from, next, strides.channel, apart_x, count, channels, to + inside.begin * pixel,
                       apart);
      }
    }
  }
}

// Fills the table of a pass: its taps in the staged sources, and their weights behind `starts` other runs.
inline void FillTaps(const DepthwiseGrid& grid, const AxisPass& y, const AxisPass& x, int64_t starts,
                     DepthwiseTap* taps) {
  for (int64_t i = 0; i < y.taps; ++i) {
    const AxisTap v = y.Tap(i);
    for (int64_t j = 0; j < x.taps; ++j) {
      const AxisTap h = x.Tap(j);
      *taps++ = {.at = (v.phase * grid.staged_rows() + v.column) * grid.staged_row() +
                       (h.phase * grid.staged_columns() + h.column) * grid.pixel(),
                 .weights = (starts + v.number * grid.x.taps + h.number) * grid.run};
    }
  }
}

// Copies one value of each of `count` channels, `apart` elements apart, to all their elements.
template <typename E>
void FillRuns(const DepthwiseGrid& grid, const typename E::Storage* from, int64_t apart, int64_t count,
              typename E::Compute* to, int64_t run_apart) {
  constexpr int64_t kRun = kDepthwiseRun<typename E::Compute>;
  for (int64_t c = 0; c < count; ++c) {
    const typename E::Compute value = E::Load(from[c * apart]);
    auto* const place = to + c / kRun * run_apart + c % kRun;
    for (int64_t p = 0; p < grid.fold; ++p) place[p * count] = value;
  }
}

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_IMAGES_DEPTHWISE_STAGE_H_
