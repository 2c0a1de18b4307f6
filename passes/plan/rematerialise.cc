#include "llvm/ADT/SetVector.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/plan/live_ranges.h"
#include "sinter/passes/plan/rematerialisation.h"

namespace sinter {

#define GEN_PASS_DEF_REMATERIALISE
#include "passes/passes.h.inc"

namespace {

using mlir::Operation;
using mlir::Value;

// Most values that are named if a peak cannot be lowered.
constexpr size_t kHoldersNamed = 5;

// Bytes of each device that a session takes for any function.
int64_t FixedBytes(mlir::ModuleOp module, ir::DeviceAttr device) {
  int64_t bytes = 0, most_inputs = 0;
  for (auto variable : module.getOps<ir::VariableOp>()) {
    ir::DeviceAttr at = ir::DeviceOf(variable.getOperation());
    bool here = at ? at == device : device == ir::DeviceAttr::cpu(module.getContext());
    if (here) bytes += plan_ir::TensorBytes(llvm::cast<mlir::RankedTensorType>(variable.getType()));
  }
  if (!ir::TargetModel::Of(device).has_own_memory) return bytes;
  llvm::SetVector<mlir::Attribute> constants;
  for (auto function : module.getOps<plan_ir::FunctionOp>()) {
    int64_t inputs = 0;
    for (auto input : function.getBody().getOps<plan_ir::InputOp>()) {
      if (ir::DeviceOf(input.getBuffer()) == device) inputs += BytesOf(input.getBuffer());
    }
    most_inputs = std::max(most_inputs, inputs);
    for (auto constant : function.getBody().getOps<plan_ir::ConstantOp>()) {
      if (ir::DeviceOf(constant.getBuffer()) != device || !constants.insert(constant.getValueAttr()))
        continue;
      bytes += BytesOf(constant.getBuffer());
    }
  }
  return bytes + most_inputs;
}

class FunctionBudget {
 public:
  FunctionBudget(plan_ir::FunctionOp function, ir::DeviceAttr device, int64_t limit, int64_t fixed,
                 bool in_place)
      : function_(function), device_(device), limit_(limit), fixed_(fixed), in_place_(in_place) {}

  mlir::LogicalResult run(bool report) {
    for (;;) {
      LiveRanges plan(function_, in_place_);
      int64_t excess = fixed_ + arenaOf(plan) - limit_;
      if (excess <= 0) return mlir::success();
      StepUses uses(function_);
      LiveRanges::Peak peak = plan.peakOf(device_);
      std::optional<Rematerialisation> best = cheapest(uses, peak, excess);
      if (!best) return fail(peak, arenaOf(plan));
      if (report) say(*best, plan.steps()[best->before]);
      uses.insert(*best);
    }
  }

 private:
  int64_t arenaOf(LiveRanges& plan) {
    llvm::SmallVector<int64_t> arenas = plan.place(/*reuse=*/true);
    return arenas[llvm::find(devices_, device_) - devices_.begin()];
  }

  // Returns the candidate with the least traffic among those that suffice alone; if none does, the one with
  // the most saved bytes per byte of traffic.
  static std::optional<Rematerialisation> cheapest(const StepUses& uses, const LiveRanges::Peak& peak,
                                                   int64_t excess) {
    std::optional<Rematerialisation> best;
    auto is_better = [&](const Rematerialisation& a, const Rematerialisation& b) {
      bool a_fits = a.saved_bytes >= excess, b_fits = b.saved_bytes >= excess;
      if (a_fits != b_fits) return a_fits;
      if (a_fits) return a.moved_bytes < b.moved_bytes;
      // In floating point, because products of bytes overflow.
      double of_a = static_cast<double>(a.saved_bytes) * static_cast<double>(b.moved_bytes);
      double of_b = static_cast<double>(b.saved_bytes) * static_cast<double>(a.moved_bytes);
      return of_a != of_b ? of_a > of_b : a.saved_bytes > b.saved_bytes;
    };
    for (const LiveRanges::Block* block : peak.alive) {
      for (Value alloc : block->allocs) {
        std::optional<Rematerialisation> again = uses.findRematerialisation(alloc, peak.step);
        if (!again) continue;
        if (!best || is_better(*again, *best)) best = again;
      }
    }
    return best;
  }

  void say(const Rematerialisation& again, Operation* reader) {
    auto remark = mlir::emitRemark(again.alloc.getLoc())
                  << "computes " << llvm::cast<plan_ir::BufferType>(again.alloc.getType()).getTensor()
                  << " again, " << again.saved_bytes << " bytes that are not kept, by moving "
                  << again.moved_bytes;
    remark.attachNote(reader->getLoc()) << "for this reader";
  }

  mlir::LogicalResult fail(LiveRanges::Peak& peak, int64_t arena) {
    mlir::Operation* module = function_->getParentOp();
    module->setAttr(kLeastBytesAttr, mlir::Builder(module->getContext()).getI64IntegerAttr(fixed_ + arena));
    auto error =
        mlir::emitError(function_.getLoc())
        << "function @" << function_.getSymName() << " needs at least " << fixed_ + arena << " bytes on "
        << device_.text() << ", " << fixed_
        << " of them for variables, constants and inputs, and the memory limit is " << limit_
        << ": raise CompileOptions::memory_limit or make the batch smaller; at its peak are alive, the "
        << "largest first";
    llvm::stable_sort(peak.alive, [](const LiveRanges::Block* a, const LiveRanges::Block* b) {
      return a->memory.bytes > b->memory.bytes;
    });
    if (peak.alive.size() > kHoldersNamed) peak.alive.resize(kHoldersNamed);
    for (const LiveRanges::Block* block : peak.alive) NoteHolder(error, *block);
    return error;
  }

  plan_ir::FunctionOp function_;
  ir::DeviceAttr device_;
  llvm::SmallVector<ir::DeviceAttr> devices_ = function_.deviceList();
  int64_t limit_, fixed_;
  bool in_place_;
};

class RematerialisePass : public impl::RematerialiseBase<RematerialisePass> {
 public:
  using RematerialiseBase::RematerialiseBase;
  void runOnOperation() override {
    mlir::ModuleOp module = getOperation();
    for (auto function : module.getOps<plan_ir::FunctionOp>()) {
      if (function.getFragment()) continue;
      for (ir::DeviceAttr device : function.deviceList()) {
        int64_t fixed = FixedBytes(module, device);
        if (mlir::failed(FunctionBudget(function, device, limit, fixed, in_place).run(report))) {
          return signalPassFailure();
        }
      }
    }
  }
};

}  // namespace
}  // namespace sinter
