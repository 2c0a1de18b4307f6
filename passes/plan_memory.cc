#include "sinter/passes/memory_plan.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_PLANMEMORY
#include "passes/passes.h.inc"

namespace {

// The step with most bytes of the device alive, and who holds them.
void Report(plan_ir::FunctionOp function, const MemoryPlan& plan, ir::DeviceAttr device) {
  MemoryPlan::Peak peak = plan.peakOf(device);
  if (peak.step < 0) return;
  auto remark = mlir::emitRemark(plan.steps()[peak.step]->getLoc())
                << "memory" << (function.getDevices() ? " of " + device.text() : "")
                << " is at its peak here: " << peak.bytes << " bytes alive in an arena of "
                << function.arenaBytesOf(device).value_or(0);
  for (const MemoryPlan::Block* block : peak.alive) NoteHolder(remark, *block);
}

class PlanMemoryPass : public impl::PlanMemoryBase<PlanMemoryPass> {
 public:
  using PlanMemoryBase::PlanMemoryBase;
  void runOnOperation() override {
    MemoryPlan plan(getOperation(), in_place);
    plan.place(reuse);
    plan.apply();
    if (!report) return;
    for (ir::DeviceAttr device : getOperation().deviceList()) Report(getOperation(), plan, device);
  }
};

}  // namespace
}  // namespace sinter
