#include "sinter/runtime/cuda/context/captured_graph.h"

#include <algorithm>
#include <utility>

#include "sinter/runtime/cuda/driver/graph_priorities.h"

namespace sinter {
namespace {

class CudaCapturedGraph : public CapturedGraph {
 public:
  CudaCapturedGraph(const CudaContext& context, cudaGraphExec_t graph) : context_(context), graph_(graph) {}
  ~CudaCapturedGraph() override {
    const CudaDeviceScope on(context_.index());
    // CUDA keeps the resources of a launch that is still running.
    (void)cudaGraphExecDestroy(graph_);
  }

  absl::Status Launch() override {
    const CudaDeviceScope on(context_.index());
    return CudaStatus(cudaGraphLaunch(graph_, context_.stream()), "launch captured work");
  }

 private:
  const CudaContext& context_;
  cudaGraphExec_t graph_;
};

struct GraphDeleter {
  void operator()(cudaGraph_t graph) const { (void)cudaGraphDestroy(graph); }
};

absl::StatusOr<bool> AreKernels(std::span<const cudaGraphNode_t> nodes) {
  for (cudaGraphNode_t const node : nodes) {
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    SINTER_RETURN_IF_ERROR(CudaStatus(cudaGraphNodeGetType(node, &type), "see what was captured"));
    if (type != cudaGraphNodeTypeKernel) return false;
  }
  return !nodes.empty();
}

}  // namespace

absl::Status CaptureBranches::Begin(CudaContext& context, std::span<const uint32_t> before) {
  if (!context.switches().side_by_side) return absl::OkStatus();
  if (is_in_branch_) SINTER_RETURN_IF_ERROR(EndBranch(context));
  is_in_branch_ = true;
  std::vector<cudaGraphNode_t> nodes;
  for (const uint32_t branch : before) {
    nodes.insert(nodes.end(), last_nodes_[branch].begin(), last_nodes_[branch].end());
  }
  SINTER_ASSIGN_OR_RETURN(const bool only_kernels, AreKernels(nodes));
  context.set_may_start_early(only_kernels);
  return SetBefore(context, std::move(nodes));
}

absl::Status CaptureBranches::End(CudaContext& context) {
  context.set_may_start_early(true);
  if (!is_in_branch_) return absl::OkStatus();
  absl::Status status = EndBranch(context);
  std::vector<cudaGraphNode_t> nodes;
  for (const auto& branch : last_nodes_) nodes.insert(nodes.end(), branch.begin(), branch.end());
  if (status.ok()) status = SetBefore(context, std::move(nodes));
  is_in_branch_ = false;
  last_nodes_.clear();
  return status;
}

absl::Status CaptureBranches::EndBranch(const CudaContext& context) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaGraphNode_t* nodes = nullptr;
  // cudaStreamGetCaptureInfo fails without `edges` if the capture has programmatic edges (early starts).
  const cudaGraphEdgeData* edges = nullptr;
  size_t count = 0;
  SINTER_RETURN_IF_ERROR(CudaStatus(
      cudaStreamGetCaptureInfo(context.stream(), &status, nullptr, nullptr, &nodes, &edges, &count),
      "see the end of a captured step"));
  last_nodes_.emplace_back(nodes, nodes + count);
  return absl::OkStatus();
}

absl::Status CaptureBranches::SetBefore(const CudaContext& context,
                                        std::vector<cudaGraphNode_t> nodes) const {
  std::ranges::sort(nodes);
  const auto again = std::ranges::unique(nodes);
  nodes.erase(again.begin(), again.end());
  return CudaStatus(cudaStreamUpdateCaptureDependencies(context.stream(), nodes.data(), nullptr, nodes.size(),
                                                        cudaStreamSetCaptureDependencies),
                    "capture a step beside others");
}

absl::StatusOr<std::unique_ptr<CapturedGraph>> CaptureGraph(const CudaContext& context,
                                                            const std::function<absl::Status()>& work) {
  const CudaDeviceScope on(context.index());
  SINTER_RETURN_IF_ERROR(CudaStatus(
      cudaStreamBeginCapture(context.stream(), cudaStreamCaptureModeThreadLocal), "begin to capture"));
  absl::Status worked = work();
  cudaGraph_t captured = nullptr;
  // Also after an error: the stream must leave capture mode.
  const cudaError_t ended = cudaStreamEndCapture(context.stream(), &captured);
  const std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, GraphDeleter> graph(captured);
  if (!worked.ok()) {
    (void)cudaGetLastError();
    return worked;
  }
  SINTER_RETURN_IF_ERROR(CudaStatus(ended, "capture"));
  unsigned flags = 0;
  if (context.switches().priorities) {
    SINTER_ASSIGN_OR_RETURN(const bool has_priorities, SetGraphPriorities(graph.get()));
    if (has_priorities) flags = cudaGraphInstantiateFlagUseNodePriority;
  }
  cudaGraphExec_t executable = nullptr;
  SINTER_RETURN_IF_ERROR(
      CudaStatus(cudaGraphInstantiate(&executable, graph.get(), flags), "prepare captured work"));
  auto launchable = std::make_unique<CudaCapturedGraph>(context, executable);
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaGraphUpload(executable, context.stream()), "upload captured work"));
  return launchable;
}

}  // namespace sinter
