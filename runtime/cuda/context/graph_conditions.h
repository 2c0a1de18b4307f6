// Conditional nodes of a CUDA graph: a part of a capture that the GPU runs again and again, or not at all, as
// a byte in its memory decides.
//
//   SINTER_ASSIGN_OR_RETURN(auto conditions, GraphConditions::Load());
//   conditions->Capture(context, {.flag = flag, .count = n, .trips = 9}, [&] { return step->Run(args); });
//
// The part of the capture before the node ends, its body is captured into the node's own graph, and the
// capture goes on behind the node. So other streams must have joined the capture's stream before.
//
// A body may have what kernels and copies within the GPU's memory enqueue, and further conditions. Needs a
// driver of CUDA 12.4.
#ifndef SINTER_RUNTIME_CUDA_CONTEXT_GRAPH_CONDITIONS_H_
#define SINTER_RUNTIME_CUDA_CONTEXT_GRAPH_CONDITIONS_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/cuda/context/cuda_context.h"

namespace sinter {

class GraphConditions {
 public:
  // Loads the kernels that set conditions, for the current GPU. FailedPrecondition: the driver has no
  // conditional nodes.
  static absl::StatusOr<std::unique_ptr<GraphConditions>> Load();
  ~GraphConditions();
  GraphConditions(const GraphConditions&) = delete;
  GraphConditions& operator=(const GraphConditions&) = delete;

  struct Condition {
    const void* flag = nullptr;  // A byte: not 0 if the body runs.
    void* count = nullptr;       // 8 bytes, which the kernels use.
    int64_t trips = 1;           // The body runs at most so often.
  };
  // Within a capture of the context's stream: captures `body` as what runs while the condition holds.
  absl::Status Capture(CudaContext& context, const Condition& condition,
                       absl::FunctionRef<absl::Status()> body);

 private:
  GraphConditions() = default;

  cudaLibrary_t library_ = nullptr;
  const void* begin_ = nullptr;
  const void* end_ = nullptr;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CONTEXT_GRAPH_CONDITIONS_H_
