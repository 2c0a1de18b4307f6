// Rewrites gradients of average pools with non-overlapping windows as index maps, on GPUs.
// Every element is an element of g, divided. So kernels that read the gradient compute it in place, and no
// kernel stores it. Otherwise a GPU's pools are separate kernels. A CPU's pool kernels are faster than fused
// loops.
//
//   SpreadPoolGradients(block);   // avg_pool2d_grad becomes broadcast, reshape, pad, div.
#ifndef SINTER_PASSES_FUSE_POOL_GRADIENTS_H_
#define SINTER_PASSES_FUSE_POOL_GRADIENTS_H_

#include "mlir/IR/Block.h"

namespace sinter {

// Replaces pool gradients on GPUs that only fusible ops read. Run it before grouping.
void SpreadPoolGradients(mlir::Block& block);

}  // namespace sinter

#endif  // SINTER_PASSES_FUSE_POOL_GRADIENTS_H_
