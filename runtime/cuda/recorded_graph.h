// Work of a stream, captured into a CUDA graph: one launch in place of one a step.
//
//   SINTER_ASSIGN_OR_RETURN(auto recorded, RecordGraph(context, [&] { return step->Run(args); }));
//   SINTER_RETURN_IF_ERROR(recorded->Launch());
//
// The graph holds the addresses that it was recorded with. While a thread records, calls of its own that would wait for
// the GPU or allocate its memory are errors; other threads are free to.
#ifndef SINTER_RUNTIME_CUDA_RECORDED_GRAPH_H_
#define SINTER_RUNTIME_CUDA_RECORDED_GRAPH_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "sinter/runtime/cuda/cuda_context.h"
#include "sinter/runtime/device_runtime.h"

namespace sinter {

// An error of `work` is passed on, and nothing is left of the recording. The context must outlive the result.
absl::StatusOr<std::unique_ptr<RecordedWork>> RecordGraph(const CudaContext& context,
                                                          const std::function<absl::Status()>& work);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_RECORDED_GRAPH_H_
