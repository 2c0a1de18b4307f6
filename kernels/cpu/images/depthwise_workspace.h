// The units of work of a depthwise convolution, in order, and the memory that they need.
//
//   DepthwiseUnits units(grid, begin);
//   for (; units.at() < end; units.Next()) Use(units.image(), units.y(), units.x(), units.block());
//
// A unit is one block of channels of one tile of one pass in one image. The units of an image follow each
// other.
#ifndef SINTER_KERNELS_CPU_IMAGES_DEPTHWISE_WORKSPACE_H_
#define SINTER_KERNELS_CPU_IMAGES_DEPTHWISE_WORKSPACE_H_

#include <cstddef>
#include <cstdint>

#include "sinter/kernels/cpu/images/depthwise_grid.h"
#include "sinter/kernels/cpu/images/depthwise_stage.h"

namespace sinter::kernels {

// Counts through [image, tile row, tile column, pass of y, pass of x, block]. With `block_count` 1 the caller
// chooses the block.
class DepthwiseUnits {
 public:
  DepthwiseUnits(const DepthwiseGrid& grid, int64_t at) : DepthwiseUnits(grid, at, grid.blocks.count) {}
  DepthwiseUnits(const DepthwiseGrid& grid, int64_t at, int64_t block_count)
      : grid_(grid), block_count_(block_count), at_(at) {
    Find();
  }

  int64_t at() const { return at_; }
  void Next() {
    ++at_;
    if (++block_ == block_count_) Find();
  }
  int64_t image() const { return image_; }
  int64_t block() const { return block_; }
  const TileAxis& y() const { return y_; }
  const TileAxis& x() const { return x_; }
  // True if the table of taps may differ from that of the unit before.
  bool StartsPass() const { return block_ == 0 && grid_.y.passes() * grid_.x.passes() > 1; }
  void FillTable(DepthwiseTap* taps) const { FillTaps(grid_, y_.pass, x_.pass, /*starts=*/1, taps); }

 private:
  void Find() {
    int64_t rest = at_;
    const auto take = [&](int64_t count) {
      const int64_t i = rest % count;
      rest /= count;
      return i;
    };
    block_ = take(block_count_);
    const int64_t pass_x = take(grid_.x.passes()), pass_y = take(grid_.y.passes());
    const int64_t step = take(grid_.steps.count), row = take(grid_.rows.count);
    image_ = rest;
    y_ = TileAxis::Of(grid_.y, pass_y, grid_.rows.start(row), grid_.rows.size(row));
    x_ = TileAxis::Of(grid_.x, pass_x, grid_.steps.start(step) * grid_.fold,
                      grid_.steps.size(step) * grid_.fold);
  }

  const DepthwiseGrid& grid_;
  int64_t block_count_, at_, block_ = 0, image_ = 0;
  TileAxis y_, x_;
};

inline size_t DepthwiseBytes(int64_t bytes) { return static_cast<size_t>(CeilDiv(bytes, 64) * 64); }

// Units of work of each thread, so that all are busy until the end.
inline constexpr int64_t kDepthwiseUnits = 4;

// The memory of one thread of a forward convolution or a gradient of images.
template <typename C>
struct DepthwiseThread {
  DepthwiseTap* taps;  // [taps of the window].
  C* staged;           // The sources of a tile.
  C* results;          // Its results: [row, step, run, element].
  C* weights;          // Those of one block, if threads share none.
};

// The workspace of a forward convolution or a gradient of images: weights of all blocks, and of each thread
// its own memory.
struct DepthwiseRoom {
  DepthwiseGrid grid;
  int64_t multiples;  // Output channels that add to one result.

  explicit DepthwiseRoom(const DepthwiseGrid& of)
      : grid(of), multiples(of.y.is_gradient ? of.multiplier : 1) {}

  int64_t window() const { return grid.y.taps * grid.x.taps; }
  // Folded blocks hold few channels, so their weights are repeated; too often for all channels of an image.
  bool HasSharedWeights() const { return grid.fold == 1; }
  // Packed weights are [block, run, start and taps, element].
  int64_t weights_of_run() const { return (1 + multiples * window()) * grid.run; }
  int64_t weights_of_block() const { return grid.most_runs() * weights_of_run(); }

  template <typename C>
  size_t SharedBytes() const {
    return HasSharedWeights() ? DepthwiseBytes(grid.blocks.count * weights_of_block() * Size<C>()) : 0;
  }
  template <typename C>
  size_t ThreadBytes() const {
    return TapBytes() + StagedBytes<C>() + ResultBytes<C>() +
           (HasSharedWeights() ? 0 : DepthwiseBytes(weights_of_block() * Size<C>()));
  }
  template <typename C>
  DepthwiseThread<C> Thread(char* workspace, int thread) const {
    char* at = workspace + SharedBytes<C>() + ThreadBytes<C>() * static_cast<size_t>(thread);
    const auto taps = reinterpret_cast<DepthwiseTap*>(at);
    C* const staged = reinterpret_cast<C*>(at += TapBytes());
    C* const results = reinterpret_cast<C*>(at += StagedBytes<C>());
    return {taps, staged, results, reinterpret_cast<C*>(at + ResultBytes<C>())};
  }

 private:
  template <typename C>
  static constexpr int64_t Size() {
    return static_cast<int64_t>(sizeof(C));
  }
  size_t TapBytes() const { return DepthwiseBytes(window() * static_cast<int64_t>(sizeof(DepthwiseTap))); }
  template <typename C>
  size_t StagedBytes() const {
    return DepthwiseBytes(grid.most_runs() * grid.staged_run() * Size<C>());
  }
  template <typename C>
  size_t ResultBytes() const {
    return DepthwiseBytes(grid.tile_rows() * grid.tile_steps() * grid.most_runs() * grid.run * Size<C>());
  }
};

// The memory of one thread of a weight gradient.
template <typename C>
struct DepthwiseSumsThread {
  DepthwiseTap* taps;  // [taps of the window].
  C* staged;           // The images of a tile.
  C* gradient;         // The gradient of its results: [run, row, column, element].
  C* sums;             // [run, tap, element] of a part.
  C* rest;             // The same, of steps that hold fewer pixels than others.
};

// The workspace of a weight gradient: sums of all parts, and of each thread its own memory.
struct DepthwiseSumsRoom {
  DepthwiseGrid grid;
  int64_t batch, tiles;  // `tiles` of an image.
  EvenParts parts;       // Tiles of all images are added in parts, each in its own sums.

  explicit DepthwiseSumsRoom(const DepthwiseGrid& of, int64_t batch)
      : grid(of), batch(batch), tiles(of.tiles()), parts(batch * tiles, 1) {
    // Enough parts for threads if there are few channels. The number depends only on the shape.
    constexpr int64_t kParts = 64, kChannels = 64;
    parts.count = Least(parts.total, CeilDiv(kParts, CeilDiv(grid.channels, kChannels)));
  }

  int64_t window() const { return grid.y.taps * grid.x.taps; }
  int64_t part() const { return grid.channels * window(); }

  template <typename C>
  size_t SharedBytes() const {
    return DepthwiseBytes(parts.count * part() * Size<C>());
  }
  template <typename C>
  size_t ThreadBytes() const {
    return TapBytes() + StagedBytes<C>() + GradientBytes<C>() + 2 * SumBytes<C>();
  }
  template <typename C>
  DepthwiseSumsThread<C> Thread(char* workspace, int thread) const {
    char* at = workspace + SharedBytes<C>() + ThreadBytes<C>() * static_cast<size_t>(thread);
    const auto taps = reinterpret_cast<DepthwiseTap*>(at);
    C* const staged = reinterpret_cast<C*>(at += TapBytes());
    C* const gradient = reinterpret_cast<C*>(at += StagedBytes<C>());
    C* const sums = reinterpret_cast<C*>(at += GradientBytes<C>());
    return {taps, staged, gradient, sums, reinterpret_cast<C*>(at + SumBytes<C>())};
  }
  int64_t gradient_row() const { return grid.tile_steps() * grid.step(); }
  int64_t gradient_run() const { return grid.tile_rows() * gradient_row() + (grid.fold == 1 ? 0 : grid.run); }
  int64_t sums_run() const { return window() * grid.run; }
  int64_t sums() const { return grid.most_runs() * sums_run(); }

 private:
  template <typename C>
  static constexpr int64_t Size() {
    return static_cast<int64_t>(sizeof(C));
  }
  size_t TapBytes() const { return DepthwiseBytes(window() * static_cast<int64_t>(sizeof(DepthwiseTap))); }
  template <typename C>
  size_t StagedBytes() const {
    return DepthwiseBytes(grid.most_runs() * grid.staged_run() * Size<C>());
  }
  template <typename C>
  size_t GradientBytes() const {
    return DepthwiseBytes(grid.most_runs() * gradient_run() * Size<C>());
  }
  template <typename C>
  size_t SumBytes() const {
    return DepthwiseBytes(sums() * Size<C>());
  }
};

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_IMAGES_DEPTHWISE_WORKSPACE_H_
