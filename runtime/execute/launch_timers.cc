#include "sinter/runtime/execute/launch_timers.h"

#include <utility>

#include "sinter/runtime/host/status.h"

namespace sinter::internal_session {

absl::Status LaunchTimers::Make(const FunctionSteps& steps, const std::vector<const Launch*>& launches,
                                bool exchanges_beside) {
  std::vector<size_t> events(steps.memory().devices.size(), 1), first_events;
  for (const Launch* const launch : launches) {
    first_events.push_back(events[launch->device]);
    const size_t of_launch = (launch->is_collective ? 1 : launch->steps.size()) + 1;
    events[launch->device] += exchanges_beside ? 3 * of_launch : of_launch;
  }
  std::vector<std::unique_ptr<EventTimer>> made(events.size());
  for (uint32_t device = 0; device < events.size(); ++device) {
    if (!steps.memory().devices[device].is_here()) continue;
    SINTER_ASSIGN_OR_RETURN(made[device], steps.RuntimeOf(device).MakeEventTimer(events[device]));
  }
  event_timers_ = std::move(made);
  first_marks_ = std::move(first_events);
  exchanges_beside_ = exchanges_beside;
  return absl::OkStatus();
}

absl::Status LaunchTimers::MarkStart() {
  for (const std::unique_ptr<EventTimer>& timer : event_timers_) {
    if (timer != nullptr) SINTER_RETURN_IF_ERROR(timer->RecordEvent(0));
  }
  return absl::OkStatus();
}

}  // namespace sinter::internal_session
