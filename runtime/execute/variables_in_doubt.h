// Variables that a run may have left half-written: it failed after a step had begun to write. Neither runs nor reads use them
// until they are written again, so that nothing wrong is computed, and no checkpoint keeps what they hold.
//
//   in_doubt.Add("train", {3, 4}, plan);
//   SINTER_RETURN_IF_ERROR(in_doubt.Check());       // `a run of "train" failed midway, and variable "w" may hold ...`
//   in_doubt.Remove(3);                             // It was written.
#ifndef SINTER_RUNTIME_EXECUTE_VARIABLES_IN_DOUBT_H_
#define SINTER_RUNTIME_EXECUTE_VARIABLES_IN_DOUBT_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace sinter {

namespace fb {
struct Plan;
}  // namespace fb

namespace internal_session {

class VariablesInDoubt {
 public:
  // By their indices in the plan.
  void Add(std::string_view function, std::span<const uint32_t> variables, const fb::Plan& plan);
  void Remove(uint32_t variable) { variables_.erase(variable); }
  void Clear() { variables_.clear(); }

  // FailedPrecondition names the function and the first of them, or this one.
  absl::Status Check() const;
  absl::Status Check(uint32_t variable) const;

 private:
  absl::Status Error(const std::string& variable) const;

  std::string function_;                       // Of the last failure.
  std::map<uint32_t, std::string> variables_;  // Their names.
};

}  // namespace internal_session
}  // namespace sinter

#endif  // SINTER_RUNTIME_EXECUTE_VARIABLES_IN_DOUBT_H_
