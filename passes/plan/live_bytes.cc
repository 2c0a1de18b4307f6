#include "sinter/passes/plan/live_bytes.h"

#include "llvm/ADT/SetVector.h"
#include "sinter/passes/plan/plan_steps.h"

namespace sinter {

using mlir::Operation;
using mlir::Value;

namespace {

bool BecomesVariable(Value root) {
  return llvm::any_of(root.getUsers(), [&](Operation* user) {
    auto copy = llvm::dyn_cast<plan_ir::CopyOp>(user);
    return copy && copy.getSource() == root && copy.getTarget().getDefiningOp<plan_ir::VariableOp>();
  });
}

Held HeldAt(Value root) {
  const bool handed_out = IsHandedOut(root);
  return {root, ir::DeviceOf(root), !handed_out && BecomesVariable(root) ? 0 : BytesOf(root), handed_out};
}

}  // namespace

ArenaUses::ArenaUses(llvm::ArrayRef<Operation*> steps) {
  llvm::DenseMap<Value, Held> known;
  for (Operation* step : steps) {
    llvm::SetVector<Value> roots;
    for (Value buffer : step->getOperands()) roots.insert(Resolve(buffer).root);
    llvm::SmallVector<Held>& held = held_[step];
    for (Value root : roots) {
      if (!root.getDefiningOp<plan_ir::AllocOp>()) continue;
      auto [found, is_new] = known.try_emplace(root);
      if (is_new) found->second = HeldAt(root);
      held.push_back(found->second);
    }
    for (Value out : WritesOf(step)) ++writers_[Resolve(out).root];
  }
}

LiveBytes::LiveBytes(llvm::ArrayRef<Operation*> steps, const ArenaUses& arena) : arena_(arena) {
  for (Operation* step : steps) {
    for (const Held& held : arena.of(step)) ++uses_[held.root];
  }
}

std::pair<int64_t, int64_t> LiveBytes::cost(Operation* step) const {
  int64_t added = 0, freed = 0;
  if (auto call = llvm::dyn_cast<plan_ir::CallOp>(step)) added = freed = call.getWorkspaceBytes();
  for (const Held& held : arena_.of(step)) {
    if (!live_.contains(held.root)) added += held.bytes;
    if (uses_.lookup(held.root) == 1 && !held.handed_out) freed += held.bytes;
  }
  return {added, added - freed};
}

llvm::SmallVector<Value> LiveBytes::take(Operation* step) {
  llvm::ArrayRef<Held> held = arena_.of(step);
  auto call = llvm::dyn_cast<plan_ir::CallOp>(step);
  const int64_t workspace = call ? call.getWorkspaceBytes() : 0;
  llvm::SmallVector<bool> begins;
  arenas_[ir::DeviceOf(step)].now += workspace;
  for (const Held& memory : held) {
    begins.push_back(live_.insert(memory.root).second);
    if (begins.back()) arenas_[memory.device].now += memory.bytes;
  }
  total_ += arenas_[ir::DeviceOf(step)].now;
  for (auto& [device, arena] : arenas_) arena.peak = std::max(arena.peak, arena.now);
  arenas_[ir::DeviceOf(step)].now -= workspace;
  llvm::SmallVector<Value> changed;
  for (auto [memory, is_first] : llvm::zip_equal(held, begins)) {
    const unsigned uses = --uses_[memory.root];
    if (uses == 0 && !memory.handed_out) arenas_[memory.device].now -= memory.bytes;
    if (uses > 0 && (is_first || uses == 1)) changed.push_back(memory.root);
  }
  return changed;
}

int64_t LiveBytes::peak() const {
  int64_t bytes = 0;
  for (auto& [device, arena] : arenas_) bytes += arena.peak;
  return bytes;
}

std::pair<int64_t, int64_t> BytesAlive(llvm::ArrayRef<Operation*> order, const ArenaUses& arena) {
  LiveBytes live(order, arena);
  for (Operation* step : order) live.take(step);
  return {live.peak(), live.total()};
}

}  // namespace sinter
