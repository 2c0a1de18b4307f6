#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_DROPUNREADSTATS
#include "passes/passes.h.inc"

namespace {

class DropUnreadStatsPass : public impl::DropUnreadStatsBase<DropUnreadStatsPass> {
 public:
  using DropUnreadStatsBase::DropUnreadStatsBase;

  void runOnOperation() override {
    llvm::SmallVector<ir::AttentionOp> ops;
    getOperation().walk([&](ir::AttentionOp op) {
      if (op.getStats() && op.getStats().use_empty()) ops.push_back(op);
    });
    for (ir::AttentionOp op : ops) {
      ir::PlacedBuilder at(op);
      auto lean = at.create<ir::AttentionOp>(op.getLoc(), op.getResult().getType(), mlir::Type(),
                                             op.getInputs(), op.getBias(), op.getScale(), op.getCausal(),
                                             op.getWindow(), op.getMath());
      op.getResult().replaceAllUsesWith(lean.getResult());
      op.erase();
    }
  }
};

}  // namespace
}  // namespace sinter
