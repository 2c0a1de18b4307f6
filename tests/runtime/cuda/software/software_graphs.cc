// Stream captures and graphs of GPUs in software.
#include <algorithm>
#include <utility>

#include "sinter/tests/runtime/cuda/software/software_gpu.h"

namespace sinter::software {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

cudaGraphNode_t HandleOf(const Node& node) {
  return reinterpret_cast<cudaGraphNode_t>(const_cast<Node*>(&node));
}
size_t IndexOf(const Graph& graph, cudaGraphNode_t handle) {
  const auto found =
      std::ranges::find_if(graph.nodes, [&](const auto& node) { return HandleOf(*node) == handle; });
  return static_cast<size_t>(found - graph.nodes.begin());
}

// True if every node of `after` comes before a node of `last` or is one.
bool IsJoined(const Graph& graph, const std::vector<size_t>& after, std::vector<size_t> last) {
  std::set<size_t> reached;
  while (!last.empty()) {
    const size_t at = last.back();
    last.pop_back();
    if (!reached.insert(at).second) continue;
    last.insert(last.end(), graph.nodes[at]->before.begin(), graph.nodes[at]->before.end());
  }
  return std::ranges::all_of(after, [&](size_t node) { return reached.contains(node); });
}

// The work of the nodes, in the order of execution.
struct Executable {
  std::vector<MakeWork> work;
};

// Returns the nodes in reverse order, as far as the edges allow.
std::vector<size_t> LatestFirst(const Graph& graph) {
  std::vector<size_t> order;
  std::vector<bool> is_done(graph.nodes.size());
  while (order.size() < graph.nodes.size()) {
    for (size_t i = graph.nodes.size(); i-- > 0;) {
      const auto& before = graph.nodes[i]->before;
      if (is_done[i] || !std::ranges::all_of(before, [&](size_t node) { return is_done[node]; })) continue;
      order.push_back(i);
      is_done[i] = true;
      break;
    }
  }
  return order;
}

}  // namespace

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const Lock lock(TheMachine().mutex);
  if (Lost() != cudaSuccess) return Answer(Lost());
  Stream& s = *Of(stream);
  if (s.capture != nullptr) return Answer(cudaErrorIllegalState);
  s.capture = new Graph;
  s.is_origin = true;
  s.thread = std::this_thread::get_id();
  s.after.clear();
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* made) {
  const Lock lock(TheMachine().mutex);
  *made = nullptr;
  Stream& origin = *Of(stream);
  if (origin.capture == nullptr || !origin.is_origin) return Answer(cudaErrorIllegalState);
  Graph* const graph = origin.capture;
  bool is_joined = true;
  for (Stream* const other : TheMachine().streams) {
    if (other->capture != graph) continue;
    is_joined = is_joined && IsJoined(*graph, other->after, origin.after);
    other->capture = nullptr;
  }
  origin.is_origin = false;
  const cudaError_t code = graph->is_spoiled       ? cudaErrorStreamCaptureInvalidated
                           : !is_joined            ? cudaErrorStreamCaptureUnjoined
                           : Lost() != cudaSuccess ? Lost()
                                                   : cudaSuccess;
  if (code != cudaSuccess) {
    delete graph;
    return Answer(code);
  }
  *made = reinterpret_cast<cudaGraph_t>(graph);
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const Lock lock(TheMachine().mutex);
  const Graph* const graph = Of(stream)->capture;
  *status = graph == nullptr    ? cudaStreamCaptureStatusNone
            : graph->is_spoiled ? cudaStreamCaptureStatusInvalidated
                                : cudaStreamCaptureStatusActive;
  return Answer(Lost());
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long*, cudaGraph_t*, const cudaGraphNode_t** nodes,
                                     const cudaGraphEdgeData** edges, size_t* count) {
  const Lock lock(TheMachine().mutex);
  if (const cudaError_t code = software::cudaStreamIsCapturing(stream, status); code != cudaSuccess)
    return code;
  if (*status != cudaStreamCaptureStatusActive) return Answer(cudaErrorStreamCaptureInvalidated);
  Graph& graph = *Of(stream)->capture;
  graph.last.clear();
  for (const size_t node : Of(stream)->after) graph.last.push_back(HandleOf(*graph.nodes[node]));
  *nodes = graph.last.data();
  *edges = nullptr;
  *count = graph.last.size();
  return cudaSuccess;
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* nodes,
                                                const cudaGraphEdgeData*, size_t count, unsigned) {
  const Lock lock(TheMachine().mutex);
  Stream& s = *Of(stream);
  if (s.capture == nullptr || s.capture->is_spoiled) return Answer(cudaErrorStreamCaptureInvalidated);
  s.after.clear();
  for (size_t i = 0; i < count; ++i) s.after.push_back(IndexOf(*s.capture, nodes[i]));
  return Answer(Lost());
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const Lock lock(TheMachine().mutex);
  delete Of(graph);
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  const Lock lock(TheMachine().mutex);
  *count = Of(graph)->nodes.size();
  for (size_t i = 0; nodes != nullptr && i < *count; ++i) nodes[i] = HandleOf(*Of(graph)->nodes[i]);
  return Answer(Lost());
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              cudaGraphEdgeData*, size_t* count) {
  const Lock lock(TheMachine().mutex);
  *count = 0;
  for (const auto& node : Of(graph)->nodes) {
    for (const size_t before : node->before) {
      if (from != nullptr) {
        from[*count] = HandleOf(*Of(graph)->nodes[before]);
        to[*count] = HandleOf(*node);
      }
      ++*count;
    }
  }
  return Answer(Lost());
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  const Lock lock(TheMachine().mutex);
  *type = reinterpret_cast<const Node*>(node)->type;
  return Answer(Lost());
}

cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
                                            cudaLaunchAttributeValue* value) {
  const Lock lock(TheMachine().mutex);
  const auto& of = *reinterpret_cast<const Node*>(node);
  if (of.type != cudaGraphNodeTypeKernel || attribute != cudaLaunchAttributePriority) {
    return Answer(cudaErrorInvalidValue);
  }
  value->priority = of.priority;
  return Answer(Lost());
}

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
                                            const cudaLaunchAttributeValue* value) {
  const Lock lock(TheMachine().mutex);
  auto& of = *reinterpret_cast<Node*>(node);
  if (of.type != cudaGraphNodeTypeKernel || attribute != cudaLaunchAttributePriority) {
    return Answer(cudaErrorInvalidValue);
  }
  of.priority = value->priority;
  return Answer(Lost());
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  const Lock lock(TheMachine().mutex);
  if (Lost() != cudaSuccess) return Answer(Lost());
  auto* const executable = new Executable;
  for (const size_t node : LatestFirst(*Of(graph))) {
    executable->work.push_back(Of(graph)->nodes[node]->make);
  }
  *made = reinterpret_cast<cudaGraphExec_t>(executable);
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return Answer(Lost()); }

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const Lock lock(TheMachine().mutex);
  if (Lost() != cudaSuccess) return Answer(Lost());
  for (const MakeWork& make : reinterpret_cast<Executable*>(executable)->work) {
    Of(stream)->work.push_back(make());
  }
  return cudaSuccess;
}

// A running launch keeps its own work.
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  const Lock lock(TheMachine().mutex);
  delete reinterpret_cast<Executable*>(executable);
  return Answer(Lost());
}

}  // namespace sinter::software
