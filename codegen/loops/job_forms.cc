#include "sinter/codegen/loops/job_forms.h"

#include "llvm/ADT/DenseSet.h"

namespace sinter::codegen {
namespace {

using mlir::Operation;
using mlir::Value;

// Collects the ops that compute values from tensors in memory, operands first.
class OpsOfJob {
 public:
  explicit OpsOfJob(const Job& job) {
    for (const auto& [tensor, slot] : job.reads) in_memory_.insert(tensor);
    for (const JobOutput& output : job.full_outputs) Visit(output.value, /*is_output=*/true);
  }

  llvm::ArrayRef<Operation*> ops() const { return ops_; }

 private:
  void Visit(Value value, bool is_output = false) {
    Operation* op = value.getDefiningOp();
    if (!op || (!is_output && in_memory_.contains(value)) || !seen_.insert(op).second) return;
    for (Value operand : op->getOperands()) Visit(operand);
    ops_.push_back(op);
  }

  llvm::SmallDenseSet<Value, 16> in_memory_;
  llvm::SmallDenseSet<Operation*, 32> seen_;
  llvm::SmallVector<Operation*, 32> ops_;
};

}  // namespace

bool JobForms::Append(const CallSlots& slots, const Job& job, const SlotList& parameters,
                      llvm::SmallVectorImpl<uint64_t>& form) {
  if (job.kind != Job::Kind::kWhole || !job.reductions.empty() || !job.column_reductions.empty() ||
      !job.reduced_outputs.empty())
    return false;
  form.push_back(job.domain.size());
  form.append(job.domain.begin(), job.domain.end());
  llvm::SmallVector<Value> tensors;
  auto add = [&](Value tensor, const Slot& slot) {
    tensors.push_back(tensor);
    form.push_back(static_cast<uint64_t>(slot.kind));
    form.push_back(reinterpret_cast<uintptr_t>(slot.type.getAsOpaquePointer()));
    form.push_back(static_cast<uint64_t>(parameters.Find(slots.Resolve(slot))));
  };
  form.push_back(job.full_outputs.size());
  for (const JobOutput& output : job.full_outputs) {
    add(output.value, output.slot);
    form.push_back(output.part.has_value());
    if (!output.part) continue;
    form.push_back(static_cast<uint64_t>(output.part->offset));
    form.append(output.part->strides.begin(), output.part->strides.end());
  }
  form.push_back(job.reads.size());
  for (const auto& [tensor, slot] : job.reads) add(tensor, slot);
  ops_.append(OpsOfJob(job).ops(), tensors, form);
  return true;
}

}  // namespace sinter::codegen
