#include "sinter/ir/ops.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_DECOMPOSE
#include "passes/passes.h.inc"

namespace {

class DecomposePass : public impl::DecomposeBase<DecomposePass> {
 public:
  using DecomposeBase::DecomposeBase;

  // A definition may use composites itself: rounds go on until there is none.
  void runOnOperation() override {
    for (;;) {
      llvm::SmallVector<ir::CompositeInterface> composites;
      getOperation().walk([&](ir::CompositeInterface op) { composites.push_back(op); });
      if (composites.empty()) return;
      for (ir::CompositeInterface op : composites) {
        mlir::OpBuilder at(op);
        ir::GraphBuilder b(at, op->getLoc());
        op->replaceAllUsesWith(op.decompose(b));
        op->erase();
      }
    }
  }
};

}  // namespace
}  // namespace sinter
