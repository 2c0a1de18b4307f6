#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/shape_checks.h"

// Generated; the enums come first.
// clang-format off
#include "ir/logic_enums.cc.inc"
#define GET_OP_CLASSES
#include "ir/logic_ops.cc.inc"
// clang-format on

namespace sinter::ir {

void AddLogicOps(SinterDialect* dialect) {
  dialect->addFamily<
#define GET_OP_LIST
#include "ir/logic_ops.cc.inc"
      >();
}

mlir::OpFoldResult SelectOp::fold(FoldAdaptor adaptor) {
  if (getOnTrue() == getOnFalse()) return getOnTrue();
  if (IsSplatOf(adaptor.getCondition(), 0)) return getOnFalse();
  if (IsSplatOf(adaptor.getCondition(), 1)) return getOnTrue();
  return {};
}

mlir::OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getX().getType() == getType()) return getX();
  return {};
}

mlir::LogicalResult ClampOp::verify() {
  double low = getLow().convertToDouble(), high = getHigh().convertToDouble();
  if (low <= high) return mlir::success();
  return emitOpError() << "has low " << low << " and high " << high
                       << ": low must not be above high, neither a NaN";
}

bool IsWideningCast(mlir::Type from, mlir::Type to) {
  from = mlir::getElementTypeOrSelf(from), to = mlir::getElementTypeOrSelf(to);
  return llvm::isa<mlir::FloatType>(from) && llvm::isa<mlir::FloatType>(to) &&
         from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth();
}

}  // namespace sinter::ir
