#include "llvm/ADT/DenseMap.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/place_blocks.h"
#include "sinter/passes/plan_steps.h"

namespace sinter {

#define GEN_PASS_DEF_PLANMEMORY
#include "passes/passes.h.inc"

namespace {

using mlir::Operation;
using mlir::Value;

// Buffers of the arena that are one piece of memory, because calls update them in place one after the other.
struct Block {
  llvm::SmallVector<Value> allocs;  // Empty for the workspace of `call`.
  plan_ir::CallOp call;
  ir::DeviceAttr device;  // In whose arena it is.
  MemoryBlock memory;
  bool shared_away = false;  // Merged into another block.
};

class MemoryPlan {
 public:
  MemoryPlan(plan_ir::FunctionOp function, bool in_place) : function_(function), steps_(StepsOf(function)) {
    collectBlocks();
    if (in_place) shareInPlace();
    for (auto [s, step] : llvm::enumerate(steps_)) {
      auto call = llvm::dyn_cast<plan_ir::CallOp>(step);
      int64_t when = s;
      if (call && call.getWorkspaceBytes() > 0) {
        int64_t bytes = call.getWorkspaceBytes();
        blocks_.push_back({{}, call, ir::DeviceOf(call), {bytes, when, when, 0}, false});
      }
    }
    llvm::erase_if(blocks_, [](const Block& block) { return block.shared_away; });
  }

  void place(bool reuse) {
    llvm::SmallVector<int64_t> arenas;
    for (ir::DeviceAttr device : function_.deviceList()) {
      llvm::SmallVector<MemoryBlock*> memory;
      for (Block& block : blocks_) {
        if (block.device == device) memory.push_back(&block.memory);
      }
      arenas.push_back(reuse ? PlaceBlocks(memory) : PlaceBlocksApart(memory));
    }
    mlir::Builder builder(function_.getContext());
    for (Block& block : blocks_) {
      auto offset = builder.getI64IntegerAttr(block.memory.offset);
      for (Value alloc : block.allocs) alloc.getDefiningOp<plan_ir::AllocOp>().setOffsetAttr(offset);
      if (block.call) block.call.setWorkspaceOffsetAttr(offset);
    }
    function_.setArenaBytesAttr(builder.getI64IntegerAttr(arenas[0]));
    llvm::ArrayRef<int64_t> more = llvm::ArrayRef(arenas).drop_front();
    function_.setMoreArenaBytesAttr(more.empty() ? nullptr : builder.getDenseI64ArrayAttr(more));
  }

  void report() {
    for (ir::DeviceAttr device : function_.deviceList()) report(device);
  }

 private:
  void report(ir::DeviceAttr device);
  void collectBlocks();
  void shareInPlace();
  void share(plan_ir::CallOp call, int64_t step, int64_t in, int64_t out);

  plan_ir::FunctionOp function_;
  llvm::SmallVector<Operation*> steps_;
  llvm::SmallVector<Block> blocks_;
  llvm::DenseMap<Value, unsigned> block_of_;  // Of allocs.
};

void MemoryPlan::collectBlocks() {
  int64_t never = steps_.size();
  for (auto alloc : function_.getBody().getOps<plan_ir::AllocOp>()) {
    Value value = alloc.getBuffer();
    block_of_[value] = blocks_.size();
    blocks_.push_back({{value}, nullptr, ir::DeviceOf(value), {BytesOf(value), never, -1, 0}, false});
  }
  for (auto [s, step] : llvm::enumerate(steps_)) {
    for (Value buffer : step->getOperands()) {
      auto it = block_of_.find(Resolve(buffer).root);
      if (it == block_of_.end()) continue;
      MemoryBlock& memory = blocks_[it->second].memory;
      memory.first = std::min<int64_t>(memory.first, s);
      memory.last = std::max<int64_t>(memory.last, s);
    }
  }
  for (Block& block : blocks_) {
    // What is handed out stays until the next run.
    if (IsHandedOut(block.allocs[0])) block.memory.last = never;
    if (block.memory.last < 0) block.memory = {block.memory.bytes, 0, 0, 0};
  }
}

void MemoryPlan::shareInPlace() {
  for (auto [s, step] : llvm::enumerate(steps_)) {
    auto call = llvm::dyn_cast<plan_ir::CallOp>(step);
    if (!call || !call.getInPlace()) continue;
    llvm::ArrayRef<int64_t> pairs = *call.getInPlace();
    for (size_t i = 0; i + 1 < pairs.size(); i += 2) share(call, s, pairs[i], pairs[i + 1]);
  }
}

// Lets the call's output take over the memory of an input that nobody reads any more.
void MemoryPlan::share(plan_ir::CallOp call, int64_t step, int64_t in, int64_t out) {
  BufferPlace input = Resolve(call.getIns()[in]), output = Resolve(call.getOuts()[out]);
  auto from = block_of_.find(input.root), to = block_of_.find(output.root);
  if (from == block_of_.end() || to == block_of_.end() || from->second == to->second) return;
  Block& old_block = blocks_[from->second];
  Block& new_block = blocks_[to->second];
  if (old_block.memory.last != step || new_block.memory.first != step) return;
  if (input.offset != 0 || output.offset != 0 || new_block.memory.bytes > old_block.memory.bytes) return;
  for (auto [k, other] : llvm::enumerate(call.getIns())) {
    auto it = block_of_.find(Resolve(other).root);
    if (static_cast<int64_t>(k) != in && it != block_of_.end() && it->second == from->second) return;
  }
  unsigned kept = from->second;
  for (Value alloc : new_block.allocs) {
    block_of_[alloc] = kept;
    old_block.allocs.push_back(alloc);
  }
  old_block.memory.last = new_block.memory.last;
  new_block.shared_away = true;
}

// The step with most bytes of the device alive, and who holds them.
void MemoryPlan::report(ir::DeviceAttr device) {
  int64_t peak = -1, when = 0;
  for (int64_t s = 0; s < static_cast<int64_t>(steps_.size()); ++s) {
    int64_t bytes = 0;
    for (Block& block : blocks_) {
      bool alive = block.memory.first <= s && s <= block.memory.last;
      if (block.device == device && alive) bytes += block.memory.bytes;
    }
    if (bytes > peak) peak = bytes, when = s;
  }
  if (peak < 0) return;
  auto remark = mlir::emitRemark(steps_[when]->getLoc())
                << "memory" << (function_.getDevices() ? " of " + device.text() : "")
                << " is at its peak here: " << peak << " bytes alive in an arena of "
                << function_.arenaBytesOf(device).value_or(0);
  for (Block& block : blocks_) {
    if (when < block.memory.first || block.memory.last < when || block.memory.bytes == 0) continue;
    if (block.device != device) continue;
    if (block.call) {
      remark.attachNote(block.call->getLoc())
          << block.memory.bytes << " bytes of workspace of " << block.call.getName();
      continue;
    }
    Value alloc = block.allocs.back();
    remark.attachNote(alloc.getLoc())
        << block.memory.bytes << " bytes: " << llvm::cast<plan_ir::BufferType>(alloc.getType()).getTensor();
  }
}

class PlanMemoryPass : public impl::PlanMemoryBase<PlanMemoryPass> {
 public:
  using PlanMemoryBase::PlanMemoryBase;
  void runOnOperation() override {
    MemoryPlan plan(getOperation(), in_place);
    plan.place(reuse);
    if (report) plan.report();
  }
};

}  // namespace
}  // namespace sinter
