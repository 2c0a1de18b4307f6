#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/shape_checks.h"

#define GET_OP_CLASSES
#include "ir/arithmetic_ops.cc.inc"

namespace sinter::ir {

void AddArithmeticOps(SinterDialect* dialect) {
  dialect->addFamily<
#define GET_OP_LIST
#include "ir/arithmetic_ops.cc.inc"
      >();
}

// Folds keep NaN and infinity: x * 0, x - x and x / x are not folded. Adding zero may lose the sign of a
// zero.
mlir::OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  if (IsSplatOf(adaptor.getY(), 0)) return getX();
  if (IsSplatOf(adaptor.getX(), 0)) return getY();
  return {};
}

mlir::OpFoldResult SubOp::fold(FoldAdaptor adaptor) {
  if (IsSplatOf(adaptor.getY(), 0)) return getX();
  return {};
}

mlir::OpFoldResult MulOp::fold(FoldAdaptor adaptor) {
  if (IsSplatOf(adaptor.getY(), 1)) return getX();
  if (IsSplatOf(adaptor.getX(), 1)) return getY();
  return {};
}

mlir::OpFoldResult DivOp::fold(FoldAdaptor adaptor) {
  if (IsSplatOf(adaptor.getY(), 1)) return getX();
  return {};
}

mlir::OpFoldResult NegOp::fold(FoldAdaptor) {
  if (auto inner = getX().getDefiningOp<NegOp>()) return inner.getX();
  return {};
}

}  // namespace sinter::ir
