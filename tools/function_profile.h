// `sinter profile`: measures each step of a function and compares it with the limits of its devices.
//
//   SINTER_ASSIGN_OR_RETURN(FunctionProfile profile,
//                           ProfileFunction(session, function, "train", {.repeat = 20}));
//   std::cout << ProfileText(profile);                 // tools/profile_text.h
//
// Times whole runs without a profile first, as a program sees them. Then times each step in runs with a
// profile (runtime/device/profile.h). The gap is the whole run minus the sum of the steps: launches, waiting,
// copies of inputs to a GPU. The gap is negative if steps overlap (several devices, or a collective beside
// kernels), because a profile measures such steps separately.
#ifndef SINTER_TOOLS_FUNCTION_PROFILE_H_
#define SINTER_TOOLS_FUNCTION_PROFILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/runtime/memory/device.h"
#include "sinter/runtime/session/session.h"
#include "sinter/tools/roofline.h"

namespace sinter::tools {

struct ProfileOptions {
  // Timed runs with a profile. CPUs time the same number without a profile, GPUs five times this number.
  int repeat = 20;
  bool with_rooflines = true;  // Measures the rooflines of the devices.
};

struct ProfiledStep {
  std::string kind;   // StepTimes::kind.
  std::string what;   // "matmul 256x128x800 bias relu in f32"; for a kernel also the types of its operands.
  std::string lines;  // Source lines of the user.
  Device device;
  double seconds = 0;  // Median over the runs.
  // Times of the last run; begin: since the run began. If GPUs exchange, those of an ordinary run, in which
  // exchanges run beside other steps.
  double begin_seconds = 0, last_seconds = 0;
  bool is_exchange = false;
  double bytes = 0, flops = 0;
  StepBound bound;
};

struct FunctionProfile {
  std::string plan, function;
  int repeat = 0;
  double run_seconds = 0;        // Median time of a run without a profile.
  double marked_seconds = 0;     // Median time of a run with a profile, from its first step to its last.
  double seconds_per_event = 0;  // Cost of an event, already subtracted from each step's time; 0 on CPUs.
  std::vector<Device> devices;
  std::vector<uint32_t> ranks;      // The rank of each device; empty without a mesh.
  std::vector<Roofline> rooflines;  // Empty if ProfileOptions::with_rooflines is false.
  std::vector<ProfiledStep> steps;  // In plan order.

  double StepSeconds() const;  // Returns the sum of the steps' medians.
};

// Runs `function` and returns its profile. The inputs must be set; the runs update the variables as usual.
// InvalidArgument: `repeat` is below 1. Other errors come from the runs and from MeasureRooflines.
absl::StatusOr<FunctionProfile> ProfileFunction(Session& session, BoundFunction& function,
                                                std::string_view name, const ProfileOptions& options = {});

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_FUNCTION_PROFILE_H_
