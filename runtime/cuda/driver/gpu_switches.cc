#include "sinter/runtime/cuda/driver/gpu_switches.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/environment.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

// Returns true if the variable is unset, empty or `yes`, and false if it is `no`. For any other value,
// returns an error that ends with `expected`.
absl::StatusOr<bool> IsOn(const char* variable, const char* yes, const char* no, const char* expected) {
  const std::string text = Environment(variable);
  if (text.empty() || text == yes) return true;
  if (text == no) return false;
  return absl::InvalidArgumentError(absl::StrCat(variable, " is \"", text, "\"", expected));
}

}  // namespace

absl::StatusOr<GpuSwitches> GpuSwitches::FromEnvironment() {
  GpuSwitches switches;
  SINTER_ASSIGN_OR_RETURN(
      switches.early_start,
      IsOn("SINTER_GPU_EARLY_START", "1", "0",
           ": write 0 to launch each kernel when the one in front of it has ended, or 1 to launch it before "
           "where it can wait itself"));
  SINTER_ASSIGN_OR_RETURN(
      switches.side_by_side,
      IsOn("SINTER_GPU_SIDE_BY_SIDE", "1", "0",
           ": write 0 to run the steps of a capture one after the other, or 1 to run those side by side "
           "that do not need each other"));
  SINTER_ASSIGN_OR_RETURN(
      switches.priorities,
      IsOn("SINTER_GPU_PRIORITIES", "1", "0",
           ": write 0 to have all kernels of a capture as urgent, or 1 to prefer those that most others "
           "wait for"));
  SINTER_ASSIGN_OR_RETURN(switches.attention_in_order, IsOn("SINTER_GPU_ATTENTION", "in-order", "any-order",
                                                            "; expected in-order or any-order"));
  return switches;
}

}  // namespace sinter
