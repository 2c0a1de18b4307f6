// Measures the times between marks in a device's work.
//
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<Stopwatch> stopwatch, gpu->MakeStopwatch(/*marks=*/2));
//   SINTER_RETURN_IF_ERROR(stopwatch->Mark(0));
//   SINTER_RETURN_IF_ERROR(step->Run(args));
//   SINTER_RETURN_IF_ERROR(stopwatch->Mark(1));
//   SINTER_RETURN_IF_ERROR(gpu->Synchronize());
//   SINTER_ASSIGN_OR_RETURN(double seconds, stopwatch->SecondsBetween(0, 1));
//
// Marks may be recorded with the work between them (DeviceRuntime::Record); each launch then takes new times.
// So the steps of a recording are timed in place, without a wait of the CPU between them. A mark costs time
// on the device; SecondsOfMark returns that cost so that callers can subtract it.
#ifndef SINTER_RUNTIME_DEVICE_STOPWATCH_H_
#define SINTER_RUNTIME_DEVICE_STOPWATCH_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sinter {

class Stopwatch {
 public:
  virtual ~Stopwatch() = default;

  // Records the time at which the work enqueued before the mark is done.
  virtual absl::Status Mark(size_t index) = 0;
  // Returns the time between two completed marks. The second must not precede the first.
  virtual absl::StatusOr<double> SecondsBetween(size_t first, size_t second) const = 0;
  // Returns the delay that a mark adds between two pieces of recorded work.
  virtual double SecondsOfMark() const = 0;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_DEVICE_STOPWATCH_H_
