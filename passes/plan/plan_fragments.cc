#include "mlir/Pass/PassManager.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/passes/passes.h"
#include "sinter/runtime/plan/loop_workspace.h"

namespace sinter {

#define GEN_PASS_DEF_PLANFRAGMENTS
#include "passes/passes.h.inc"

namespace {

class PlanFragmentsPass : public impl::PlanFragmentsBase<PlanFragmentsPass> {
 public:
  using PlanFragmentsBase::PlanFragmentsBase;

  void runOnOperation() override {
    mlir::OpPassManager passes(plan_ir::FunctionOp::getOperationName());
    passes.addPass(createOrderCalls());
    passes.addPass(createUpdateInPlace({.enable = in_place, .report = report}));
    passes.addPass(createPlanMemory({.reuse = reuse, .in_place = in_place, .report = report}));
    llvm::DenseMap<mlir::Attribute, llvm::SmallVector<plan_ir::CallOp>> loops;  // By the fragment's name.
    getOperation().walk([&](plan_ir::CallOp call) {
      if (auto loop = llvm::dyn_cast_or_null<ir::LoopOp>(call.libraryOp()))
        loops[loop.getBodyAttr().getAttr()].push_back(call);
    });
    for (auto function : getOperation().getOps<plan_ir::FunctionOp>()) {
      if (!function.getFragment()) continue;
      if (mlir::failed(runPipeline(passes, function))) return signalPassFailure();
      for (plan_ir::CallOp call : loops[function.getSymNameAttr()]) {
        const bool has_guard = llvm::cast<ir::LoopOp>(call.libraryOp()).getGuarded();
        call.setWorkspaceBytes(
            LoopWorkspaceBytes(function.arenaBytesOf(ir::DeviceOf(call)).value_or(0), has_guard));
      }
    }
  }
};

}  // namespace
}  // namespace sinter
