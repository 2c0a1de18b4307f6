// Convolutions of few channels and a stride, as a photograph's first one, as convolutions of blocks of pixels without a stride: blocks
// of stride x stride pixels become channels, so that a GPU's kernels, which take many channels of one pixel at once, have that
// many, and a fraction of the taps.
//
//   GatherPixels(function);   // [n, 3, 224, 224] by 7 x 7 with stride 2: [n, 115, 115, 16] by 4 x 4
#ifndef SINTER_PASSES_LAYOUT_PIXEL_BLOCKS_H_
#define SINTER_PASSES_LAYOUT_PIXEL_BLOCKS_H_

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {

// Of convolutions and gradients of weights on GPUs, in layout nhwc and 16-bit types, whose images come from a transpose of
// the user's: blocks, padding and the cast are then one kernel. What is around the images becomes zeros of theirs.
void GatherPixels(mlir::func::FuncOp function);

}  // namespace sinter

#endif  // SINTER_PASSES_LAYOUT_PIXEL_BLOCKS_H_
