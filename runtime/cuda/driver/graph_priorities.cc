#include "sinter/runtime/cuda/driver/graph_priorities.h"

#include <algorithm>
#include <unordered_map>

#include "sinter/runtime/cuda/driver/cuda_status.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

// Larger programs fill the GPU with one kernel after another, so priorities have no effect
// (docs/performance-notes.md).
constexpr size_t kMostNodes = 256;

// Returns for each node the number of nodes of the longest chain that ends at it. If `is_reversed`, the edges
// are reversed.
std::vector<int64_t> LongestTo(size_t nodes, std::span<const std::pair<uint32_t, uint32_t>> edges,
                               bool is_reversed) {
  std::vector<std::vector<uint32_t>> after(nodes);
  std::vector<size_t> waits_for(nodes);
  for (auto [from, to] : edges) {
    if (is_reversed) std::swap(from, to);
    after[from].push_back(to);
    ++waits_for[to];
  }
  std::vector<int64_t> longest(nodes, 1);
  std::vector<uint32_t> ready;
  for (uint32_t i = 0; i < nodes; ++i) {
    if (waits_for[i] == 0) ready.push_back(i);
  }
  for (size_t at = 0; at < ready.size(); ++at) {
    for (const uint32_t next : after[ready[at]]) {
      longest[next] = std::max(longest[next], longest[ready[at]] + 1);
      if (--waits_for[next] == 0) ready.push_back(next);
    }
  }
  return longest;
}

absl::StatusOr<std::vector<cudaGraphNode_t>> NodesOf(cudaGraph_t graph) {
  size_t count = 0;
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaGraphGetNodes(graph, nullptr, &count), "count what was captured"));
  std::vector<cudaGraphNode_t> nodes(count);
  SINTER_RETURN_IF_ERROR(
      CudaStatus(cudaGraphGetNodes(graph, nodes.data(), &count), "list what was captured"));
  return nodes;
}

absl::StatusOr<std::vector<std::pair<uint32_t, uint32_t>>> EdgesOf(
    cudaGraph_t graph, const std::unordered_map<cudaGraphNode_t, uint32_t>& numbers) {
  size_t count = 0;
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count),
                                    "count the order of a capture"));
  std::vector<cudaGraphNode_t> from(count), to(count);
  // cudaGraphGetEdges fails without `data` if the graph has programmatic edges (early starts).
  std::vector<cudaGraphEdgeData> data(count);
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaGraphGetEdges(graph, from.data(), to.data(), data.data(), &count),
                                    "see the order of a capture"));
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (size_t i = 0; i < count; ++i) edges.emplace_back(numbers.at(from[i]), numbers.at(to[i]));
  return edges;
}

}  // namespace

std::vector<int64_t> FindSlack(size_t nodes, std::span<const std::pair<uint32_t, uint32_t>> edges) {
  const std::vector<int64_t> to = LongestTo(nodes, edges, false), from = LongestTo(nodes, edges, true);
  std::vector<int64_t> slack;
  int64_t longest = 0;
  for (size_t i = 0; i < nodes; ++i) longest = std::max(longest, to[i] + from[i]);
  for (size_t i = 0; i < nodes; ++i) slack.push_back(longest - to[i] - from[i]);
  return slack;
}

absl::StatusOr<bool> SetGraphPriorities(cudaGraph_t graph) {
  SINTER_ASSIGN_OR_RETURN(const std::vector<cudaGraphNode_t> nodes, NodesOf(graph));
  if (nodes.size() > kMostNodes) return false;
  std::unordered_map<cudaGraphNode_t, uint32_t> numbers;
  for (uint32_t i = 0; i < nodes.size(); ++i) numbers[nodes[i]] = i;
  SINTER_ASSIGN_OR_RETURN(const auto edges, EdgesOf(graph, numbers));
  const std::vector<int64_t> slack = FindSlack(nodes.size(), edges);
  if (std::ranges::all_of(slack, [](int64_t s) { return s == 0; })) return false;
  // Smaller numbers are higher priorities.
  int lowest = 0, highest = 0;
  SINTER_RETURN_IF_ERROR(
      CudaStatus(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "ask for priorities"));
  for (size_t i = 0; i < nodes.size(); ++i) {
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    SINTER_RETURN_IF_ERROR(CudaStatus(cudaGraphNodeGetType(nodes[i], &type), "see what was captured"));
    if (type != cudaGraphNodeTypeKernel) continue;
    cudaLaunchAttributeValue value = {};
    SINTER_RETURN_IF_ERROR(CudaStatus(
        cudaGraphKernelNodeGetAttribute(nodes[i], cudaLaunchAttributePriority, &value), "see a priority"));
    if (value.priority == highest) continue;
    value.priority = static_cast<int>(std::min<int64_t>(highest + slack[i], lowest));
    SINTER_RETURN_IF_ERROR(CudaStatus(
        cudaGraphKernelNodeSetAttribute(nodes[i], cudaLaunchAttributePriority, &value), "set a priority"));
  }
  return true;
}

}  // namespace sinter
