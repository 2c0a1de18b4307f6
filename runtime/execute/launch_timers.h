// Times the steps of launches by events on their devices, for runs with a profile.
//
//   LaunchTimers timers;
//   SINTER_RETURN_IF_ERROR(timers.Make(steps, launches));
//   SINTER_RETURN_IF_ERROR(timers.TimerOf(device).RecordEvent(timers.FirstEvent(launch)));
#ifndef SINTER_RUNTIME_EXECUTE_LAUNCH_TIMERS_H_
#define SINTER_RUNTIME_EXECUTE_LAUNCH_TIMERS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "sinter/runtime/device/event_timer.h"
#include "sinter/runtime/execute/function_steps.h"
#include "sinter/runtime/execute/launch_order.h"

namespace sinter::internal_session {

class LaunchTimers {
 public:
  // Makes the event timer of each local device. Event 0 is the start of the run. `exchanges_beside`: for
  // Profile::exchanges_beside.
  absl::Status Make(const FunctionSteps& steps, const std::vector<const Launch*>& launches,
                    bool exchanges_beside);
  bool is_made() const { return !event_timers_.empty(); }

  EventTimer& TimerOf(uint32_t device) const { return *event_timers_[device]; }
  // The event before the first step of a launch. One event is before each step, and one after the last.
  size_t FirstEvent(size_t launch) const { return first_marks_[launch]; }
  // True if collectives run beside other steps. A launch of n steps then has n + 1 more events for the ends
  // of waits, one before each step, and n + 1 for the ends of collectives.
  bool exchanges_beside() const { return exchanges_beside_; }
  // Marks the start of the run on every device.
  absl::Status MarkStart();

 private:
  std::vector<std::unique_ptr<EventTimer>> event_timers_;  // By device; null for those of other processes.
  std::vector<size_t> first_marks_;                        // By launch.
  bool exchanges_beside_ = false;
};

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_EXECUTE_LAUNCH_TIMERS_H_
