#include "sinter/codegen/loops/job_slots.h"

#include <map>

#include "sinter/codegen/places/buffer_region.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

using llvm::ArrayRef;

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

void SlotList::Add(const Slot& slot) {
  const Key key(slot.kind, slot.index, slot.offset);
  if (numbers_.try_emplace(key, static_cast<int>(slots_.size())).second) slots_.push_back(slot);
}

int SlotList::Find(const Slot& slot) const {
  auto found = numbers_.find(Key(slot.kind, slot.index, slot.offset));
  return found == numbers_.end() ? -1 : found->second;
}

LaunchBuffers::LaunchBuffers(const CallSlots& slots, const SlotList& read, const SlotList& written)
    : slots_(slots), buffers_(read.slots()) {
  llvm::append_range(buffers_, written.slots());
  for (auto [i, slot] : llvm::enumerate(buffers_)) {
    own_.Add(slot);
    if (own_.size() > of_own_.size()) of_own_.push_back(static_cast<int>(i));
    resolved_.Add(slots.Resolve(slot));
    if (resolved_.size() > of_resolved_.size()) of_resolved_.push_back(static_cast<int>(i));
  }
}

int LaunchBuffers::NumberOf(const Slot& slot) const {
  if (int own = own_.Find(slot); own >= 0) return of_own_[own];
  // The slot is read here and overwritten by an output of a later launch: the same memory under the input's
  // name.
  const int resolved = resolved_.Find(slot);
  SINTER_CHECK(resolved >= 0) << "in the call " << slots_.call().getName().str();
  return of_resolved_[resolved];
}

void CollectSlots(const Job& job, SlotList& read, SlotList& written) {
  for (auto& [tensor, slot] : job.reads) read.Add(slot);
  for (const JobReduction& r : job.reductions) {
    for (const Slot& slot : r.partials) (job.kind == Job::Kind::kCombine ? read : written).Add(slot);
  }
  for (const JobReduction& r : job.column_reductions) {
    for (const Slot& slot : r.partials) written.Add(slot);
  }
  for (const JobOutput& o : job.full_outputs) written.Add(o.slot);
  for (const JobOutput& o : job.reduced_outputs) written.Add(o.slot);
}

SlotList ParametersOf(const CallSlots& slots, const Job& job) {
  SlotList read, written, parameters;
  CollectSlots(job, read, written);
  for (const Slot& slot : read.slots()) parameters.Add(slots.Resolve(slot));
  for (const Slot& slot : written.slots()) parameters.Add(slot);
  return parameters;
}

mlir::Value PositionOf(ElementEmitter& e, const JobOutput& output, mlir::ValueRange coords,
                       ArrayRef<int64_t> domain) {
  if (!output.part) return e.linearize(coords, domain);
  mlir::Value position = e.index(output.part->offset);
  for (auto [coord, stride] : llvm::zip_equal(coords, output.part->strides))
    position = e.add(position, e.mul(coord, e.index(stride)));
  return position;
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
