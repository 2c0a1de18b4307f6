// Depthwise forward convolutions and gradients of images: each result gathers the sources of its taps.
#include "sinter/kernels/cpu/images/depthwise.h"
#include "sinter/kernels/cpu/images/depthwise_stage.h"
#include "sinter/kernels/cpu/images/depthwise_workspace.h"
#include "sinter/kernels/cpu/math/activation.h"

namespace sinter::kernels {
namespace {

template <typename E>
class DepthwiseGatherer {
 public:
  using S = typename E::Storage;
  using C = typename E::Compute;

  DepthwiseGatherer(const Conv& c, bool is_gradient, const void* from, const void* weights, const void* bias,
                    void* to, void* workspace, const Parallel& parallel, const DepthwiseKernels& kernels)
      : room_(DepthwiseGrid::Of<C>(c, is_gradient, kDepthwiseUnits * parallel.threads)),
        grid_(room_.grid),
        is_gradient_(is_gradient),
        activation_(is_gradient ? SN_NO_ACTIVATION : c.activation),
        batch_(c.batch),
        source_strides_(PlaneStrides::Of(c, is_gradient)),
        result_strides_(PlaneStrides::Of(c, !is_gradient)),
        from_(static_cast<const S*>(from)),
        weights_(static_cast<const S*>(weights)),
        bias_(static_cast<const S*>(bias)),
        to_(static_cast<S*>(to)),
        workspace_(static_cast<char*>(workspace)),
        parallel_(parallel),
        kernels_(kernels) {}

  void Run() const {
    const int64_t blocks = grid_.blocks.count;
    const auto packed_of = [&](int64_t block) {
      return reinterpret_cast<C*>(workspace_) + block * room_.weights_of_block();
    };
    if (room_.HasSharedWeights()) {
      parallel_.For(blocks, 1 + (1 << 14) / room_.weights_of_block(), [&](int64_t begin, int64_t end, int) {
        for (int64_t block = begin; block < end; ++block) PackWeights(block, packed_of(block));
      });
    }
    const int64_t work =
        grid_.tile_rows() * grid_.tile_steps() * grid_.most_runs() * grid_.run * (room_.window() + 4);
    parallel_.For(batch_ * grid_.tiles() * blocks, 1 + (1 << 16) / work,
                  [&](int64_t begin, int64_t end, int thread) {
                    const auto own = room_.template Thread<C>(workspace_, thread);
                    int64_t packed = -1;
                    DepthwiseUnits units(grid_, begin);
                    for (; units.at() < end; units.Next()) {
                      if (units.StartsPass() || units.at() == begin) units.FillTable(own.taps);
                      const int64_t block = units.block();
                      const C* weights = packed_of(block);
                      if (!room_.HasSharedWeights()) {
                        if (packed != block) PackWeights(block, own.weights);
                        weights = own.weights, packed = block;
                      }
                      RunTile(units, weights, own);
                    }
                  });
  }

 private:
  // Packs a block's starts of sums and its weights for all multiples.
  void PackWeights(int64_t block, C* to) const {
    const int64_t first = grid_.first_channel(block), count = grid_.channels_of(block);
    const int64_t window = room_.window(), multiples = room_.multiples;
    std::fill(to, to + room_.weights_of_block(), C{0});
    if (bias_ != nullptr) FillRuns<E>(grid_, bias_ + first, 1, count, to, room_.weights_of_run());
    for (int64_t i = 0; i < multiples * window; ++i) {
      FillRuns<E>(grid_, weights_ + first * multiples * window + i, multiples * window, count,
                  to + (1 + i) * grid_.run, room_.weights_of_run());
    }
  }

  // Computes the results of one tile: in place if a pixel holds whole vectors of the compute type.
  void RunTile(const DepthwiseUnits& unit, const C* weights, const DepthwiseThread<C>& own) const {
    const TileAxis y = unit.y(), x = unit.x();
    if (y.count == 0 || x.count == 0) return;
    const int64_t first = grid_.first_channel(unit.block()), channels = grid_.channels_of(unit.block());
    S* const to = to_ + unit.image() * result_strides_.image + first * result_strides_.channel +
                  y.result(grid_.y) * result_strides_.row + x.result(grid_.x) * result_strides_.column;
    DepthwiseGather<C> tile = {.taps = own.taps,
                               .tap_count = y.pass.taps * x.pass.taps,
                               .from = own.staged,
                               .from_row = grid_.staged_row(),
                               .from_pixel = grid_.step(),
                               .from_run = grid_.staged_run(),
                               .weights = weights,
                               .weights_run = room_.weights_of_run(),
                               .to = own.results,
                               .to_run = grid_.run,
                               .rows = y.count,
                               .pixels = CeilDiv(x.count, grid_.fold),
                               .runs = grid_.runs_of(unit.block())};
    tile.to_pixel = tile.runs * grid_.run, tile.to_row = tile.pixels * tile.to_pixel;
    bool in_place = false;
    if constexpr (sizeof(S) == sizeof(C)) {
      in_place = result_strides_.channel == 1 && grid_.fold == 1 && channels == tile.to_pixel;
      if (in_place) {
        tile.to = to, tile.to_pixel = grid_.x.step() * result_strides_.column;
        tile.to_row = grid_.y.step() * result_strides_.row;
      }
    }
    for (int64_t j = 0; j < room_.multiples; ++j) {
      const ChannelMap map = is_gradient_ ? ChannelMap{first, channels, room_.multiples, j, 1}
                                          : ChannelMap{first, channels, 1, 0, grid_.multiplier};
      if (tile.tap_count > 0) {
        StageSources<E>(grid_, from_ + unit.image() * source_strides_.image, source_strides_, y, x, map,
                        own.staged);
      }
      tile.adds = j > 0;
      kernels_.Gather(tile);
      tile.weights += room_.window() * grid_.run;
    }
    Activate(tile, channels, in_place);
    if (!in_place) StoreTile(tile, x.count, channels, to);
  }

  void Activate(const DepthwiseGather<C>& tile, int64_t channels, bool in_place) const {
    if (activation_ == SN_NO_ACTIVATION) return;
    if (!in_place) return ActivateRow(activation_, tile.to, tile.rows * tile.to_row);
    for (int64_t r = 0; r < tile.rows; ++r) {
      for (int64_t p = 0; p < tile.pixels; ++p)
        ActivateRow(activation_, tile.to + r * tile.to_row + p * tile.to_pixel, channels);
    }
  }

  // Stores the first `columns` pixels of each row.
  void StoreTile(const DepthwiseGather<C>& tile, int64_t columns, int64_t channels, S* to) const {
    const int64_t step_y = grid_.y.step() * result_strides_.row,
                  step_x = grid_.x.step() * result_strides_.column;
    for (int64_t r = 0; r < tile.rows; ++r) {
      const C* const from = tile.to + r * tile.to_row;
      S* const row = to + r * step_y;
      if (result_strides_.channel == 1 || channels == 1) {
        for (int64_t i = 0; i < tile.pixels; ++i) {
          StorePixels(from + i * tile.to_pixel, Least(grid_.fold, columns - i * grid_.fold), channels,
                      row + i * grid_.fold * step_x, step_x);
        }
      } else {
        StorePlanes(from, tile.to_pixel, columns, channels, row, step_x);
      }
    }
  }

  // Stores pixels whose channels are neighbours.
  static void StorePixels(const C* from, int64_t pixels, int64_t channels, S* to, int64_t step) {
    if (step == channels) return StoreRow<E>(from, pixels * channels, to);
    for (int64_t p = 0; p < pixels; ++p) StoreRow<E>(from + p * channels, channels, to + p * step);
  }

  // Stores pixels whose channels are in planes; a run has one pixel.
  void StorePlanes(const C* from, int64_t pixel, int64_t pixels, int64_t channels, S* to,
                   int64_t step) const {
    if constexpr (sizeof(S) == sizeof(C)) {
      if (step == 1) return PackTransposed<E>(from, pixel, pixels, channels, to, result_strides_.channel);
    }
    for (int64_t c = 0; c < channels; ++c, to += result_strides_.channel) {
      for (int64_t p = 0; p < pixels; ++p) to[p * step] = E::Store(from[p * pixel + c]);
    }
  }

  DepthwiseRoom room_;
  const DepthwiseGrid& grid_;
  bool is_gradient_;
  int activation_;
  int64_t batch_;
  PlaneStrides source_strides_, result_strides_;
  const S* from_;
  const S* weights_;
  const S* bias_;
  S* to_;
  char* workspace_;
  Parallel parallel_;
  const DepthwiseKernels& kernels_;
};

}  // namespace

void RunDepthwiseForward(const Conv& c, const void* x, const void* weights, const void* bias, void* y,
                         void* workspace, const Parallel& parallel, const DepthwiseKernels& kernels) {
  WithFloatElement(c.dtype, [&](auto element) {
    DepthwiseGatherer<decltype(element)>(c, false, x, weights, bias, y, workspace, parallel, kernels).Run();
  });
}

void RunDepthwiseInputGrad(const Conv& c, const void* g, const void* weights, void* dx, void* workspace,
                           const Parallel& parallel, const DepthwiseKernels& kernels) {
  WithFloatElement(c.dtype, [&](auto element) {
    DepthwiseGatherer<decltype(element)>(c, true, g, weights, nullptr, dx, workspace, parallel, kernels)
        .Run();
  });
}

}  // namespace sinter::kernels
