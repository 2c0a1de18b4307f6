#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/library/attention_shape.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_DECOMPOSE
#include "passes/passes.h.inc"

namespace {

using mlir::Operation;

// Returns why cuDNN cannot compute the attention; empty if it can. Same rules as CudnnAttentionSupported in
// runtime/plan/gpu_limits.h; codegen/steps/lower_attention.cc refuses ops that pass here but break those
// rules.
std::string AgainstWhole(mlir::ValueRange inputs, double scale) {
  ir::AttentionShape s = ir::AttentionShape::Of(inputs);
  if (!s.element.isBF16() && !s.element.isF16()) return "cuDNN computes attention in bf16 and f16 only";
  if (s.width % 8 != 0 || s.width > 128) {
    return "cuDNN takes heads of a width that is a multiple of 8 and at most 128, and this is " +
           std::to_string(s.width);
  }
  if (s.heads != s.key_heads) {
    return "its gradient in cuDNN has as many heads of k as of q, and these are " +
           std::to_string(s.key_heads) + " and " + std::to_string(s.heads);
  }
  if (!(scale > 0)) return "cuDNN takes a scale above 0, and this is " + std::to_string(scale);
  if (std::min(s.queries, s.keys) < 2) return "cuDNN takes two positions and more";
  return s.batch == 0 ? "the batch is empty" : "";
}

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
  bool staysWhole(Operation* op, ir::DeviceAttr unplaced) {
    if (!llvm::isa<ir::AttentionOp, ir::AttentionGradOp>(op)) return false;
    ir::DeviceAttr place = ir::DeviceOf(op);
    if (!place) place = unplaced;
    if (place.getKind() != ir::DeviceKind::gpu) return false;
    auto forward = llvm::dyn_cast<ir::AttentionOp>(op);
    auto backward = llvm::dyn_cast<ir::AttentionGradOp>(op);
    std::string reason = forward ? AgainstWhole(forward.getInputs(), forward.getScale().convertToDouble())
                                 : AgainstWhole(backward.getInputs(), backward.getScale().convertToDouble());
    if (reason.empty()) return true;
    if (report) {
      op->emitRemark() << "'" << op->getName() << "' is decomposed, its scores in memory: " << reason;
    }
    return false;
  }
};

}  // namespace
}  // namespace sinter
