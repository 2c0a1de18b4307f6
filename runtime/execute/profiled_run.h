// Runs a loaded function with a profile: each step is timed separately.
//
//   ProfiledRun profiled(steps, launches);
//   SINTER_RETURN_IF_ERROR(profiled.Run(info, &profile));
//
// In a function's first run, and if all devices are CPUs, the steps run one by one. Otherwise they run as in
// runs without a profile, with events between them. Processes whose GPUs exchange data must either all run
// with a profile or all without.
#ifndef SINTER_RUNTIME_EXECUTE_PROFILED_RUN_H_
#define SINTER_RUNTIME_EXECUTE_PROFILED_RUN_H_

#include <chrono>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "sinter/runtime/device/profile.h"
#include "sinter/runtime/execute/function_launches.h"
#include "sinter/runtime/execute/function_steps.h"
#include "sinter/runtime/execute/launch_timers.h"
#include "sinter/runtime/plan/plan.h"

namespace sinter::internal_session {

class ProfiledRun {
 public:
  // Both must outlive this object.
  ProfiledRun(const FunctionSteps& steps, FunctionLaunches& launches) : steps_(steps), launches_(launches) {}

  // `has_run`: the function has run before. Adds the times of the steps to the profile; starts a new profile
  // if it is another function's.
  absl::Status Run(const FunctionInfo& info, bool has_run, Profile* profile);
  // Counts a run that began at `start`.
  static void AddRun(std::chrono::steady_clock::time_point start, Profile* profile);

 private:
  void Prepare(const FunctionInfo& info, Profile* profile) const;
  absl::Status RunOneByOne(Profile* profile);
  absl::Status RunWithTimers(Profile* profile);
  absl::Status ReadTimers(Profile* profile) const;
  absl::Status ReadTimersBeside(Profile* profile) const;
  void AddTime(std::span<const uint32_t> steps, double begin, double seconds, Profile* profile) const;

  const FunctionSteps& steps_;
  FunctionLaunches& launches_;
  LaunchTimers timers_, timers_beside_;  // Each made in the first run with its events.
};

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_EXECUTE_PROFILED_RUN_H_
