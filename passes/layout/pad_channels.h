// Channels of zeros that make a GPU's convolutions quicker: its kernels for 16-bit images in nhwc read eight channels at once,
// and for images of another number, such as the three of a photograph, there are slow ones alone.
//
//   PadChannels(function);    // conv2d of [n, h, w, 3] becomes one of [n, h, w, 8], with weights of as many
#ifndef SINTER_PASSES_LAYOUT_PAD_CHANNELS_H_
#define SINTER_PASSES_LAYOUT_PAD_CHANNELS_H_

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {

// Of convolutions and their gradients on GPUs, without groups, in layout nhwc and 16-bit types: the channels of the images.
// What the channels of zeros get as gradients is cut off.
void PadChannels(mlir::func::FuncOp function);

}  // namespace sinter

#endif  // SINTER_PASSES_LAYOUT_PAD_CHANNELS_H_
