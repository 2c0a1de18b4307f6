// CallForms: finds fused calls that are equal but for their names, the user's lines and the places of their
// buffers. Equal layers of a model then cost the compiler one generated kernel.
//
//   CallForms forms;
//   const unsigned form = forms.NumberOf(call);   // 0, 1, ... in the order of first calls.
//
//   ByCallForm<int64_t> bytes;                        // A result for each form.
//   auto compute = [&] { return FusedWorkspaceBytes(call, target); };
//   SINTER_ASSIGN_OR_RETURN(const int64_t* known, bytes.Of(call, compute));
#ifndef SINTER_CODEGEN_LOOPS_CALL_FORMS_H_
#define SINTER_CODEGEN_LOOPS_CALL_FORMS_H_

#include <map>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "sinter/ir/fusion/op_forms.h"
#include "sinter/ir/plan/plan_ops.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

class CallForms {
 public:
  // Returns the number of the call's form. Part of the form are the body, the types of the buffers, their
  // kinds of memory and alignments, and which of them overlap, and how. The bodies of all calls must live,
  // unchanged, as long as this object.
  unsigned NumberOf(plan_ir::CallOp call);

 private:
  ir::OpForms ops_;
  std::map<std::vector<uint64_t>, unsigned> numbers_;
};

// Results that are computed once for each form of call.
template <class Result>
class ByCallForm {
 public:
  // Returns the result for the call's form, which stays valid as long as this object. Calls `compute` if
  // there is none. Returns its error, which the next call does not get.
  absl::StatusOr<Result*> Of(plan_ir::CallOp call, llvm::function_ref<absl::StatusOr<Result>()> compute) {
    const unsigned form = forms_.NumberOf(call);
    if (form >= results_.size()) results_.resize(form + 1);
    if (!results_[form]) {
      SINTER_ASSIGN_OR_RETURN(Result result, compute());
      results_[form] = std::make_unique<Result>(std::move(result));
    }
    return results_[form].get();
  }

 private:
  CallForms forms_;
  std::vector<std::unique_ptr<Result>> results_;
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_LOOPS_CALL_FORMS_H_
