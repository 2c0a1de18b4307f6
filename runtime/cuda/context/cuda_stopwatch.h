// Events of CUDA that time the work of a GPU's stream, recorded into a CUDA graph with it or given with it.
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

// What an event between two nodes of a CUDA graph adds to the graph's time, in seconds: from graphs of small fills with events
// between them and without. The GPU must be idle.
absl::StatusOr<double> MeasureCudaMark(const CudaContext& context);

// Marks the context's first stream, a thing of which the events stay until it is destroyed: after the graphs that hold them
// have run. The context must outlive it.
absl::StatusOr<std::unique_ptr<Stopwatch>> MakeCudaStopwatch(const CudaContext& context, size_t marks,
                                                             double seconds_of_mark);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CONTEXT_CUDA_STOPWATCH_H_
