// JobForms: finds jobs of fused calls that are equal but for the user's lines and their buffers. A launch
// that updates all variables of a model then costs the compiler one loop function for each kind of variable.
//
//   JobForms forms;
//   llvm::SmallVector<uint64_t> form;
//   if (forms.Append(slots, job, parameters, form)) ...   // Equal vectors: equal loop functions.
#ifndef SINTER_CODEGEN_LOOPS_JOB_FORMS_H_
#define SINTER_CODEGEN_LOOPS_JOB_FORMS_H_

#include <cstdint>

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

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_LOOPS_JOB_FORMS_H_
