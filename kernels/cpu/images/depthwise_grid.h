// How a depthwise convolution is split: passes along each dimension, tiles of pixels, and blocks of channels.
//
//   const auto grid = DepthwiseGrid::Of<float>(conv, /*is_gradient=*/false, /*least_units=*/8);
//   const AxisPass pass = grid.x.Pass(0);
//   for (int64_t i = 0; i < pass.taps; ++i) Use(pass.Tap(i));
//
// Along a dimension, strides and dilation make results read only some residues of source positions. A pass
// has the results first + step * u, for which the sources that a tap reads are source_step apart. So are, in
// each of a few phases, the sources that several taps read. So the sources of a pass are stored by phases,
// and the result u reads column u + tap.column of the phase tap.phase.
#ifndef SINTER_KERNELS_CPU_IMAGES_DEPTHWISE_GRID_H_
#define SINTER_KERNELS_CPU_IMAGES_DEPTHWISE_GRID_H_

#include <cstdint>
#include <numeric>
#include <utility>

#include "sinter/kernels/cpu/images/conv.h"
#include "sinter/kernels/cpu/images/depthwise_tile.h"
#include "sinter/kernels/cpu/matmul/matmul_panels.h"

namespace sinter::kernels {

struct AxisTap {
  int64_t number, phase, column;  // `number`: its place in the window.
};

struct AxisPass {
  int64_t first = 0, count = 0;   // First result, and number of results.
  int64_t origin = 0;             // Source position of column 0 in phase 0 for u = 0; may be outside.
  int64_t phases = 1, apart = 1;  // The phases of the sources, and the distance from one to the next.
  int64_t taps = 0;
  int64_t last_tap = -1, every = 1;  // A gradient's taps are last_tap, last_tap - every, ...
  bool is_gradient = false;

  AxisTap Tap(int64_t i) const {
    if (is_gradient) return {.number = last_tap - i * every, .phase = 0, .column = i};
    return {.number = i, .phase = i % phases, .column = i / phases};
  }
  // Columns of a phase that `results` results read.
  int64_t Columns(int64_t phase, int64_t results) const {
    return results + CeilDiv(taps - phase, phases) - 1;
  }
};

// One dimension of the images. The results are the convolution's, or, for a gradient of images, the images.
struct Axis {
  int64_t results = 0, sources = 0, taps = 0, stride = 1, dilation = 1, pad = 0;
  bool is_gradient = false;

  // Distance between the results of a pass, and between the sources that one tap reads for them.
  int64_t step() const { return dilation / common() * (is_gradient ? stride : 1); }
  int64_t source_step() const { return dilation / common() * (is_gradient ? 1 : stride); }
  int64_t passes() const { return Least(step(), results); }
  AxisPass Pass(int64_t number) const {
    AxisPass pass = {.first = number, .count = CeilDiv(results - number, step()), .is_gradient = is_gradient};
    const int64_t every = stride / common();
    if (!is_gradient) {
      pass.origin = number * stride - pad;
      pass.phases = Least(taps, every), pass.apart = dilation, pass.taps = taps;
      return pass;
    }
    // Only every `every`-th tap meets results and not the gaps between them.
    pass.every = every;
    int64_t least = 0;
    while (least < Least(every, taps) && (number + pad - least * dilation) % stride != 0) ++least;
    if (least >= Least(every, taps)) return pass;
    pass.taps = (taps - 1 - least) / every + 1;
    pass.last_tap = least + (pass.taps - 1) * every;
    pass.origin = (number + pad - pass.last_tap * dilation) / stride;
    return pass;
  }
  // Bounds over all passes.
  int64_t most_results() const { return CeilDiv(results, step()); }
  int64_t most_phases() const { return is_gradient ? 1 : Least(taps, stride / common()); }
  int64_t most_columns(int64_t results_of_tile) const {
    return results_of_tile + CeilDiv(taps, stride / common()) - 1;
  }

 private:
  int64_t common() const { return std::gcd(stride, dilation); }
};

struct DepthwiseGrid {
  Axis y, x;
  int64_t channels = 0;    // Channels of the results.
  int64_t multiplier = 1;  // Output channels of a group.
  // Channels in blocks, in units of `unit` channels: those of a run of elements (depthwise_tile.h). A run of
  // few channels is folded: it holds `fold` pixels of a row.
  EvenParts blocks = {0, 1};
  int64_t run = 1, unit = 1, fold = 1;
  // The results of one pass in tiles, along a row in steps of `fold` pixels.
  EvenParts rows = {0, 1}, steps = {0, 1};

  int64_t first_channel(int64_t block) const { return blocks.start(block) * unit; }
  int64_t channels_of(int64_t block) const {
    return Least(channels - first_channel(block), blocks.size(block) * unit);
  }
  int64_t runs_of(int64_t block) const { return blocks.size(block); }
  int64_t most_runs() const { return blocks.size(0); }
  int64_t tile_rows() const { return rows.size(0); }
  int64_t tile_steps() const { return steps.size(0); }
  // Elements from one pixel to the next of a row of staged sources, and from one step to the next.
  int64_t pixel() const { return fold == 1 ? run : unit; }
  int64_t step() const { return fold * pixel(); }
  // Staged sources are [run, phase of y, row, phase of x, column, element].
  int64_t staged_rows() const { return y.most_columns(tile_rows()); }
  int64_t staged_columns() const { return x.most_columns(tile_steps() * fold); }
  int64_t staged_row() const { return x.most_phases() * staged_columns() * pixel(); }
  // Size of a run, with room for what the last step reads behind its pixels.
  int64_t staged_run() const {
    return y.most_phases() * staged_rows() * staged_row() + (fold == 1 ? 0 : run);
  }
  // Tiles and passes of an image.
  int64_t tiles() const { return rows.count * steps.count * y.passes() * x.passes(); }

  // `least_units`: the number of units of work that the blocks should give, at least.
  template <typename C>
  static DepthwiseGrid Of(const Conv& c, bool is_gradient, int64_t least_units);
};

template <typename C>
DepthwiseGrid DepthwiseGrid::Of(const Conv& c, bool is_gradient, int64_t least_units) {
  // The side of a tile that reads as many sources, and the bytes of the sources of a block: half of a typical
  // L2 cache, to leave room for results.
  constexpr int64_t kSide = 16, kBlockBytes = 128 << 10;
  constexpr int64_t kRun = kDepthwiseRun<C>;
  DepthwiseGrid grid;
  grid.run = kRun;
  grid.y = {c.out_h, c.in_h, c.kernel_h, c.stride_h, c.dilation_h, c.pad_top, is_gradient};
  grid.x = {c.out_w, c.in_w, c.kernel_w, c.stride_w, c.dilation_w, c.pad_left, is_gradient};
  if (is_gradient) {
    std::swap(grid.y.results, grid.y.sources);
    std::swap(grid.x.results, grid.x.sources);
  }
  grid.channels = is_gradient ? c.in_channels : c.out_channels;
  grid.multiplier = c.out_channels / c.groups;
  // A run holds channels. If there are few it also holds pixels; only pixels if channels are in planes.
  const bool are_few = 2 * grid.channels <= kRun;
  const int64_t together = are_few && !c.channels_last ? 1 : grid.channels;
  grid.fold = are_few ? kRun / together : 1;
  grid.unit = grid.fold == 1 ? kRun : together;
  // Tiles are square where the images are large enough.
  const int64_t side_y = Most(2, kSide / grid.y.most_phases()),
                side_x = Most(2, kSide / grid.x.most_phases());
  const int64_t height = grid.y.most_results(), steps = CeilDiv(grid.x.most_results(), grid.fold);
  grid.steps = EvenParts(steps, side_y * side_x / Least(height, side_y));
  grid.rows = EvenParts(height, side_y * side_x / Least(side_y * side_x, grid.tile_steps()));
  // Wide blocks read neighbouring memory.
  const int64_t units = CeilDiv(grid.channels, grid.unit);
  const int64_t fitting = kBlockBytes / (grid.staged_run() * static_cast<int64_t>(sizeof(C)));
  const int64_t shared = CeilDiv(units, CeilDiv(least_units, c.batch * grid.tiles()));
  grid.blocks = EvenParts(units, grid.fold == 1 ? Most(1, Least(fitting, shared)) : 1);
  return grid;
}

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_IMAGES_DEPTHWISE_GRID_H_
