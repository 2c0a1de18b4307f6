// An order of an image tensor's dimensions other than the user's, [N, C, H, W]: how types, values and the
// attributes of ops go from one to the other.
//
//   ImageOrder order(ir::ImageLayout::nchw16n);
//   order.typeOf(user_type);                        // tensor<32x3x8x8xf32> -> tensor<2x3x8x8x16xf32>
//   Value moved = order.fromUser(builder, value);   // by a transpose, with a reshape where the order needs one
#ifndef SINTER_PASSES_LAYOUT_IMAGE_ORDER_H_
#define SINTER_PASSES_LAYOUT_IMAGE_ORDER_H_

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter {

class ImageOrder {
 public:
  // Images in one block of nchw16n.
  static constexpr int64_t kBlock = 16;

  // `layout` is nhwc or nchw16n.
  explicit ImageOrder(ir::ImageLayout layout) : layout_(layout) {}

  ir::ImageLayout layout() const { return layout_; }
  mlir::RankedTensorType typeOf(mlir::RankedTensorType user) const;
  mlir::Value fromUser(mlir::OpBuilder& builder, mlir::Value value) const;
  mlir::Value toUser(mlir::OpBuilder& builder, mlir::Value value) const;

  // Whether the attributes of `op` can say the same in this order: nchw16n cuts the batch into blocks, so
  // what slices, pads, joins or searches along it cannot.
  bool canExpress(mlir::Operation* op) const;
  // Makes the attributes of `op`, whose images are in this order already, say what they said in the user's.
  // Not for image ops, which have a layout.
  void adapt(mlir::Operation* op) const;
  // The result of a reduction in the user's order; `result` is of the adapted reduction and gets its type
  // here.
  mlir::Value reducedToUser(mlir::OpBuilder& builder, mlir::Operation* user, mlir::Value result) const;

 private:
  bool blocked() const { return layout_ == ir::ImageLayout::nchw16n; }
  llvm::SmallVector<int64_t> places(llvm::ArrayRef<int64_t> dims) const;
  llvm::SmallVector<int64_t> perDimension(llvm::ArrayRef<int64_t> values, int64_t batch, int64_t lane) const;
  void adaptReduction(ir::ReductionInterface reduction) const;
  void adaptBroadcast(ir::BroadcastOp broadcast) const;

  ir::ImageLayout layout_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_LAYOUT_IMAGE_ORDER_H_
