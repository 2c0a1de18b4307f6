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

namespace {

// True if the wider type holds every number of the narrower one: f64, f32 and the floats of 16 bits.
bool HoldsAll(mlir::RankedTensorType wider, mlir::RankedTensorType narrower) {
  const auto rank = [](mlir::Type element) {
    if (element.isF64()) return 3;
    if (element.isF32()) return 2;
    return element.isBF16() || element.isF16() ? 1 : 0;
  };
  const int of_narrower = rank(narrower.getElementType());
  return of_narrower > 0 && rank(wider.getElementType()) > of_narrower;
}

}  // namespace

mlir::OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getX().getType() == getType()) return getX();
  // A wider type holds every number of a narrower one, so that casting back gives the number itself.
  auto wider = getX().getDefiningOp<CastOp>();
  if (wider && wider.getX().getType() == getType() && HoldsAll(wider.getType(), getType()))
    return wider.getX();
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
