#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/shape_checks.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_FUSESCATTERADD
#include "passes/passes.h.inc"

namespace {

void ScatterOntoSummand(ir::ScatterAddOp op) {
  auto zeros = op.getX().getDefiningOp<ir::ConstantOp>();
  if (!zeros || !ir::IsSplatOf(zeros.getValue(), 0) || !op->hasOneUse()) return;
  auto add = llvm::dyn_cast<ir::AddOp>(*op->user_begin());
  if (!add) return;
  mlir::Value other = add.getX() == op.getResult() ? add.getY() : add.getX();
  mlir::OpBuilder builder(add);
  auto fused = llvm::cast<ir::ScatterAddOp>(builder.clone(*op.getOperation()));
  fused.getXMutable().assign(other);
  // The sum has a device also where all that is scattered is constant and has none.
  ir::SetDevice(fused, ir::DeviceOf(add.getOperation()));
  // The location names the user's lines of both ops.
  fused->setLoc(mlir::FusedLoc::get(op.getContext(), {op.getLoc(), add.getLoc()}));
  add.replaceAllUsesWith(fused.getResult());
  add.erase();
  op.erase();
}

class FuseScatterAddPass : public impl::FuseScatterAddBase<FuseScatterAddPass> {
 public:
  using FuseScatterAddBase::FuseScatterAddBase;

  void runOnOperation() override {
    llvm::SmallVector<ir::ScatterAddOp> ops;
    getOperation().walk([&](ir::ScatterAddOp op) { ops.push_back(op); });
    for (ir::ScatterAddOp op : ops) ScatterOntoSummand(op);
  }
};

}  // namespace
}  // namespace sinter
