// Times of points in a device's work, read when they have passed.
//
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<Stopwatch> stopwatch, gpu->MakeStopwatch(/*marks=*/2));
//   SINTER_RETURN_IF_ERROR(stopwatch->Mark(0));
//   SINTER_RETURN_IF_ERROR(step->Run(args));
//   SINTER_RETURN_IF_ERROR(stopwatch->Mark(1));
//   SINTER_RETURN_IF_ERROR(gpu->Synchronize());
//   SINTER_ASSIGN_OR_RETURN(double seconds, stopwatch->SecondsBetween(0, 1));
//
// Marks may be recorded with the work between them (DeviceRuntime::Record): each launch takes the times anew. So the steps of
// a recording are timed where they run, with no wait of the CPU in between. A mark is work too: what it adds is measured, for
// whoever wants to take it off.
#ifndef SINTER_RUNTIME_DEVICE_STOPWATCH_H_
#define SINTER_RUNTIME_DEVICE_STOPWATCH_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sinter {

class Stopwatch {
 public:
  virtual ~Stopwatch() = default;

  // The time when what was given to the device before is done.
  virtual absl::Status Mark(size_t index) = 0;
  // Of marks that have passed, the second of them not before the first.
  virtual absl::StatusOr<double> SecondsBetween(size_t first, size_t second) const = 0;
  // By how much a mark between two pieces of recorded work delays the second.
  virtual double SecondsOfMark() const = 0;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_DEVICE_STOPWATCH_H_
