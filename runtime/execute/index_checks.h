// The checks that CompileOptions::check_indices adds to a plan, and what a run makes of them: an error of the first op that was given an
// index which it does not have.
//
// Each op that takes indices has a variable "index_check/<function>/<n>", i64[3], at the op's line: the lowest index of the
// last run, the highest, and how many there may be. Runs write it on the device where the op is.
//
//   IndexChecks checks(plan, "train");
//   SINTER_RETURN_IF_ERROR(checks.Check(memory));        // After each run, for which it waits.
#ifndef SINTER_RUNTIME_EXECUTE_INDEX_CHECKS_H_
#define SINTER_RUNTIME_EXECUTE_INDEX_CHECKS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace sinter::fb {
struct Plan;
}  // namespace sinter::fb

namespace sinter {

inline constexpr std::string_view kIndexCheckPrefix = "index_check/";

// True if a variable of this name belongs to a check.
inline bool IsIndexCheck(std::string_view name) { return name.starts_with(kIndexCheckPrefix); }

namespace internal_session {

struct Memory;

class IndexChecks {
 public:
  // Those of one function; none in a plan that was compiled without.
  IndexChecks(const fb::Plan& plan, std::string_view function);

  // OutOfRange for the first op, in the order of the program, with an index below 0 or too high, such as
  // "net.cc:12: Gather: index 7 is outside of 0 to 4". Errors of the run.
  absl::Status Check(const Memory& memory) const;

 private:
  struct Op {
    std::vector<uint32_t> copies;  // Of the variable, as the plan lists variables: one a device.
    std::vector<uint32_t> devices;
    std::string where;
  };
  std::vector<Op> ops_;
};

}  // namespace internal_session
}  // namespace sinter

#endif  // SINTER_RUNTIME_EXECUTE_INDEX_CHECKS_H_
