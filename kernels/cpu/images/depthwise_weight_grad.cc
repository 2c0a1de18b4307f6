// Gradient of a depthwise convolution's weights. A unit of work adds the tiles of one part of the images for
// one block of channels; then parts are added.
#include "sinter/kernels/cpu/images/depthwise.h"
#include "sinter/kernels/cpu/images/depthwise_stage.h"
#include "sinter/kernels/cpu/images/depthwise_workspace.h"

namespace sinter::kernels {
namespace {

template <typename E>
class DepthwiseWeightGrad {
 public:
  using S = typename E::Storage;
  using C = typename E::Compute;

  DepthwiseWeightGrad(const Conv& c, const void* x, const void* g, void* dw, void* workspace,
                      const Parallel& parallel, const DepthwiseKernels& kernels)
      : room_(DepthwiseGrid::Of<C>(c, /*is_gradient=*/false, kDepthwiseUnits * parallel.threads), c.batch),
        grid_(room_.grid),
        image_strides_(PlaneStrides::Of(c, false)),
        result_strides_(PlaneStrides::Of(c, true)),
        x_(static_cast<const S*>(x)),
        g_(static_cast<const S*>(g)),
        dw_(static_cast<S*>(dw)),
        workspace_(static_cast<char*>(workspace)),
        parallel_(parallel),
        kernels_(kernels) {}

  void Run() const {
    C* const parts = reinterpret_cast<C*>(workspace_);
    const int64_t blocks = grid_.blocks.count;
    parallel_.For(room_.parts.count * blocks, 1, [&](int64_t begin, int64_t end, int thread) {
      const auto own = room_.template Thread<C>(workspace_, thread);
      for (int64_t unit = begin; unit < end; ++unit)
        RunPart(unit / blocks, unit % blocks, own, parts + unit / blocks * room_.part());
    });
    parallel_.For(room_.part(), 1 + (1 << 16) / room_.parts.count, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        C sum = parts[i];
        for (int64_t p = 1; p < room_.parts.count; ++p) sum += parts[p * room_.part() + i];
        dw_[i] = E::Store(sum);
      }
    });
  }

 private:
  void RunPart(int64_t part, int64_t block, const DepthwiseSumsThread<C>& own, C* weights) const {
    const int64_t window = room_.window(), channels = grid_.channels_of(block);
    std::fill(own.sums, own.sums + room_.sums(), C{0});
    const int64_t end = room_.parts.start(part) + room_.parts.size(part);
    bool is_first = true;
    for (DepthwiseUnits tiles(grid_, room_.parts.start(part), 1); tiles.at() < end; tiles.Next()) {
      if (tiles.StartsPass() || is_first) tiles.FillTable(own.taps);
      is_first = false;
      AddTile(tiles, block, own);
    }
    // Adds the pixels of folded runs.
    weights += grid_.first_channel(block) * window;
    constexpr int64_t kRun = kDepthwiseRun<C>;
    for (int64_t c = 0; c < channels; ++c) {
      const C* const sums = own.sums + c / kRun * room_.sums_run() + c % kRun;
      for (int64_t i = 0; i < window; ++i) {
        C sum = sums[i * kRun];
        for (int64_t p = 1; p < grid_.fold; ++p) sum += sums[i * kRun + p * channels];
        weights[c * window + i] = sum;
      }
    }
  }

  void AddTile(const DepthwiseUnits& unit, int64_t block, const DepthwiseSumsThread<C>& own) const {
    const TileAxis y = unit.y(), x = unit.x();
    if (y.count == 0 || x.count == 0) return;
    const int64_t first = grid_.first_channel(block), channels = grid_.channels_of(block);
    StageSources<E>(grid_, x_ + unit.image() * image_strides_.image, image_strides_, y, x,
                    {first, channels, 1, 0, grid_.multiplier}, own.staged);
    DepthwiseSums<C> tile = {.taps = own.taps,
                             .tap_count = room_.window(),
                             .from = own.staged,
                             .from_row = grid_.staged_row(),
                             .from_pixel = grid_.step(),
                             .from_run = grid_.staged_run(),
                             .g = own.gradient,
                             .g_row = room_.gradient_row(),
                             .g_run = room_.gradient_run(),
                             .sums = own.sums,
                             .sums_run = room_.sums_run(),
                             .rows = y.count,
                             .pixels = x.count / grid_.fold,
                             .runs = grid_.runs_of(block)};
    const S* const g = g_ + unit.image() * result_strides_.image + y.result(grid_.y) * result_strides_.row +
                       x.result(grid_.x) * result_strides_.column;
    for (int64_t r = 0; r < y.count; ++r) {
      const S* const row = g + r * grid_.y.step() * result_strides_.row;
      const S* const next = r + 1 < y.count ? row + grid_.y.step() * result_strides_.row : row;
      StagePixels<E>(grid_, row, next, result_strides_.channel, grid_.x.step() * result_strides_.column,
                     x.count, {first, channels}, own.gradient + r * tile.g_row, tile.g_run);
    }
    kernels_.Sums(tile);
    const int64_t rest = x.count % grid_.fold * channels;
    if (rest == 0) return;
    // The elements behind the rest multiply no result.
    tile.from += tile.pixels * tile.from_pixel, tile.g += tile.pixels * tile.from_pixel;
    tile.sums = own.rest, tile.pixels = 1;
    std::fill(own.rest, own.rest + room_.sums(), C{0});
    kernels_.Sums(tile);
    for (int64_t i = 0; i < room_.sums(); i += grid_.run) {
      for (int64_t e = i; e < i + rest; ++e) own.sums[e] += own.rest[e];
    }
  }

  DepthwiseSumsRoom room_;
  const DepthwiseGrid& grid_;
  PlaneStrides image_strides_, result_strides_;
  const S* x_;
  const S* g_;
  S* dw_;
  char* workspace_;
  Parallel parallel_;
  const DepthwiseKernels& kernels_;
};

// Bytes of a thread above which a direct convolution is better.
constexpr size_t kMostThreadBytes = size_t{8} << 20;

}  // namespace

bool HasDepthwise(const Conv& c) {
  if (c.groups < 2 || c.in_channels != c.groups || c.out_channels == 0 || c.batch == 0) return false;
  if (c.in_h * c.in_w == 0 || c.out_h * c.out_w == 0 || c.kernel_h * c.kernel_w == 0) return false;
  bool fits = false;
  WithFloatElement(c.dtype, [&](auto element) {
    using C = typename decltype(element)::Compute;
    const DepthwiseGrid grid = DepthwiseGrid::Of<C>(c, false, 1);
    fits = DepthwiseSumsRoom(grid, c.batch).ThreadBytes<C>() <= kMostThreadBytes &&
           DepthwiseRoom(DepthwiseGrid::Of<C>(c, true, 1)).ThreadBytes<C>() <= kMostThreadBytes;
  });
  return fits;
}

size_t DepthwiseWorkspaceBytes(const Conv& c, ConvPass pass, int threads) {
  size_t bytes = 0;
  const auto count = static_cast<size_t>(threads);
  WithFloatElement(c.dtype, [&](auto element) {
    using C = typename decltype(element)::Compute;
    const DepthwiseGrid grid =
        DepthwiseGrid::Of<C>(c, pass == ConvPass::kInputGrad, kDepthwiseUnits * threads);
    if (pass == ConvPass::kWeightGrad) {
      const DepthwiseSumsRoom room(grid, c.batch);
      bytes = room.SharedBytes<C>() + count * room.ThreadBytes<C>();
    } else {
      const DepthwiseRoom room(grid);
      bytes = room.SharedBytes<C>() + count * room.ThreadBytes<C>();
    }
  });
  return bytes;
}

void RunDepthwiseWeightGrad(const Conv& c, const void* x, const void* g, void* dw, void* workspace,
                            const Parallel& parallel, const DepthwiseKernels& kernels) {
  WithFloatElement(c.dtype, [&](auto element) {
    DepthwiseWeightGrad<decltype(element)>(c, x, g, dw, workspace, parallel, kernels).Run();
  });
}

}  // namespace sinter::kernels
