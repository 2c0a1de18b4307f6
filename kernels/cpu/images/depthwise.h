// Depthwise convolutions: groups of one input channel. Callers use conv.h.
//
//   if (HasDepthwise(conv)) RunDepthwiseForward(conv, x, weights, bias, y, workspace, parallel, kernels);
//
// Results are computed in tiles of pixels and a block of channels. The pixels that a tile reads are copied
// once, with the padding around them, to memory that fits a core's caches; the loops of depthwise_tile.h then
// need no bounds. Forward and image gradients add the taps of a pixel in one chain. A weight gradient adds
// the pixels of each tile in a chain, then tiles, then parts. These splits depend only on the shape; blocks
// also depend on the threads.
#ifndef SINTER_KERNELS_CPU_IMAGES_DEPTHWISE_H_
#define SINTER_KERNELS_CPU_IMAGES_DEPTHWISE_H_

#include <cstddef>

#include "sinter/kernels/cpu/images/conv.h"
#include "sinter/kernels/cpu/images/depthwise_tile.h"

namespace sinter::kernels {

// False for groups of more channels, one group, empty tensors, and windows so large that a tile would need
// more than a few megabytes.
bool HasDepthwise(const Conv& conv);

size_t DepthwiseWorkspaceBytes(const Conv& conv, ConvPass pass, int threads);
// The arguments are those of conv.h.
void RunDepthwiseForward(const Conv& conv, const void* x, const void* weights, const void* bias, void* y,
                         void* workspace, const Parallel& parallel, const DepthwiseKernels& kernels);
void RunDepthwiseInputGrad(const Conv& conv, const void* g, const void* weights, void* dx, void* workspace,
                           const Parallel& parallel, const DepthwiseKernels& kernels);
void RunDepthwiseWeightGrad(const Conv& conv, const void* x, const void* g, void* dw, void* workspace,
                            const Parallel& parallel, const DepthwiseKernels& kernels);

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_IMAGES_DEPTHWISE_H_
