#include "sinter/ir/target/tf32_kernels.h"
#include "sinter/ir/library/matmul_sizes.h"
#include "sinter/ir/target/gpu_models.h"

namespace sinter::ir::tf32 {

namespace {

constexpr int64_t kFewTiles = kPlannedGpu.multiprocessors / 2;
constexpr double kMostSplitFlops = 2 << 26;  // Larger matmuls keep a GPU busy even with few tiles.
constexpr int64_t kMostTiles = 16;           // Tiles of a warp: 64 registers of sums.

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

bool Computes(Conv2dOp op) {
  return IsPlain(op) && TilesOf(ConvGeometryOf(op, op.getX(), op.getWeights(), op.getResult())).has_value();
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
