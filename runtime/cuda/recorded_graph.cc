#include "sinter/runtime/cuda/recorded_graph.h"

#include <utility>

namespace sinter {
namespace {

class RecordedGraph : public RecordedWork {
 public:
  RecordedGraph(const CudaContext& context, cudaGraphExec_t graph) : context_(context), graph_(graph) {}
  ~RecordedGraph() override {
    const CudaDeviceScope on(context_.index());
    // A launch that is still running keeps what it needs.
    (void)cudaGraphExecDestroy(graph_);
  }

  absl::Status Launch() override {
    const CudaDeviceScope on(context_.index());
    return CudaStatus(cudaGraphLaunch(graph_, context_.stream()), "launch recorded work");
  }

 private:
  const CudaContext& context_;
  cudaGraphExec_t graph_;
};

struct GraphDeleter {
  void operator()(cudaGraph_t graph) const { (void)cudaGraphDestroy(graph); }
};

}  // namespace

absl::StatusOr<std::unique_ptr<RecordedWork>> RecordGraph(const CudaContext& context,
                                                          const std::function<absl::Status()>& work) {
  const CudaDeviceScope on(context.index());
  SINTER_RETURN_IF_ERROR(CudaStatus(
      cudaStreamBeginCapture(context.stream(), cudaStreamCaptureModeThreadLocal), "begin to record"));
  absl::Status worked = work();
  cudaGraph_t captured = nullptr;
  // Even after an error: the stream must leave capture mode.
  const cudaError_t ended = cudaStreamEndCapture(context.stream(), &captured);
  const std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, GraphDeleter> graph(captured);
  if (!worked.ok()) {
    (void)cudaGetLastError();
    return worked;
  }
  SINTER_RETURN_IF_ERROR(CudaStatus(ended, "record"));
  cudaGraphExec_t executable = nullptr;
  SINTER_RETURN_IF_ERROR(
      CudaStatus(cudaGraphInstantiate(&executable, graph.get(), 0), "prepare recorded work"));
  auto recorded = std::make_unique<RecordedGraph>(context, executable);
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaGraphUpload(executable, context.stream()), "upload recorded work"));
  return recorded;
}

}  // namespace sinter
