// Rewrites strided convolutions of few channels as convolutions of pixel blocks without a stride.
// An example is the first convolution of photographs. Blocks of stride x stride pixels become channels: a
// GPU's kernels process many channels of a pixel at once, and the window has a fraction of the taps.
//
//   GatherPixels(function);   // [n, 3, 224, 224] by 7 x 7 with stride 2: [n, 115, 115, 16] by 4 x 4.
#ifndef SINTER_PASSES_LAYOUT_PIXEL_BLOCKS_H_
#define SINTER_PASSES_LAYOUT_PIXEL_BLOCKS_H_

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {

// Rewrites GPU convolutions and weight gradients in nhwc and 16-bit types whose images come from a transpose
// of the user's order. Blocks, padding and the cast are then one kernel. The convolution's padding becomes
// zeros of the images.
void GatherPixels(mlir::func::FuncOp function);

}  // namespace sinter

#endif  // SINTER_PASSES_LAYOUT_PIXEL_BLOCKS_H_
