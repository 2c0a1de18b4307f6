#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/shape_checks.h"
#include "sinter/ir/dialect/tensor_types.h"

#define GET_OP_CLASSES
#include "ir/placement_ops.cc.inc"

namespace sinter::ir {

void AddPlacementOps(SinterDialect* dialect) {
  dialect->addFamily<
#define GET_OP_LIST
#include "ir/placement_ops.cc.inc"
      >();
}

mlir::LogicalResult CopyOp::verify() {
  if (static_cast<bool>(getLike()) != static_cast<bool>(getDeviceAttr())) return mlir::success();
  return emitOpError() << "has "
                       << (getLike() ? "both a device and a value to be like" : "no device to copy to")
                       << "; expected either `to` a device or `like` a value";
}

// A value that is already on the device, and a constant, need no copy.
mlir::OpFoldResult CopyOp::fold(FoldAdaptor adaptor) {
  if (adaptor.getX()) return adaptor.getX();
  if (getX() == getLike()) return getX();
  DeviceAttr to = DeviceOf(getResult());
  return to && to == DeviceOf(getX()) ? getX() : mlir::OpFoldResult();
}

llvm::SmallVector<Expr> CopyOp::buildGradient(GraphBuilder& b, llvm::ArrayRef<Expr> output_gradients) {
  // The device of x may not be decided yet.
  DeviceAttr device = DeviceOf(getX());
  mlir::Value back = b.builder().create<CopyOp>(b.loc(), getType(), output_gradients[0].value,
                                                device ? mlir::Value() : getX(), device, CopyCause::gradient);
  llvm::SmallVector<Expr> gradients(getOperation()->getNumOperands());
  gradients[0] = b.wrap(back);
  return gradients;
}

llvm::SmallVector<Expr> CloneOp::buildGradient(GraphBuilder& b, llvm::ArrayRef<Expr> output_gradients) {
  return {output_gradients[0]};
}

// A copy reads nothing of the value that it is like.
FactorRule CopyOp::getFactorRule() {
  FactorRule rule = SameFactors(*this, [](int64_t) { return true; });
  if (getLike()) rule.operands[1].assign(TypeOf(getLike()).getRank(), {});
  rule.linear_in = {{0}};
  return rule;
}

FactorRule CloneOp::getFactorRule() {
  FactorRule rule = SameFactors(*this, [](int64_t) { return true; });
  rule.linear_in = {{0}};
  return rule;
}

}  // namespace sinter::ir
