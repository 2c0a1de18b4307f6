// `sinter profile`: where the time of a function goes, step by step, against what its devices can do at most.
//
//   SINTER_ASSIGN_OR_RETURN(FunctionProfile profile, ProfileFunction(session, function, "train", {.repeat = 20}));
//   std::cout << ProfileText(profile);                 // tools/profile_text.h
//
// A run is timed without a profile first, as a program sees it; then each step in runs with one (runtime/device/profile.h). What the
// steps do not account for is the gap: launching, waiting, inputs brought to a GPU. It is negative where steps run beside each
// other, on several devices or a collective beside kernels, which a profile keeps apart.
#ifndef SINTER_TOOLS_FUNCTION_PROFILE_H_
#define SINTER_TOOLS_FUNCTION_PROFILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/runtime/memory/device.h"
#include "sinter/runtime/session/session.h"
#include "sinter/tools/roof.h"

namespace sinter::tools {

struct ProfileOptions {
  int repeat = 20;         // Runs timed with a profile, and as many, or on GPUs five times as many, without.
  bool with_roofs = true;  // Measures what the devices can do.
};

struct ProfiledStep {
  std::string kind;   // As in StepTimes.
  std::string what;   // "matmul 256x128x800 bias relu in f32", and the types of a kernel's operands.
  std::string lines;  // The user's.
  Device device;
  double seconds = 0;                          // The median.
  double begin_seconds = 0, last_seconds = 0;  // In the last run, since it began.
  double bytes = 0, flops = 0;
  StepBound bound;
};

struct FunctionProfile {
  std::string plan, function;
  int repeat = 0;
  double run_seconds = 0;      // Of a run without a profile, the median.
  double marked_seconds = 0;   // Of a run with one, the median: from its first step to its last.
  double seconds_of_mark = 0;  // Taken off each step's time; 0 on CPUs.
  std::vector<Device> devices;
  std::vector<Roof> roofs;          // None without.
  std::vector<ProfiledStep> steps;  // In the order of the plan.

  double StepSeconds() const;  // The sum.
};

// InvalidArgument: no runs; otherwise the errors of running and of MeasureRoofs. The function's inputs must be set; its
// variables change as they do in so many runs.
absl::StatusOr<FunctionProfile> ProfileFunction(Session& session, BoundFunction& function,
                                                std::string_view name, const ProfileOptions& options = {});

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_FUNCTION_PROFILE_H_
