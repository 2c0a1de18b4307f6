#include "sinter/runtime/execute/variables_in_doubt.h"

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"

namespace sinter::internal_session {

void VariablesInDoubt::Add(std::string_view function, std::span<const uint32_t> variables,
                           const fb::Plan& plan) {
  function_ = function;
  for (const uint32_t variable : variables) {
    variables_[variable] = plan.variables()->Get(variable)->name()->str();
  }
}

absl::Status VariablesInDoubt::Check() const {
  return variables_.empty() ? absl::OkStatus() : Error(variables_.begin()->second);
}

absl::Status VariablesInDoubt::Check(uint32_t variable) const {
  const auto found = variables_.find(variable);
  return found == variables_.end() ? absl::OkStatus() : Error(found->second);
}

absl::Status VariablesInDoubt::Error(const std::string& variable) const {
  return absl::FailedPreconditionError(absl::StrCat(
      "a run of \"", function_, "\" failed midway, and variable \"", variable,
      "\" may hold a part of its result: write it again (LoadCheckpoint does), or call ResetVariables"));
}

}  // namespace sinter::internal_session
