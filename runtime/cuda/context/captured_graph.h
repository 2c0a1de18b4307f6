// Captures work of a stream in a CUDA graph, which replaces one launch per step by a single launch.
//
//   SINTER_ASSIGN_OR_RETURN(auto captured, CaptureGraph(context, [&] { return step->Run(args); }));
//   SINTER_RETURN_IF_ERROR(captured->Launch());
//
// The graph contains the addresses of the capture. During a capture, the capturing thread must not wait for
// the GPU or allocate GPU memory: such calls fail. Other threads may.
#ifndef SINTER_RUNTIME_CUDA_CONTEXT_CAPTURED_GRAPH_H_
#define SINTER_RUNTIME_CUDA_CONTEXT_CAPTURED_GRAPH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/runtime/cuda/context/cuda_context.h"
#include "sinter/runtime/device/device_runtime.h"

namespace sinter {

// The branches of a capture: parts that begin and end within its work and name their predecessors
// (DeviceRuntime::BeginBranch).
class CaptureBranches {
 public:
  // Begins a branch after the branches `before`. Without side_by_side in the context's switches, branches run
  // in order.
  absl::Status Begin(CudaContext& context, std::span<const uint32_t> before);
  // Ends the last branch, makes later work wait for all branches, and forgets them.
  absl::Status End(CudaContext& context);

 private:
  absl::Status EndBranch(const CudaContext& context);
  absl::Status SetBefore(const CudaContext& context, std::vector<cudaGraphNode_t> nodes) const;

  bool is_in_branch_ = false;
  std::vector<std::vector<cudaGraphNode_t>> last_nodes_;  // The last nodes of each branch that has ended.
};

// Captures `work`. Returns its error, if any, and then discards the capture. The context must outlive the
// result.
absl::StatusOr<std::unique_ptr<CapturedGraph>> CaptureGraph(const CudaContext& context,
                                                            const std::function<absl::Status()>& work);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CONTEXT_CAPTURED_GRAPH_H_
