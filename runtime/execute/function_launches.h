// The launches of one loaded function, in the order of launch_order.h: run, and captured for replays.
//
//   FunctionLaunches launches(steps, pool);
//   SINTER_RETURN_IF_ERROR(launches.Load());
//   SINTER_RETURN_IF_ERROR(launches.Run(/*has_run=*/false, /*timers=*/nullptr));
//
// Capture: on devices that capture (DeviceRuntime::Capture), launches of several steps or with collectives
// are captured in the second run, because libraries initialise themselves in the first. Later runs replay the
// capture. Runs with timers use further captures, with events between the steps. Steps that cannot be
// captured (Step::capture_limit) run between captures.
//
// If several non-CPU devices exchange data, each has a thread that launches its work
// (runtime/execute/launch_threads.h).
#ifndef SINTER_RUNTIME_EXECUTE_FUNCTION_LAUNCHES_H_
#define SINTER_RUNTIME_EXECUTE_FUNCTION_LAUNCHES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "sinter/runtime/cpu/host_collective.h"
#include "sinter/runtime/execute/collective_waits.h"
#include "sinter/runtime/execute/function_steps.h"
#include "sinter/runtime/execute/launch_order.h"
#include "sinter/runtime/execute/launch_threads.h"
#include "sinter/runtime/execute/launch_timers.h"
#include "sinter/runtime/execute/step_dependencies.h"
#include "sinter/runtime/host/thread_pool.h"

namespace sinter::internal_session {

class FunctionLaunches {
 public:
  // Both must outlive this object.
  FunctionLaunches(FunctionSteps& steps, const ThreadPool& pool) : steps_(steps), pool_(pool) {}

  absl::Status Load();

  // Copies the inputs of a run to all devices: to each from its own thread if the inputs are large. Returns
  // the first error.
  absl::Status UploadInputs(FunctionInputs& inputs);
  // Runs all launches. Captures them first if the function has run before. `timers`: null, or made.
  absl::Status Run(bool has_run, LaunchTimers* timers);
  // Runs one of units() by itself.
  absl::Status RunUnit(std::span<const uint32_t> steps);
  absl::Status Synchronize();
  // Aborts the collectives of all devices: without the abort the other members would wait forever.
  void Abort(const absl::Status& reason);

  // The steps of this process in units that run one by one: a step, or all local members of a collective.
  const std::vector<std::vector<uint32_t>>& units() const { return units_; }
  std::vector<const Launch*> launches() const;
  // True if all launches run on CPUs.
  bool is_all_host() const { return is_all_host_; }
  // True if non-CPU devices take part in collectives.
  bool has_device_collectives() const { return has_device_collectives_; }

 private:
  struct LoadedLaunch {
    Launch launch;
    bool may_capture = false, may_capture_with_timers = false;
    std::vector<CollectiveWait> waits;
    StepDependencies order;  // For a capture whose steps run side by side.
    std::unique_ptr<CapturedGraph> captured, captured_with_timers, captured_beside;
    // For a collective on CPUs: its implementation, and each member's operands.
    std::unique_ptr<HostCollective> collective;
    std::vector<void* const*> operands;
  };

  // Also sets the library workspaces of the launch's steps.
  StepDependencies OrderOf(const Launch& launch);
  std::unique_ptr<HostCollective> MakeHostCollective(const Launch& launch);
  void MakeThreads();
  std::vector<uint32_t> StepsRunWith(uint32_t index) const;

  absl::Status RunCollective(LoadedLaunch& launch);
  absl::Status RunSteps(const LoadedLaunch& launch);
  absl::Status RunStepsAsBranches(const LoadedLaunch& launch);
  absl::Status RunStepsWithTimers(const LoadedLaunch& launch);
  absl::Status RunStepsWithTimersBeside(const LoadedLaunch& launch);
  absl::Status RunCollectiveWithTimers(LoadedLaunch& launch);
  absl::Status RunLaunch(LoadedLaunch& launch);
  absl::Status RunTask(const LaunchThreads::Task& task);
  absl::Status GiveLaunch(size_t index);
  absl::Status WaitForThreadsOf(const Launch& launch);
  absl::Status WaitForSourceOf(const Launch& launch);
  std::unique_ptr<CapturedGraph>& CaptureOf(LoadedLaunch& loaded) const {
    if (timers_ == nullptr) return loaded.captured;
    return timers_->exchanges_beside() ? loaded.captured_beside : loaded.captured_with_timers;
  }
  absl::Status CaptureLaunch(LoadedLaunch& launch);
  absl::Status CaptureAll();
  size_t FirstEvent(const LoadedLaunch& launch) const {
    return timers_->FirstEvent(&launch - launches_.data());
  }

  FunctionSteps& steps_;
  const ThreadPool& pool_;
  std::vector<LoadedLaunch> launches_;
  std::vector<Wait> last_waits_;
  std::vector<std::vector<uint32_t>> units_;
  LaunchTimers* timers_ = nullptr;           // Those of the current run; null without a profile.
  FunctionInputs* inputs_ = nullptr;         // Those of the current upload.
  std::vector<absl::Status> upload_errors_;  // By device; of the current upload.
  bool has_captured_ = false, has_captured_timers_ = false, has_captured_beside_ = false;
  bool is_all_host_ = true, has_device_collectives_ = false;
  // Null if the calling thread launches all work. The threads use all members above.
  std::unique_ptr<LaunchThreads> threads_;
};

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_EXECUTE_FUNCTION_LAUNCHES_H_
