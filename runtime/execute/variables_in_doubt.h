// Records the variables that a run, failed after a step began to write, may have left half-written.
// Until they are written again, runs and reads refuse them: no wrong result is computed, and no checkpoint
// keeps their contents.
//
//   in_doubt.Add("train", {3, 4}, plan);
//   SINTER_RETURN_IF_ERROR(in_doubt.Check());   // `a run of "train" failed midway, and variable "w" may ...`
//   in_doubt.Remove(3);                         // After it was written.
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
  // `variables` are plan indices.
  void Add(std::string_view function, std::span<const uint32_t> variables, const fb::Plan& plan);
  void Remove(uint32_t variable) { variables_.erase(variable); }
  void Clear() { variables_.clear(); }

  // FailedPrecondition if any variable, or this one, is in doubt; names the function and the variable.
  absl::Status Check() const;
  absl::Status Check(uint32_t variable) const;

 private:
  absl::Status Error(const std::string& variable) const;

  std::string function_;                       // The function of the last failed run.
  std::map<uint32_t, std::string> variables_;  // Names by plan index.
};

}  // namespace internal_session
}  // namespace sinter

#endif  // SINTER_RUNTIME_EXECUTE_VARIABLES_IN_DOUBT_H_
