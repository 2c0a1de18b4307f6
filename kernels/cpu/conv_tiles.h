// Convolutions of floats by the tiles of product_tile.h; conv.h is what others call.
//
//   if (HasConvTiles(conv)) RunTiledForward(conv, x, weights, bias, y, workspace, parallel, BestProductKernels());
//
// Images are brought into channels-last order with their padding around them (as they are, where they are that already), so that
// every tap of a pixel is at a fixed distance from it: a tile multiplies pixels, read in place, with panels of weights. Sums are
// cut into chains of kChain products, and those of a weight's gradient into parts of the images first, by the shape alone.
#ifndef SINTER_KERNELS_CPU_CONV_TILES_H_
#define SINTER_KERNELS_CPU_CONV_TILES_H_

#include "sinter/kernels/cpu/conv.h"
#include "sinter/kernels/cpu/product_tile.h"

namespace sinter::kernels {

// Not for groups so narrow that panels would be empty for the most part.
bool HasConvTiles(const Conv& conv);

// Of the forward convolution, or of the gradient of its images; and of that of its weights.
size_t GatherWorkspaceBytes(const Conv& conv, bool is_forward, int threads);
size_t WeightGradWorkspaceBytes(const Conv& conv, int threads);
// The arguments are those of conv.h.
void RunTiledForward(const Conv& conv, const void* x, const void* weights, const void* bias, void* y,
                     void* workspace, const Parallel& parallel, const ProductKernels& kernels);
void RunTiledInputGrad(const Conv& conv, const void* g, const void* weights, void* dx, void* workspace,
                       const Parallel& parallel, const ProductKernels& kernels);
void RunTiledWeightGrad(const Conv& conv, const void* x, const void* g, void* dw, void* workspace,
                        const Parallel& parallel, const ProductKernels& kernels);

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_CONV_TILES_H_
