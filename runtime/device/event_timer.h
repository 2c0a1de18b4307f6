// Measures the times between events in a device's work.
//
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<EventTimer> timer, gpu->MakeEventTimer(/*events=*/2));
//   SINTER_RETURN_IF_ERROR(timer->RecordEvent(0));
//   SINTER_RETURN_IF_ERROR(step->Run(args));
//   SINTER_RETURN_IF_ERROR(timer->RecordEvent(1));
//   SINTER_RETURN_IF_ERROR(gpu->Synchronize());
//   SINTER_ASSIGN_OR_RETURN(double seconds, timer->SecondsBetween(0, 1));
//
// Events may be captured with the work between them (DeviceRuntime::Capture); each launch then takes new
// times. So the steps of a capture are timed in place, without a wait of the CPU between them. An event costs
// time on the device; SecondsPerEvent returns that cost so that callers can subtract it.
#ifndef SINTER_RUNTIME_DEVICE_EVENT_TIMER_H_
#define SINTER_RUNTIME_DEVICE_EVENT_TIMER_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sinter {

class EventTimer {
 public:
  virtual ~EventTimer() = default;

  // Records the time at which the work enqueued before the event is done.
  virtual absl::Status RecordEvent(size_t index) = 0;
  // The same for the collectives that run beside the other work, of which one must have been enqueued in this
  // run.
  virtual absl::Status RecordExchangeEvent(size_t index) { return RecordEvent(index); }
  // Returns the time between two completed events. The second must not precede the first.
  virtual absl::StatusOr<double> SecondsBetween(size_t first, size_t second) const = 0;
  // Returns the delay that an event adds between two pieces of captured work.
  virtual double SecondsPerEvent() const = 0;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_DEVICE_EVENT_TIMER_H_
