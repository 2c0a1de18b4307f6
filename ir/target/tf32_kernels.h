// Decides which GPU matmuls and convolutions run on Sinter's own tf32 kernels.
// All others run on cuBLASLt and cuDNN. The own kernels compute small matmuls, convolutions with few
// channels and small convolutions (kernels/cuda/split_matmul.cuh, conv.cuh, conv_direct.cuh). Only this file
// decides. The kernel catalogue and the pass fuse-epilogue use its answer: the relu of the own kernels keeps
// NaN, the libraries' relu does not.
//
//   if (ir::tf32::KernelOf(conv) == ir::tf32::ConvKernel::image) {
//     ir::tf32::ConvTiles tiles = *ir::tf32::TilesOf(
//         ir::ConvGeometryOf(conv, conv.getX(), conv.getWeights(), conv.getResult()));
//   }
//
// The answers depend only on the op, not on its device.
#ifndef SINTER_IR_TARGET_TF32_KERNELS_H_
#define SINTER_IR_TARGET_TF32_KERNELS_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "llvm/Support/MathExtras.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/library/image_sizes.h"
#include "sinter/ir/library/matmul_sizes.h"
#include "sinter/ir/target/gpu_models.h"

namespace sinter::ir::tf32 {

// True if an own kernel computes the op with its bias and its relu, if any. The convolution is a forward one.
bool Computes(MatmulOp op);
bool Computes(Conv2dOp op);

// Output tiles of a matmul: one block computes kMatmulSide rows and columns of [m, n].
inline constexpr int64_t kMatmulSide = 32;
int64_t MatmulTiles(const MatmulSizes& sizes);

// A convolution's tile of sums is [kSumTile, kTileN].
inline constexpr int64_t kSumTile = 16, kTileN = 8;
inline constexpr int64_t kMostOut = 64;  // Output channels.
inline constexpr int64_t kMostFloats =
    kPlannedGpu.shared_bytes / 4;  // Floats of a block's default shared memory.
// Cycles of a multiprocessor: to bring one element to shared memory; for eight terms of one tile.
inline constexpr double kFetchCycles = 0.12, kTileCycles = 2;

// Row pitch without bank conflicts when four threads of each of four rows read pairs at once.
int64_t PitchOf(int64_t length);
// Cycles of a multiprocessor for one step of a warp's tiles: the slower of the tensor cores and shared
// memory.
double StepCycles(int64_t tiles_m, int64_t tiles_n);

struct ConvTiles {
  int64_t chunk, parts, warps_m, warps_n, tiles_m, tiles_n;
  double cycles;  // Cycles of a multiprocessor for one image.
};

// Returns nullopt if there are too many output channels, or if the images or the weights are too large.
std::optional<ConvTiles> TilesOf(const kernels::ConvGeometry& conv);

// Tiles of a convolution whose blocks share nothing: a block computes warps_m * tiles_m tiles of pixels, of
// all images, in tiles_n tiles of channels. warps_k warps share the terms of a tile.
struct DirectTiles {
  int64_t warps_m, warps_k, tiles_m, tiles_n, blocks;
  double nanoseconds;
};
DirectTiles DirectTilesOf(const kernels::ConvGeometry& conv);

// The kernels that compute a forward convolution: cuDNN's, an image a block (conv.cuh), or none shared
// (conv_direct.cuh).
enum class ConvKernel { library, image, direct };
// Returns the kernel with the shortest estimate on kPlannedGpu. The estimates of own kernels count the blocks
// that they give each multiprocessor: one block alone waits for its own loads.
ConvKernel KernelOf(Conv2dOp op);
// Returns the estimate in nanoseconds of the fastest kernel for images in `layout`, with the transposes that
// cuDNN adds for 16-bit images in nchw. 0 if conv_direct.cuh cannot compute the op.
double TimeOf(Conv2dOp op, ImageLayout layout);

// True if a convolution or its gradient is a non-empty f32 op with tf32 allowed, one group, and with relu or
// no activation.
template <typename Op>
bool IsPlainInAnyLayout(Op op) {
  const auto has_elements = [](mlir::Value v) {
    return llvm::cast<mlir::RankedTensorType>(v.getType()).getNumElements() > 0;
  };
  const bool known = op.getActivation() == Activation::none || op.getActivation() == Activation::relu;
  return op.getResult().getType().getElementType().isF32() && op.getMath() == MathMode::tf32 &&
         op.getGroups() == 1 && known && has_elements(op.getResult()) &&
         llvm::all_of(op->getOperands(), has_elements);
}
// Such an op in nchw.
template <typename Op>
bool IsPlain(Op op) {
  return op.getLayout() == ImageLayout::nchw && IsPlainInAnyLayout(op);
}

}  // namespace sinter::ir::tf32

#endif  // SINTER_IR_TARGET_TF32_KERNELS_H_
