#include "sinter/ir/dialect/ops.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/rewrite/reverse_mode.h"

namespace sinter {

#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/passes.h.inc"

namespace {

using mlir::Value;

// Replaces one sinter.gradients by ops that compute the gradients, from the ops between its values and its
// loss.
mlir::LogicalResult Replace(ir::GradientsOp gradients) {
  ReverseMode reverse(gradients, gradients.getXs(), gradients.getLoc());
  mlir::OpBuilder builder(gradients);
  ir::GraphBuilder b(builder, ReverseMode::LocOf(gradients));
  if (mlir::failed(reverse.run({{gradients.getLoss(), nullptr}}))) return mlir::failure();
  for (auto [x, gradient] : llvm::zip_equal(gradients.getXs(), gradients.getGradients())) {
    Value sum = reverse.gradientOf(x);
    gradient.replaceAllUsesWith(sum ? sum : b.zeros(b.wrap(x)).value);
  }
  gradients.erase();
  return mlir::success();
}

class DifferentiatePass : public impl::DifferentiateBase<DifferentiatePass> {
 public:
  using DifferentiateBase::DifferentiateBase;

  // In program order, so that a gradient of a gradient sees the inner one expanded.
  void runOnOperation() override {
    llvm::SmallVector<ir::GradientsOp> all;
    getOperation().walk([&](ir::GradientsOp op) { all.push_back(op); });
    for (ir::GradientsOp op : all) {
      if (mlir::failed(Replace(op))) return signalPassFailure();
    }
    // Kernels need no gradient any more. Private functions keep theirs: other gradients are built from them
    // until unused.
    if (getOperation().isPrivate()) return;
    getOperation().walk([](ir::ElementwiseKernelOp kernel) { kernel.removeGradientAttr(); });
  }
};

}  // namespace
}  // namespace sinter
