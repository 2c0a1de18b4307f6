#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/library/attention_shape.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_DECOMPOSE
#include "passes/passes.h.inc"

namespace {

using mlir::Operation;

class DecomposePass : public impl::DecomposeBase<DecomposePass> {
 public:
  using DecomposeBase::DecomposeBase;

  // Decompositions may use composites themselves, so this repeats until none is left.
  void runOnOperation() override {
    ir::DeviceAttr unplaced = ir::DeviceAttr::parse(&getContext(), device.getValue());
    if (!unplaced) {
      getOperation().emitError() << "\"" << device.getValue()
                                 << "\" is no device; expected one such as gpu:0";
      return signalPassFailure();
    }
    for (;;) {
      llvm::SmallVector<ir::CompositeInterface> composites;
      getOperation().walk([&](ir::CompositeInterface op) {
        if (!staysWhole(op, unplaced)) composites.push_back(op);
      });
      if (composites.empty()) break;
      for (ir::CompositeInterface op : composites) {
        ir::PlacedBuilder at(op);
        ir::GraphBuilder b(at, op->getLoc());
        op->replaceAllUsesWith(op.decompose(b));
        op->erase();
      }
    }
  }

 private:
  // Returns why the target's library cannot compute the attention; empty if it can.
  std::string againstWhole(const ir::TargetModel& target, mlir::ValueRange inputs, double scale) {
    const ir::AttentionShape shape = ir::AttentionShape::Of(inputs);
    std::string reason = target.libraries->againstAttention(shape, scale);
    if (!reason.empty()) return reason;
    if (shape.width > widestHead) {
      return "its heads have a width of " + std::to_string(shape.width) +
             ", and some GPUs of the plan take at most " + std::to_string(widestHead);
    }
    return shape.batch == 0 ? "the batch is empty" : "";
  }

  bool staysWhole(Operation* op, ir::DeviceAttr unplaced) {
    ir::DeviceAttr place = ir::DeviceOf(op);
    if (!place) place = unplaced;
    const ir::TargetModel& target = ir::TargetModel::Of(place);
    if (auto product = llvm::dyn_cast<ir::QuantizedMatmulOp>(op)) {
      return product.getX().getType().getDimSize(0) <= target.libraries->mostQuantizedRows(product);
    }
    if (!llvm::isa<ir::AttentionOp, ir::AttentionGradOp>(op)) return false;
    if (!target.computes_attention) return false;
    auto forward = llvm::dyn_cast<ir::AttentionOp>(op);
    auto backward = llvm::dyn_cast<ir::AttentionGradOp>(op);
    std::string reason =
        forward ? againstWhole(target, forward.getInputs(), forward.getScale().convertToDouble())
                : againstWhole(target, backward.getInputs(), backward.getScale().convertToDouble());
    if (reason.empty()) return true;
    if (report) {
      op->emitRemark() << "'" << op->getName() << "' is decomposed, its scores in memory: " << reason;
    }
    return false;
  }
};

}  // namespace
}  // namespace sinter
