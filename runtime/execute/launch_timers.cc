#include "sinter/runtime/execute/launch_timers.h"

#include <utility>

#include "sinter/runtime/host/status.h"

namespace sinter::internal_session {

absl::Status LaunchTimers::Make(const FunctionSteps& steps, const std::vector<const Launch*>& launches) {
  std::vector<size_t> marks(steps.memory().devices.size(), 1), first_marks;
  for (const Launch* const launch : launches) {
    first_marks.push_back(marks[launch->device]);
    marks[launch->device] += (launch->is_collective ? 1 : launch->steps.size()) + 1;
  }
  std::vector<std::unique_ptr<Stopwatch>> made(marks.size());
  for (uint32_t device = 0; device < marks.size(); ++device) {
    if (!steps.memory().devices[device].is_here()) continue;
    SINTER_ASSIGN_OR_RETURN(made[device], steps.RuntimeOf(device).MakeStopwatch(marks[device]));
  }
  stopwatches_ = std::move(made);
  first_marks_ = std::move(first_marks);
  return absl::OkStatus();
}

absl::Status LaunchTimers::MarkStart() {
  for (const std::unique_ptr<Stopwatch>& stopwatch : stopwatches_) {
    if (stopwatch != nullptr) SINTER_RETURN_IF_ERROR(stopwatch->Mark(0));
  }
  return absl::OkStatus();
}

}  // namespace sinter::internal_session
