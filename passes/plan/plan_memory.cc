#include "sinter/ir/target/target_model.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/plan/live_ranges.h"

namespace sinter {

#define GEN_PASS_DEF_PLANMEMORY
#include "passes/passes.h.inc"

namespace {

// Reports the device's peak: the step with the most live bytes, and the values that hold them.
void Report(plan_ir::FunctionOp function, const LiveRanges& plan, ir::DeviceAttr device) {
  LiveRanges::Peak peak = plan.peakOf(device);
  if (peak.step < 0) return;
  auto remark = mlir::emitRemark(plan.steps()[peak.step]->getLoc())
                << "memory" << (function.getDevices() ? " of " + device.text() : "")
                << " is at its peak here: " << peak.bytes << " bytes alive in an arena of "
                << function.arenaBytesOf(device).value_or(0)
                << (plan.runsSideBySide(device) ? ", where sharing memory orders no steps" : "");
  for (const LiveRanges::Block* block : peak.alive) NoteHolder(remark, *block);
}

// Returns the largest arena of a device that favours steps that run in parallel over the smallest arena: such
// an arena stays in the device's cache. With larger arenas a kernel fills a GPU alone, and reusing memory
// that is still in the cache is faster. -1 if the device runs no steps in parallel.
int64_t MostSideBySide(ir::DeviceAttr device, int64_t bytes) {
  const ir::TargetModel& target = ir::TargetModel::Of(device);
  return target.runs_steps_side_by_side ? std::min(bytes, target.cached_bytes) : -1;
}

// Returns the GPUs of the function whose arenas fit in `bytes` even if shared memory adds nothing to the
// order of their steps.
llvm::SmallVector<ir::DeviceAttr> SideBySide(plan_ir::FunctionOp function, bool in_place, int64_t bytes) {
  llvm::SmallVector<ir::DeviceAttr> devices = function.deviceList(), gpus;
  // A lower bound, which is faster to compute.
  llvm::SmallVector<int64_t> least = LiveRanges(function, in_place).place(/*reuse=*/true);
  for (auto [device, arena] : llvm::zip_equal(devices, least)) {
    if (arena <= MostSideBySide(device, bytes)) gpus.push_back(device);
  }
  if (gpus.empty()) return gpus;
  llvm::SmallVector<int64_t> arenas = LiveRanges(function, in_place, gpus).place(/*reuse=*/true);
  llvm::erase_if(gpus, [&](ir::DeviceAttr gpu) {
    return arenas[llvm::find(devices, gpu) - devices.begin()] > MostSideBySide(gpu, bytes);
  });
  return gpus;
}

class PlanMemoryPass : public impl::PlanMemoryBase<PlanMemoryPass> {
 public:
  using PlanMemoryBase::PlanMemoryBase;
  void runOnOperation() override {
    if (getOperation().isLaidOutFragment()) return;
    llvm::SmallVector<ir::DeviceAttr> side_by_side;
    if (reuse && side_by_side_bytes > 0)
      side_by_side = SideBySide(getOperation(), in_place, side_by_side_bytes);
    LiveRanges plan(getOperation(), in_place, side_by_side);
    plan.place(reuse);
    plan.apply();
    if (!report) return;
    for (ir::DeviceAttr device : getOperation().deviceList()) Report(getOperation(), plan, device);
  }
};

}  // namespace
}  // namespace sinter
