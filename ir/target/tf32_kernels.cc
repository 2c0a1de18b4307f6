#include "sinter/ir/target/tf32_kernels.h"
#include "sinter/ir/library/matmul_sizes.h"
#include "sinter/ir/target/gpu_models.h"

namespace sinter::ir::tf32 {

namespace {

constexpr int64_t kFewTiles = 2 * kPlannedGpu.multiprocessors;  // All blocks run at once.
constexpr double kMostSplitFlops = 2 << 26;  // Larger matmuls keep a GPU busy even with few tiles.
constexpr int64_t kMostTiles = 16;           // Tiles of a warp: 64 registers of sums.

// Estimates of convolutions, in nanoseconds and cycles of an H200 (docs/performance-notes.md: small
// convolutions on a GPU).
constexpr double kLaunchTime = 1000, kCyclesPerTime = 1.7;
constexpr double kLibraryTime = 8000, kLibraryFlopsPerTime = 60000, kLowLibraryFlopsPerTime = 200000;
constexpr double kTransposeTime = 2000, kBytesPerTime = 4200;
constexpr double kLibraryTermTime = 3;  // A tile's terms are one after the other.
// A block alone on its multiprocessor takes this much longer than its share of a busy one.
constexpr double kLoneBlock = 2.2;
constexpr int64_t kResidentWarps = 32, kMostDirectWarps = 16;
// Cycles until loads from memory arrive, for the start and the end of a warp, for an instruction and a load
// of a busy multiprocessor, and for an instruction of a warp that is alone.
constexpr double kLoadCycles = 700, kWarpCycles = 1500;
constexpr double kBusyCycles = 0.42, kBusyLoadCycles = 5, kWarpInstructionCycles = 2.5;

// The library computes what the estimate of conv_direct.cuh makes faster by less than this: the estimate's
// error in f32, and more for 16 bits, for which nothing is measured.
constexpr double kDoubt = 1.5, kLowDoubt = 2;

// Blocks of the busiest multiprocessor.
int64_t BlocksOfOne(int64_t blocks) { return llvm::divideCeilSigned(blocks, kPlannedGpu.multiprocessors); }

double ImageTime(const kernels::ConvGeometry& conv, const ConvTiles& tiles) {
  const double block = tiles.cycles / static_cast<double>(tiles.parts);
  const double blocks = static_cast<double>(BlocksOfOne(conv.batch * tiles.parts));
  return kLaunchTime + block * std::max(blocks, kLoneBlock) / kCyclesPerTime;
}

// cuDNN pads channels to the sizes of its tiles, and transposes 16-bit images in nchw.
double LibraryTime(const kernels::ConvGeometry& conv, bool is_low, ImageLayout layout) {
  const double products = 1.0 * conv.batch * conv.out_pixels() * RoundUp(conv.out_channels, 32) *
                          RoundUp(conv.in_channels, 8) * conv.taps();
  const double terms = static_cast<double>(conv.in_channels * conv.taps()) * kLibraryTermTime;
  // Channels that are no multiple of 16 bytes are read one by one.
  if (!is_low)
    return kLibraryTime + terms + (conv.in_channels % 4 == 0 ? 2 : 4) * products / kLibraryFlopsPerTime;
  const double bytes = 2.0 * (conv.image_elements() + conv.result_elements() + conv.weight_elements());
  const double transposes = layout == ImageLayout::nchw ? 3 * kTransposeTime + 2 * bytes / kBytesPerTime : 0;
  return kLibraryTime + terms + 2 * products / kLowLibraryFlopsPerTime + transposes;
}

// True if conv_direct.cuh computes the op: in tf32, or with 16-bit operands, whose products are exact in it.
bool CanBeDirect(Conv2dOp op) {
  if (IsPlainInAnyLayout(op)) return true;
  const mlir::Type element = op.getResult().getType().getElementType();
  const auto is_one_of_it = [&](mlir::Value v) {
    const auto type = llvm::cast<mlir::RankedTensorType>(v.getType());
    return type.getElementType() == element && type.getNumElements() > 0;
  };
  const bool known = op.getActivation() == Activation::none || op.getActivation() == Activation::relu;
  return (element.isBF16() || element.isF16()) && op.getGroups() == 1 && known &&
         op.getLayout() != ImageLayout::nchw16n && is_one_of_it(op.getResult()) &&
         llvm::all_of(op->getOperands(), is_one_of_it);
}

// Returns the estimate of conv_direct.cuh with these tiles.
double DirectTime(const kernels::ConvGeometry& conv, const DirectTiles& t) {
  const int64_t steps = llvm::divideCeilSigned(conv.in_channels * conv.taps(), kTileN),
                own = llvm::divideCeilSigned(steps, t.warps_k),
                warps = BlocksOfOne(t.blocks) * t.warps_m * t.warps_k;
  const int64_t loads = 4 * t.tiles_m + 2 * t.tiles_n;
  const int64_t together = loads <= 6 ? 6 : loads <= 12 ? 4 : 2;
  // Instructions of a step: places of terms, loads of pixels and weights, products.
  const auto instructions = static_cast<double>(30 + 28 * t.tiles_m + 8 * t.tiles_n + t.tiles_m * t.tiles_n);
  const double step = std::max(instructions * kBusyCycles, static_cast<double>(loads) * kBusyLoadCycles);
  const double busy = static_cast<double>(warps * own) * step;
  const double loop = kLoadCycles + static_cast<double>(together) * instructions * kWarpInstructionCycles;
  const double waiting = static_cast<double>(llvm::divideCeilSigned(warps, kResidentWarps) *
                                             llvm::divideCeilSigned(own, together)) *
                         loop;
  return kLaunchTime + (kWarpCycles + std::max(busy, waiting)) / kCyclesPerTime;
}

struct Choice {
  ConvKernel kernel;
  double nanoseconds;
};

Choice ChoiceOf(Conv2dOp op, ImageLayout layout) {
  if (!CanBeDirect(op)) return {ConvKernel::library, 0};
  const kernels::ConvGeometry conv = ConvGeometryOf(op, op.getX(), op.getWeights(), op.getResult());
  const bool is_low = op.getResult().getType().getElementTypeBitWidth() == 16;
  const double library = LibraryTime(conv, is_low, layout), direct = DirectTilesOf(conv).nanoseconds;
  if (is_low) {
    if (direct * kLowDoubt <= library) return {ConvKernel::direct, direct * kLowDoubt};
    return {ConvKernel::library, library};
  }
  const std::optional<ConvTiles> tiles = TilesOf(conv);
  Choice own = {ConvKernel::direct, direct};
  if (tiles && layout == ImageLayout::nchw && ImageTime(conv, *tiles) <= direct)
    own = {ConvKernel::image, ImageTime(conv, *tiles)};
  // The estimate of cuDNN is too short for few channels.
  const double most = tiles ? 2 * library : library / kDoubt;
  return own.nanoseconds <= most ? own : Choice{ConvKernel::library, library};
}

}  // namespace

int64_t MatmulTiles(const MatmulSizes& sizes) {
  return llvm::divideCeilSigned(sizes.m, kMatmulSide) * llvm::divideCeilSigned(sizes.n, kMatmulSide);
}

// A 2-D f32 matmul with tf32 allowed and few tiles.
bool Computes(MatmulOp op) {
  const bool known = op.getActivation() == Activation::none || op.getActivation() == Activation::relu;
  if (!known || op.getAddend() || op.getScale() || op.getMath() != MathMode::tf32 ||
      !op.getType().getElementType().isF32() || !op.getA().getType().getElementType().isF32() ||
      op.getA().getType().getRank() != 2)
    return false;
  const MatmulSizes s = MatmulSizes::Of(op);
  return std::min({s.m, s.n, s.k}) > 0 && MatmulTiles(s) <= kFewTiles &&
         2.0 * s.m * s.n * s.k <= kMostSplitFlops;
}

bool Computes(Conv2dOp op) { return KernelOf(op) != ConvKernel::library; }

ConvKernel KernelOf(Conv2dOp op) { return ChoiceOf(op, op.getLayout()).kernel; }
double TimeOf(Conv2dOp op, ImageLayout layout) { return ChoiceOf(op, layout).nanoseconds; }

DirectTiles DirectTilesOf(const kernels::ConvGeometry& conv) {
  const int64_t columns = llvm::divideCeilSigned(conv.out_channels, kTileN);
  const int64_t steps = llvm::divideCeilSigned(conv.in_channels * conv.taps(), kTileN);
  DirectTiles best = {};
  for (int64_t tiles_m : {1, 2}) {
    for (int64_t tiles_n : {1, 2, 4}) {
      if (tiles_n >= 2 * columns) continue;
      for (int64_t warps_k : {1, 2, 4, 8, 16}) {
        if (warps_k > steps) continue;
        for (int64_t warps_m = 1; warps_m * warps_k <= kMostDirectWarps; warps_m *= 2) {
          const int64_t rows =
              llvm::divideCeilSigned(conv.batch * conv.out_pixels(), kSumTile * tiles_m * warps_m);
          DirectTiles tiles = {warps_m, warps_k, tiles_m, tiles_n,
                               rows * llvm::divideCeilSigned(columns, tiles_n)};
          tiles.nanoseconds = DirectTime(conv, tiles);
          if ((warps_k - 1) * warps_m * tiles_m * tiles_n * kSumTile * kTileN > kMostFloats) continue;
          if (best.blocks == 0 || tiles.nanoseconds < best.nanoseconds) best = tiles;
        }
      }
    }
  }
  return best;
}

int64_t PitchOf(int64_t length) {
  const int64_t pitch = RoundUp(length, 8);
  return pitch % 16 == 8 ? pitch : pitch + 8;
}

double StepCycles(int64_t tiles_m, int64_t tiles_n) {
  return std::max<double>(kTileCycles * tiles_m * tiles_n, 4 * tiles_m + 2 * tiles_n + 2);
}

std::optional<ConvTiles> TilesOf(const kernels::ConvGeometry& conv) {
  const auto floats = [&](int64_t chunk) {
    return conv.out_channels * PitchOf(chunk * conv.taps()) + chunk * conv.padded_plane() +
           RoundUp(chunk * conv.taps(), 8);
  };
  if (conv.out_channels > kMostOut || floats(1) > kMostFloats) return std::nullopt;
  int64_t chunk = 1;
  while (chunk < conv.in_channels && floats(chunk + 1) <= kMostFloats) ++chunk;
  // Chunks of similar size, in multiples of four channels if possible, so that all accesses are 16 bytes
  // wide.
  const int64_t even =
      llvm::divideCeilSigned(conv.in_channels, llvm::divideCeilSigned(conv.in_channels, chunk));
  chunk = chunk >= RoundUp(even, 4) ? std::min(RoundUp(even, 4), conv.in_channels) : even;
  const double fetch =
      kFetchCycles * conv.in_channels * (conv.in_h * conv.in_w + conv.out_channels * conv.taps());
  std::optional<ConvTiles> best;
  double least = 0;
  for (int64_t warps : {4, 8}) {
    for (int64_t warps_n = 1; warps_n <= warps; warps_n *= 2) {
      for (int64_t tiles_m = 1; tiles_m <= 4; ++tiles_m) {
        const int64_t warps_m = warps / warps_n,
                      tiles_n =
                          llvm::divideCeilSigned(llvm::divideCeilSigned(conv.out_channels, kTileN), warps_n);
        if (tiles_m * tiles_n > kMostTiles) continue;
        const int64_t parts = llvm::divideCeilSigned(conv.out_pixels(), kSumTile * warps_m * tiles_m);
        const double steps = 1.0 * conv.in_channels * conv.taps() / 8;
        const double products = warps * steps * StepCycles(tiles_m, tiles_n);
        // Every part would fetch these large images again.
        if (parts > 1 && fetch > products) continue;
        const double cycles = parts * (products + fetch);
        if (best && cycles >= least) continue;
        best = {chunk, parts, warps_m, warps_n, tiles_m, tiles_n, cycles};
        least = cycles;
      }
    }
  }
  return best;
}

}  // namespace sinter::ir::tf32
