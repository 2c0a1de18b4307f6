// An event timer of CUDA events. It times the work of a GPU's stream, in a capture or outside one.
//
//   SINTER_ASSIGN_OR_RETURN(const double cost, MeasureCudaMark(context));
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<EventTimer> timer, MakeCudaEventTimer(context, 2, cost));
#ifndef SINTER_RUNTIME_CUDA_CONTEXT_CUDA_EVENT_TIMER_H_
#define SINTER_RUNTIME_CUDA_CONTEXT_CUDA_EVENT_TIMER_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "sinter/runtime/cuda/context/cuda_context.h"
#include "sinter/runtime/device/event_timer.h"

namespace sinter {

// Returns the seconds that an event between two nodes adds to a CUDA graph. Compares graphs of small fills
// with and without events. The GPU must be idle.
absl::StatusOr<double> MeasureCudaMark(const CudaContext& context);

// Returns an event timer for the context's first stream. It owns its events, so destroy it only after all
// graphs that contain them have run. The context must outlive it.
absl::StatusOr<std::unique_ptr<EventTimer>> MakeCudaEventTimer(const CudaContext& context, size_t events,
                                                               double seconds_per_event);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CONTEXT_CUDA_EVENT_TIMER_H_
