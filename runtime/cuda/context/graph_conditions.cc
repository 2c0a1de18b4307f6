#include "sinter/runtime/cuda/context/graph_conditions.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/kernels/cuda/condition/condition_kernel.h"
#include "sinter/runtime/cuda/driver/cuda_status.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

constexpr int kLeastDriver = 12040;

// The graph that a stream captures into, and the nodes that its next work follows.
struct Position {
  cudaGraph_t graph = nullptr;
  std::vector<cudaGraphNode_t> nodes;
};

absl::StatusOr<Position> PositionOf(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  Position position;
  const cudaGraphNode_t* nodes = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  size_t count = 0;
  SINTER_RETURN_IF_ERROR(
      CudaStatus(cudaStreamGetCaptureInfo(stream, &status, nullptr, &position.graph, &nodes, &edges, &count),
                 "see where a capture is"));
  position.nodes.assign(nodes, nodes + count);
  return position;
}

absl::Status LaunchOne(const void* kernel, kernels::ConditionParameters parameters, cudaStream_t stream) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(1);
  config.stream = stream;
  void* arguments[] = {&parameters};
  return CudaStatus(cudaLaunchKernelExC(&config, kernel, arguments), "launch a condition");
}

absl::Status BeginCaptureTo(cudaStream_t stream, cudaGraph_t graph, std::vector<cudaGraphNode_t> after) {
  return CudaStatus(cudaStreamBeginCaptureToGraph(stream, graph, after.data(), nullptr, after.size(),
                                                  cudaStreamCaptureModeThreadLocal),
                    "capture a part of a graph");
}

absl::Status EndCapture(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  return CudaStatus(cudaStreamEndCapture(stream, &graph), "end the capture of a part of a graph");
}

absl::StatusOr<cudaGraph_t> AddNode(const Position& after, cudaGraphConditionalHandle handle, bool repeats,
                                    cudaGraphNode_t& node) {
  cudaGraphNodeParams parameters = {};
  parameters.type = cudaGraphNodeTypeConditional;
  parameters.conditional.handle = handle;
  parameters.conditional.type = repeats ? cudaGraphCondTypeWhile : cudaGraphCondTypeIf;
  parameters.conditional.size = 1;
  SINTER_RETURN_IF_ERROR(CudaStatus(
      cudaGraphAddNode(&node, after.graph, after.nodes.data(), nullptr, after.nodes.size(), &parameters),
      "add a condition to a graph"));
  return parameters.conditional.phGraph_out[0];
}

}  // namespace

absl::StatusOr<std::unique_ptr<GraphConditions>> GraphConditions::Load() {
  int driver = 0;
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaDriverGetVersion(&driver), "ask for the driver's version"));
  if (driver < kLeastDriver) {
    return absl::FailedPreconditionError(
        absl::StrCat("the plan has conditions, which need a driver of CUDA 12.4; this one is of CUDA ",
                     driver / 1000, ".", driver % 1000 / 10));
  }
  std::unique_ptr<GraphConditions> made(new GraphConditions);
  SINTER_RETURN_IF_ERROR(CudaStatus(
      cudaLibraryLoadData(&made->library_, kernels::ConditionPtx(), nullptr, nullptr, 0, nullptr, nullptr, 0),
      "load the kernels of conditions"));
  for (const auto& [name, found] : {std::pair(kernels::kBeginTripsKernel, &made->begin_),
                                    std::pair(kernels::kEndTripKernel, &made->end_)}) {
    cudaKernel_t kernel = nullptr;
    SINTER_RETURN_IF_ERROR(
        CudaStatus(cudaLibraryGetKernel(&kernel, made->library_, name), "find a kernel of conditions"));
    *found = reinterpret_cast<const void*>(kernel);
    // Loads the kernel: a capture cannot.
    cudaFuncAttributes attributes = {};
    SINTER_RETURN_IF_ERROR(
        CudaStatus(cudaFuncGetAttributes(&attributes, *found), "load a kernel of conditions"));
  }
  return made;
}

GraphConditions::~GraphConditions() {
  if (library_ != nullptr) (void)cudaLibraryUnload(library_);
}

absl::Status GraphConditions::Capture(CudaContext& context, const Condition& condition,
                                      absl::FunctionRef<absl::Status()> body) {
  cudaStream_t const stream = context.stream();
  const bool repeats = condition.trips > 1;
  SINTER_ASSIGN_OR_RETURN(const Position before, PositionOf(stream));
  cudaGraphConditionalHandle handle = 0;
  SINTER_RETURN_IF_ERROR(
      CudaStatus(cudaGraphConditionalHandleCreate(&handle, before.graph, 0, 0), "make a condition"));
  const kernels::ConditionParameters parameters = {
      .handle = handle,
      .flag = static_cast<const uint8_t*>(condition.flag),
      .count = repeats ? static_cast<uint64_t*>(condition.count) : nullptr,
      .trips = static_cast<uint64_t>(condition.trips)};
  SINTER_RETURN_IF_ERROR(LaunchOne(begin_, parameters, stream));
  SINTER_ASSIGN_OR_RETURN(const Position begun, PositionOf(stream));
  cudaGraphNode_t node = nullptr;
  SINTER_ASSIGN_OR_RETURN(cudaGraph_t const inside, AddNode(begun, handle, repeats, node));
  SINTER_RETURN_IF_ERROR(EndCapture(stream));
  absl::Status status = BeginCaptureTo(stream, inside, {});
  if (status.ok()) {
    context.set_may_start_early(true);
    status = body();
    if (status.ok() && repeats) status = LaunchOne(end_, parameters, stream);
    const absl::Status ended = EndCapture(stream);
    if (status.ok()) status = ended;
  }
  // Also after an error: the caller ends this capture. Kernels start early behind kernels alone.
  context.set_may_start_early(false);
  const absl::Status goes_on = BeginCaptureTo(stream, begun.graph, {node});
  return status.ok() ? goes_on : status;
}

}  // namespace sinter
