// ImageOrder: converts types, values and op attributes between the user's image order and another one.
// The user's order is [N, C, H, W].
//
//   ImageOrder order(ir::ImageLayout::nchw16n);
//   order.typeOf(user_type);                        // tensor<32x3x8x8xf32> -> tensor<2x3x8x8x16xf32>
//   Value moved = order.fromUser(builder, value);   // A transpose, plus a reshape if the order needs one.
#ifndef SINTER_PASSES_LAYOUT_IMAGE_ORDER_H_
#define SINTER_PASSES_LAYOUT_IMAGE_ORDER_H_

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter {

class ImageOrder {
 public:
  // Images of one block of nchw16n.
  static constexpr int64_t kBlock = 16;

  // `layout` is nhwc or nchw16n.
  explicit ImageOrder(ir::ImageLayout layout) : layout_(layout) {}

  ir::ImageLayout layout() const { return layout_; }
  mlir::RankedTensorType typeOf(mlir::RankedTensorType user) const;
  mlir::Value fromUser(mlir::OpBuilder& builder, mlir::Value value) const;
  mlir::Value toUser(mlir::OpBuilder& builder, mlir::Value value) const;

  // True if the attributes of `op` can be expressed in this order. nchw16n splits the batch into blocks, so
  // ops that slice, pad, concatenate or search along the batch cannot be expressed.
  bool canExpress(mlir::Operation* op) const;
  // Converts the attributes of `op`, whose images are already in this order. Not for image ops, which have a
  // layout.
  void adapt(mlir::Operation* op) const;
  // Returns a reduction's result in the user's order. `result` belongs to the adapted reduction and gets its
  // type here.
  mlir::Value reducedToUser(mlir::OpBuilder& builder, mlir::Operation* user, mlir::Value result) const;

 private:
  bool blocked() const { return layout_ == ir::ImageLayout::nchw16n; }
  llvm::SmallVector<int64_t> positions(llvm::ArrayRef<int64_t> dims) const;
  llvm::SmallVector<int64_t> perDimension(llvm::ArrayRef<int64_t> values, int64_t batch, int64_t lane) const;
  void adaptReduction(ir::ReductionInterface reduction) const;
  void adaptBroadcast(ir::BroadcastOp broadcast) const;

  ir::ImageLayout layout_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_LAYOUT_IMAGE_ORDER_H_
