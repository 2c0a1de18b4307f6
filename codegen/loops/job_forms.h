// JobForms: finds jobs of fused calls that are equal but for the user's lines and their buffers. A launch
// that updates all variables of a model then costs the compiler one loop function for each kind of variable.
//
//   ByJobForm<JobCall> known;                     // A result for each form, of the jobs of one call.
//   known.Clear();
//   JobCall call = known.Of(slots, job, parameters, more, [&] { return Emit(job); });
#ifndef SINTER_CODEGEN_LOOPS_JOB_FORMS_H_
#define SINTER_CODEGEN_LOOPS_JOB_FORMS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "sinter/codegen/loops/fused_launches.h"
#include "sinter/codegen/loops/job_slots.h"
#include "sinter/ir/fusion/op_forms.h"

namespace sinter::codegen {

class JobForms {
 public:
  // Appends the form of a job: its domain, its ops, and for each tensor in memory its type and the number of
  // its slot among `parameters`, which are resolved. Properties of the slots' places are not part of it.
  // Returns false, and appends nothing, for jobs with reductions. The bodies of all calls must live,
  // unchanged, as long as this object.
  bool Append(const CallSlots& slots, const Job& job, const SlotList& parameters,
              llvm::SmallVectorImpl<uint64_t>& form);

 private:
  ir::OpForms ops_;
};

// Results that are computed once for each form of job.
template <class Result>
class ByJobForm {
 public:
  // Forgets all. The bodies of calls must live, unchanged, until then.
  void Clear() {
    forms_ = JobForms();
    results_.clear();
  }

  // Returns the result for the job's form, of which `more` is a part, or that of `compute` if there is none.
  // Jobs with reductions have no form.
  Result Of(const CallSlots& slots, const Job& job, const SlotList& parameters, llvm::ArrayRef<uint64_t> more,
            llvm::function_ref<Result()> compute) {
    llvm::SmallVector<uint64_t> form = {more.size()};
    form.append(more.begin(), more.end());
    if (!forms_.Append(slots, job, parameters, form)) return compute();
    std::unique_ptr<Result>& known = results_[std::vector<uint64_t>(form.begin(), form.end())];
    if (!known) known = std::make_unique<Result>(compute());
    return *known;
  }

 private:
  JobForms forms_;
  std::map<std::vector<uint64_t>, std::unique_ptr<Result>> results_;
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_LOOPS_JOB_FORMS_H_
