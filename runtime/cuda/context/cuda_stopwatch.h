// A stopwatch of CUDA events that times the work of a GPU's stream, in a capture or outside one.
//
//   SINTER_ASSIGN_OR_RETURN(const double cost, MeasureCudaMark(context));
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<Stopwatch> stopwatch, MakeCudaStopwatch(context, 2, cost));
#ifndef SINTER_RUNTIME_CUDA_CONTEXT_CUDA_STOPWATCH_H_
#define SINTER_RUNTIME_CUDA_CONTEXT_CUDA_STOPWATCH_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "sinter/runtime/cuda/context/cuda_context.h"
#include "sinter/runtime/device/stopwatch.h"

namespace sinter {

// Returns the seconds that an event between two nodes adds to a CUDA graph. Compares graphs of small fills
// with and without events. The GPU must be idle.
absl::StatusOr<double> MeasureCudaMark(const CudaContext& context);

// Returns a stopwatch for the context's first stream. It owns its events, so destroy it only after all graphs
// that contain them have run. The context must outlive it.
absl::StatusOr<std::unique_ptr<Stopwatch>> MakeCudaStopwatch(const CudaContext& context, size_t marks,
                                                             double seconds_of_mark);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CONTEXT_CUDA_STOPWATCH_H_
