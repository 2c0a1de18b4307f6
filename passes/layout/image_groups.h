// ImageGroup: image ops whose images must share one order, with the values of that order, and the layout in
// which a group takes the least time on a GPU.
//
//   ImageOrder order(ir::ImageLayout::nhwc);
//   for (const ImageGroup& group : ImageGroupsOf(function, order)) {
//     if (FasterLayout(group, order) == ir::ImageLayout::nhwc) ...    // All its values change their order.
//   }
#ifndef SINTER_PASSES_LAYOUT_IMAGE_GROUPS_H_
#define SINTER_PASSES_LAYOUT_IMAGE_GROUPS_H_

#include "llvm/ADT/SetVector.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/passes/layout/image_order.h"

namespace sinter {

// True for ops on images that are still in the user's layout.
bool IsImageOp(mlir::Operation* op);
// Null if the op has no weights.
mlir::Value WeightsOf(mlir::Operation* op);
// Returns the operands and results of `op` that must share one order. Empty if the op has no images or
// depends on their order (a reshape, a random op, a user's transpose).
llvm::SmallVector<mlir::Value> TiedBy(mlir::Operation* op, const ImageOrder& order);

struct ImageGroup {
  llvm::SetVector<mlir::Operation*> images;  // Convolutions, their gradients and pools.
  llvm::SetVector<mlir::Value> values;       // Their images, and all values that follow their order.
};

// Returns the groups in the order of their first image op. `order` is the one that they may change to.
llvm::SmallVector<ImageGroup> ImageGroupsOf(mlir::func::FuncOp function, const ImageOrder& order);

// Returns nhwc or nchw, the layout of the target for equal times. A group costs the transposes at its borders
// with ops that keep the user's order, and what its convolutions lose in this layout. In nchw the borders are
// the user's own transposes, which nhwc cancels.
ir::ImageLayout FasterLayout(const ImageGroup& group, const ImageOrder& nhwc);

}  // namespace sinter

#endif  // SINTER_PASSES_LAYOUT_IMAGE_GROUPS_H_
