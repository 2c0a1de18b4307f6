#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/place/placement_solver.h"

namespace sinter {

#define GEN_PASS_DEF_VERIFYPLACEMENT
#include "passes/passes.h.inc"

namespace {

using ir::DeviceAttr;
using mlir::Operation;

mlir::LogicalResult VerifyOp(Operation* op) {
  const DeviceAttr device = ir::DeviceOf(op);
  if (!device && ir::FollowsUsers(op)) return mlir::success();
  if (!device) {
    return op->emitOpError(
        "has no device, while its operands have one: the pass that made it dropped the device of the op that "
        "it "
        "replaced; build the op by ir::PlacedBuilder");
  }
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    const DeviceAttr from = ir::DeviceOf(operand);
    if (!from || from == device) continue;
    return op->emitOpError() << "runs on " << device.text() << ", and its operand " << i << " is on "
                             << from.text() << ": only copies and collectives take a value to another device";
  }
  return mlir::success();
}

class VerifyPlacementPass : public impl::VerifyPlacementBase<VerifyPlacementPass> {
 public:
  using VerifyPlacementBase::VerifyPlacementBase;

  void runOnOperation() override {
    if (!MentionsDevices(getOperation())) return;
    for (auto function : getOperation().getOps<mlir::func::FuncOp>()) {
      if (!IsPlaced(function)) continue;
      for (Operation& op : function.getBody().front().without_terminator()) {
        // A copy takes its operand elsewhere; gradients are where the values are that they are for.
        if (llvm::isa<ir::CopyOp, ir::GradientsOp>(op)) continue;
        if (mlir::failed(VerifyOp(&op))) signalPassFailure();
      }
    }
  }
};

}  // namespace
}  // namespace sinter
