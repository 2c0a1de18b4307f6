#include "sinter/ir/dialect/placed_builder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter::ir {

bool FollowsUsers(mlir::Operation* op) {
  return mlir::isPure(op) && op->getNumRegions() == 0 &&
         llvm::all_of(op->getOperands(),
                      [](mlir::Value operand) { return operand.getDefiningOp() && !DeviceOf(operand); });
}

void PlaceNewOp(mlir::Operation* op, DeviceAttr device, ConstantPlaces constants) {
  if (!device || !llvm::isa_and_nonnull<mlir::func::FuncOp>(op->getParentOp())) return;
  if (llvm::isa<CopyOp, GradientsOp>(op) || op->hasTrait<mlir::OpTrait::IsTerminator>() || DeviceOf(op))
    return;
  if (constants == ConstantPlaces::kFollowUsers && FollowsUsers(op)) return;
  SetDevice(op, device);
}

}  // namespace sinter::ir
