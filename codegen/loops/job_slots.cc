#include "sinter/codegen/loops/job_slots.h"

#include <map>

#include "sinter/codegen/places/buffer_region.h"

namespace sinter::codegen {

using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

int64_t Elements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

}  // namespace

CallSlots::CallSlots(plan_ir::CallOp call) : call_(call) {
  std::map<decltype(StartOf(BufferRegion())), std::pair<Slot::Kind, int>> first;
  for (auto [j, place] : llvm::enumerate(RegionsOf(call.getOuts())))
    first.try_emplace(StartOf(place), Slot::Kind::kOut, static_cast<int>(j));
  for (auto [i, place] : llvm::enumerate(RegionsOf(call.getIns()))) {
    const std::pair own(Slot::Kind::kIn, static_cast<int>(i));
    const auto& found = first.try_emplace(StartOf(place), own).first->second;
    ins_.push_back(place.bytes == 0 ? own : found);
  }
}

Slot CallSlots::Resolve(const Slot& slot) const {
  if (slot.kind != Slot::Kind::kIn) return slot;
  const auto [kind, index] = ins_[slot.index];
  return {kind, index, 0, slot.type};
}

bool SamePlace(const Slot& a, const Slot& b) {
  return a.kind == b.kind && a.index == b.index && a.offset == b.offset;
}

int FindSlot(ArrayRef<Slot> slots, const Slot& slot) {
  auto found = llvm::find_if(slots, [&](const Slot& s) { return SamePlace(s, slot); });
  return found == slots.end() ? -1 : found - slots.begin();
}

void AddSlot(SmallVector<Slot>& slots, const Slot& slot) {
  if (FindSlot(slots, slot) < 0) slots.push_back(slot);
}

void CollectSlots(const Job& job, SmallVector<Slot>& read, SmallVector<Slot>& written) {
  for (auto& [tensor, slot] : job.reads) AddSlot(read, slot);
  for (const JobReduction& r : job.reductions) {
    for (const Slot& slot : r.partials) AddSlot(job.kind == Job::Kind::kCombine ? read : written, slot);
  }
  for (const JobReduction& r : job.column_reductions) {
    for (const Slot& slot : r.partials) AddSlot(written, slot);
  }
  for (const JobOutput& o : job.full_outputs) AddSlot(written, o.slot);
  for (const JobOutput& o : job.reduced_outputs) AddSlot(written, o.slot);
}

void EraseDead(mlir::Block& block) {
  for (mlir::Operation& op : llvm::make_early_inc_range(llvm::reverse(block))) {
    for (mlir::Region& region : op.getRegions()) {
      for (mlir::Block& inner : region) EraseDead(inner);
    }
    if (mlir::isOpTriviallyDead(&op)) op.erase();
  }
}

double JobFlops(const Job& job) {
  if (job.kind == Job::Kind::kCombine) return Elements(job.parallel_shape()) * job.chunks;
  double cost = 0, reduced_cost = 0;
  for (const JobReduction& r : job.reductions) cost += 1 + r.trace.cost;
  for (const JobReduction& r : job.column_reductions) cost += 1 + r.trace.cost;
  for (const JobOutput& o : job.full_outputs) cost += o.trace.cost;
  for (const JobOutput& o : job.reduced_outputs) reduced_cost += o.trace.cost;
  return cost * Elements(job.domain) + reduced_cost * Elements(job.parallel_shape());
}

}  // namespace sinter::codegen
