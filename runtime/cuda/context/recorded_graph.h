// Work of a stream, captured into a CUDA graph: one launch in place of one a step.
//
//   SINTER_ASSIGN_OR_RETURN(auto recorded, RecordGraph(context, [&] { return step->Run(args); }));
//   SINTER_RETURN_IF_ERROR(recorded->Launch());
//
// The graph holds the addresses that it was recorded with. While a thread records, calls of its own that would wait for
// the GPU or allocate its memory are errors; other threads are free to.
#ifndef SINTER_RUNTIME_CUDA_CONTEXT_RECORDED_GRAPH_H_
#define SINTER_RUNTIME_CUDA_CONTEXT_RECORDED_GRAPH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/runtime/cuda/context/cuda_context.h"
#include "sinter/runtime/device/device_runtime.h"

namespace sinter {

// Pieces of a recording, begun and ended within its work, that say themselves what they come after (DeviceRuntime::BeginPiece):
// branches of the graph.
class RecordedPieces {
 public:
  // Where the context's switches say no to side_by_side, pieces stay in the order in which they are given.
  absl::Status Begin(CudaContext& context, std::span<const uint32_t> before);
  // Of this recording; then there are none.
  absl::Status End(CudaContext& context);

 private:
  absl::Status EndPiece(const CudaContext& context);
  absl::Status SetBefore(const CudaContext& context, std::vector<cudaGraphNode_t> nodes) const;

  bool is_in_piece_ = false;
  std::vector<std::vector<cudaGraphNode_t>> last_nodes_;  // Of each piece that has ended.
};

// An error of `work` is passed on, and nothing is left of the recording. The context must outlive the result.
absl::StatusOr<std::unique_ptr<RecordedWork>> RecordGraph(const CudaContext& context,
                                                          const std::function<absl::Status()>& work);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CONTEXT_RECORDED_GRAPH_H_
