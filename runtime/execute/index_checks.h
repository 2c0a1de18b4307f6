// Index checks of a plan (CompileOptions::check_indices): report the first op with an index out of range.
//
// Each op that takes indices has a variable "index_check/<function>/<n>", i64[3], with the op's source line.
// It holds the last run's lowest index, the highest index, and the number of valid indices. Runs write it on
// the op's device.
//
//   IndexChecks checks(plan, "train");
//   SINTER_RETURN_IF_ERROR(checks.Check(memory));        // After each run; waits for the run.
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

struct SessionBuffers;

class IndexChecks {
 public:
  // Finds the checks of one function. There are none if the plan was compiled without index checks.
  IndexChecks(const fb::Plan& plan, std::string_view function);

  // OutOfRange for the first op, in program order, with an index below 0 or too high, for example "net.cc:12:
  // Gather: index 7 is outside of 0 to 4". Also returns errors of the run.
  absl::Status Check(const SessionBuffers& memory) const;

 private:
  struct Op {
    // Indices in Plan.variables of the variable and its replicas, one per device.
    std::vector<uint32_t> copies;
    std::vector<uint32_t> devices;
    std::string where;
  };
  std::vector<Op> ops_;
};

}  // namespace internal_session
}  // namespace sinter

#endif  // SINTER_RUNTIME_EXECUTE_INDEX_CHECKS_H_
