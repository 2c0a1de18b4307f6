// The sizes of image tensors in any layout, and the geometry of convolutions (kernels/image_geometry.h).
//
//   ImageSizes sizes(conv.getX(), conv.getLayout());                    // {8, 3, 224, 224}
//   kernels::ConvGeometry g = ConvGeometryOf(conv, conv.getX(), conv.getWeights(), conv.getResult());
#ifndef SINTER_IR_LIBRARY_IMAGE_SIZES_H_
#define SINTER_IR_LIBRARY_IMAGE_SIZES_H_

#include <cstdint>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/kernels/image_geometry.h"

namespace sinter::ir {

// Images in one block of layout nchw16n.
inline constexpr int64_t kImagesOfBlock = 16;

struct ImageSizes {
  int64_t batch, channels, height, width;

  ImageSizes(llvm::ArrayRef<int64_t> shape, ImageLayout layout) {
    const bool last = layout == ImageLayout::nhwc;
    batch = shape[0], channels = shape[ChannelDim(layout)];
    height = shape[last ? 1 : 2], width = shape[last ? 2 : 3];
    if (layout == ImageLayout::nchw16n) batch *= kImagesOfBlock;
  }
  ImageSizes(mlir::Value images, ImageLayout layout) : ImageSizes(ShapeOf(images), layout) {}

  llvm::SmallVector<int64_t> shape(ImageLayout layout) const {
    if (layout == ImageLayout::nhwc) return {batch, height, width, channels};
    if (layout == ImageLayout::nchw16n) {
      return {batch / kImagesOfBlock, channels, height, width, kImagesOfBlock};
    }
    return {batch, channels, height, width};
  }
};

// The geometry of conv2d or of one of its gradients: `y` is the result of the forward convolution, or has its
// sizes.
template <typename Op>
kernels::ConvGeometry ConvGeometryOf(Op op, mlir::Value x, mlir::Value weights, mlir::Value y) {
  const ImageSizes from(x, op.getLayout()), to(y, op.getLayout());
  const llvm::ArrayRef<int64_t> kernel = ShapeOf(weights).drop_front(2), padding = op.getPadding();
  return {.batch = from.batch,
          .in_channels = from.channels,
          .out_channels = to.channels,
          .groups = static_cast<int64_t>(op.getGroups()),
          .in_h = from.height,
          .in_w = from.width,
          .out_h = to.height,
          .out_w = to.width,
          .kernel_h = kernel[0],
          .kernel_w = kernel[1],
          .stride_h = op.getStrides()[0],
          .stride_w = op.getStrides()[1],
          .pad_top = padding[0],
          .pad_left = padding[2],
          .dilation_h = op.getDilations()[0],
          .dilation_w = op.getDilations()[1],
          .pad_bottom = padding[1],
          .pad_right = padding[3]};
}

}  // namespace sinter::ir

#endif  // SINTER_IR_LIBRARY_IMAGE_SIZES_H_
