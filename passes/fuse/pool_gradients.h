// Gradients of average pools whose windows lie side by side, as index maps: every element is one of g's, divided, so that on
// a GPU the kernels that read the gradient compute it where they need it, and none stores it. A GPU's pools otherwise are
// kernels of their own; a CPU's are quicker than what fusion would make of them.
//
//   SpreadPoolGradients(block);   // avg_pool2d_grad becomes broadcast, reshape, pad, div
#ifndef SINTER_PASSES_FUSE_POOL_GRADIENTS_H_
#define SINTER_PASSES_FUSE_POOL_GRADIENTS_H_

#include "mlir/IR/Block.h"

namespace sinter {

// Replaces those on GPUs that only fusible ops read, before they are grouped.
void SpreadPoolGradients(mlir::Block& block);

}  // namespace sinter

#endif  // SINTER_PASSES_FUSE_POOL_GRADIENTS_H_
