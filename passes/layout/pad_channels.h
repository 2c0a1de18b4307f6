// Pads channels with zeros so that a GPU's convolutions run faster.
// Its kernels for 16-bit nhwc images read eight channels at once. For other channel counts, such as the three
// of a photograph, only slow kernels exist.
//
//   PadChannels(function);    // conv2d of [n, h, w, 3] becomes conv2d of [n, h, w, 8], weights likewise.
#ifndef SINTER_PASSES_LAYOUT_PAD_CHANNELS_H_
#define SINTER_PASSES_LAYOUT_PAD_CHANNELS_H_

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {

// Pads the image channels of GPU convolutions and their gradients without groups, in nhwc and 16-bit types.
// Gradients of the added channels are sliced off.
void PadChannels(mlir::func::FuncOp function);

}  // namespace sinter

#endif  // SINTER_PASSES_LAYOUT_PAD_CHANNELS_H_
