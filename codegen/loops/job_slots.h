// The memory that the jobs of a fused call use, as function parameters, and the cost of the jobs.
//
//   SmallVector<Slot> read, written;
//   CollectSlots(job, read, written);
//   for (const Slot& slot : read) AddSlot(parameters, call_slots.Resolve(slot));
#ifndef SINTER_CODEGEN_LOOPS_JOB_SLOTS_H_
#define SINTER_CODEGEN_LOOPS_JOB_SLOTS_H_

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

// True if two slots are the same bytes of the same buffer, whatever their types.
bool SamePlace(const Slot& a, const Slot& b);
// FindSlot returns -1 if `slot` is not in `slots`. AddSlot adds `slot` unless `slots` has it.
int FindSlot(llvm::ArrayRef<Slot> slots, const Slot& slot);
void AddSlot(llvm::SmallVector<Slot>& slots, const Slot& slot);

// Returns the slots that the job reads, and separately those that it writes.
void CollectSlots(const Job& job, llvm::SmallVector<Slot>& read, llvm::SmallVector<Slot>& written);

// Erases unused ops. Folding leaves unused constants behind, mostly lengths; without them equal loops have
// equal text.
void EraseDead(mlir::Block& block);

// Returns the scalar operations of the whole job. Partial results and their combination count once.
double JobFlops(const Job& job);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_LOOPS_JOB_SLOTS_H_
