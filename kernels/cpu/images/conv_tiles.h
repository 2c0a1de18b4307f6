// Convolutions of floats by the tiles of matmul_tile.h; callers use conv.h.
//
//   if (HasConvTiles(conv)) {
//     RunTiledForward(conv, x, weights, bias, y, workspace, parallel, BestMatmulKernels());
//   }
//
// Images are copied to channels-last order with their padding around them, unless they already have this
// form. Then every tap of a pixel has a fixed offset, and a tile multiplies pixels, read in place, by panels
// of weights. Sums are split into chains of kChain terms. A weight gradient first splits its sums into parts
// of the images. The splits depend only on the shape.
#ifndef SINTER_KERNELS_CPU_IMAGES_CONV_TILES_H_
#define SINTER_KERNELS_CPU_IMAGES_CONV_TILES_H_

#include "sinter/kernels/cpu/images/conv.h"
#include "sinter/kernels/cpu/matmul/matmul_tile.h"

namespace sinter::kernels {

// False for groups so narrow that panels would be mostly empty, for empty tensors, and if the padded images
// would need far more memory than the images.
bool HasConvTiles(const Conv& conv);

// Bytes of workspace of the forward convolution or the gradient of its images, and of the gradient of its
// weights.
size_t GatherWorkspaceBytes(const Conv& conv, bool is_forward, int threads);
size_t WeightGradWorkspaceBytes(const Conv& conv, int threads);
// The arguments are those of conv.h.
void RunTiledForward(const Conv& conv, const void* x, const void* weights, const void* bias, void* y,
                     void* workspace, const Parallel& parallel, const MatmulKernels& kernels);
void RunTiledInputGrad(const Conv& conv, const void* g, const void* weights, void* dx, void* workspace,
                       const Parallel& parallel, const MatmulKernels& kernels);
void RunTiledWeightGrad(const Conv& conv, const void* x, const void* g, void* dw, void* workspace,
                        const Parallel& parallel, const MatmulKernels& kernels);

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_IMAGES_CONV_TILES_H_
