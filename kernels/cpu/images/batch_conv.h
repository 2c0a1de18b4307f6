// Convolutions of f32 images stored in blocks of 16 images: [N / 16, C, H, W, 16].
//
// One vector holds the same pixel of 16 images. So every channel count, image size, stride and padding uses
// all lanes, and neither images nor weights are rearranged. Weights are plain: [C_out, C_in / groups, kh,
// kw].
//
// Contract: each function processes the units [begin, end) on the calling thread and allocates nothing.
// Threads may process units in any order, and the results have the same bits for every split. The caller has
// checked the geometry: out = (in + padding - dilation * (kernel - 1) - 1) / stride + 1. Pointers need only
// the alignment of float. The code runs on x86-64 CPUs, fast with AVX2 and FMA, and on any other CPU for
// which the compiler has 16-byte vectors.
//
//   BatchConv conv{geometry};
//   pool.ParallelFor(BatchConvForwardUnits(conv), 1, [&](int64_t begin, int64_t end, int) {
//     BatchConvForward(conv, x, weights, bias, /*relu=*/true, y, begin, end);
//   });
#ifndef SINTER_KERNELS_CPU_IMAGES_BATCH_CONV_H_
#define SINTER_KERNELS_CPU_IMAGES_BATCH_CONV_H_

#include <cstddef>
#include <cstdint>

#include "sinter/kernels/cpu/isa.h"
#include "sinter/kernels/image_geometry.h"

namespace sinter::kernels {

// Images in one block, the innermost dimension.
inline constexpr int64_t kBatchBlock = 16;

// `batch` is a multiple of kBatchBlock.
struct BatchConv : ConvGeometry {
  Isa isa = BestIsa();  // At most the running CPU's. The bits of gradients depend on it.

  int64_t blocks() const { return batch / kBatchBlock; }
};

// Computes y = x * weights + bias, then relu. `bias` [C_out] may be null. NaN passes through relu.
int64_t BatchConvForwardUnits(const BatchConv& conv);
void BatchConvForward(const BatchConv& conv, const float* x, const float* weights, const float* bias,
                      bool relu, float* y, int64_t begin, int64_t end);

// Computes dx from g, the gradient of y.
int64_t BatchConvInputGradUnits(const BatchConv& conv);
void BatchConvInputGrad(const BatchConv& conv, const float* g, const float* weights, float* dx, int64_t begin,
                        int64_t end);

// Computes dw in two passes. All units of the first pass write partial sums to `workspace`; their number
// depends only on the shape. Then the second pass, over the elements of dw, adds them in a fixed order.
size_t BatchConvWeightGradWorkspaceBytes(const BatchConv& conv);
int64_t BatchConvWeightGradUnits(const BatchConv& conv);
void BatchConvWeightGrad(const BatchConv& conv, const float* x, const float* g, float* workspace,
                         int64_t begin, int64_t end);
int64_t BatchConvWeightGradElements(const BatchConv& conv);
void BatchConvAddWeightGrads(const BatchConv& conv, const float* workspace, float* dw, int64_t begin,
                             int64_t end);

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_IMAGES_BATCH_CONV_H_
