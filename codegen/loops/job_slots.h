// What memory the jobs of a fused call touch, as the parameters of functions, and what the jobs cost.
//
//   SmallVector<Slot> read, written;
//   CollectSlots(job, read, written);
//   for (const Slot& slot : read) AddSlot(parameters, call_slots.Resolve(slot));
#ifndef SINTER_CODEGEN_LOOPS_JOB_SLOTS_H_
#define SINTER_CODEGEN_LOOPS_JOB_SLOTS_H_

#include "sinter/codegen/loops/fused_stages.h"

namespace sinter::codegen {

// The buffers of a call by the places that they begin at.
class CallSlots {
 public:
  explicit CallSlots(plan_ir::CallOp call);

  plan_ir::CallOp call() const { return call_; }
  // The slot whose pointer stands for `slot`: the first of several inputs that are one buffer, and the output that overwrites an
  // input. Loops may then take pointers for distinct memory.
  Slot Resolve(const Slot& slot) const;

 private:
  plan_ir::CallOp call_;
  std::vector<std::pair<Slot::Kind, int>> ins_;  // For each of the call's inputs.
};

// Whether two slots are the same bytes of the same buffer, under whatever type.
bool SamePlace(const Slot& a, const Slot& b);
// -1: not among them.
int FindSlot(llvm::ArrayRef<Slot> slots, const Slot& slot);
void AddSlot(llvm::SmallVector<Slot>& slots, const Slot& slot);

// Everything that the job reads and, apart, writes.
void CollectSlots(const Job& job, llvm::SmallVector<Slot>& read, llvm::SmallVector<Slot>& written);

// Folding leaves constants behind that nobody uses, of lengths above all: without them equal loops have equal text.
void EraseDead(mlir::Block& block);

// Scalar operations of the whole job; partial results and their combination count once.
double JobFlops(const Job& job);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_LOOPS_JOB_SLOTS_H_
