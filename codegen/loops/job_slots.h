// The memory that the jobs of a fused call use, as function parameters, and the cost of the jobs.
//
//   SlotList read, written, parameters;
//   CollectSlots(job, read, written);
//   for (const Slot& slot : read.slots()) parameters.Add(call_slots.Resolve(slot));
#ifndef SINTER_CODEGEN_LOOPS_JOB_SLOTS_H_
#define SINTER_CODEGEN_LOOPS_JOB_SLOTS_H_

#include <map>
#include <tuple>
#include <vector>

#include "sinter/codegen/loops/element_emitter.h"
#include "sinter/codegen/loops/fused_launches.h"

namespace sinter::codegen {

// The buffers of a call by their start addresses.
class CallSlots {
 public:
  explicit CallSlots(plan_ir::CallOp call);

  plan_ir::CallOp call() const { return call_; }
  // Returns the slot whose pointer stands for `slot`: the first of several inputs that are one buffer, or the
  // output that overwrites an input. Distinct pointers of a loop are then distinct memory.
  Slot Resolve(const Slot& slot) const;

 private:
  plan_ir::CallOp call_;
  // For each of the call's inputs, the slot that stands for it.
  std::vector<std::pair<Slot::Kind, int>> ins_;
};

// A list of distinct slots, numbered from 0. Slots are the same if they are the same bytes of the same
// buffer, whatever their types.
class SlotList {
 public:
  // Adds `slot` unless the list has it.
  void Add(const Slot& slot);
  // Returns the slot's number; -1 if the list does not have it.
  int Find(const Slot& slot) const;
  llvm::ArrayRef<Slot> slots() const { return slots_; }
  size_t size() const { return slots_.size(); }

 private:
  using Key = std::tuple<Slot::Kind, int, int64_t>;

  std::vector<Slot> slots_;
  std::map<Key, int> numbers_;  // A launch may have thousands.
};

// The buffers of a launch: those that its jobs read, then those that they write.
class LaunchBuffers {
 public:
  LaunchBuffers(const CallSlots& slots, const SlotList& read, const SlotList& written);

  size_t size() const { return buffers_.size(); }
  llvm::ArrayRef<Slot> slots() const { return buffers_; }
  // Returns the number of the buffer that holds `slot`.
  int NumberOf(const Slot& slot) const;

 private:
  const CallSlots& slots_;
  std::vector<Slot> buffers_;
  SlotList resolved_;                      // By CallSlots::Resolve.
  SlotList own_;                           // As the jobs name them.
  std::vector<int> of_own_, of_resolved_;  // The buffers' numbers.
};

// Adds the slots that the job reads, and separately those that it writes.
void CollectSlots(const Job& job, SlotList& read, SlotList& written);

// Returns the parameters of the job's loop function: what it reads, resolved, then what it writes.
SlotList ParametersOf(const CallSlots& slots, const Job& job);

// Returns the position in its buffer of a full output's element at the coordinates `coords` of the domain.
mlir::Value PositionOf(ElementEmitter& e, const JobOutput& output, mlir::ValueRange coords,
                       llvm::ArrayRef<int64_t> domain);

// Erases unused ops. Folding leaves unused constants behind, mostly lengths; without them equal loops have
// equal text.
void EraseDead(mlir::Block& block);

// Returns the scalar operations of the whole job. Partial results and their combination count once.
double JobFlops(const Job& job);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_LOOPS_JOB_SLOTS_H_
