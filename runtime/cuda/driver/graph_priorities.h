// Which kernels of a recorded graph go first where several could: those on its longest chain.
//
//   SINTER_ASSIGN_OR_RETURN(bool has_any, SetGraphPriorities(graph));    // Before it is instantiated.
//
// A kernel that is not on the way of others, such as the update of a weight, otherwise takes all multiprocessors just before one
// that all others wait for. Blocks that run are not stopped: the next ones to take a place are those of the more urgent kernel.
#ifndef SINTER_RUNTIME_CUDA_DRIVER_GRAPH_PRIORITIES_H_
#define SINTER_RUNTIME_CUDA_DRIVER_GRAPH_PRIORITIES_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace sinter {

// For each of `nodes` nodes, by how many nodes the longest chain through it is shorter than the longest of all; 0: it is on that
// one. `edges`: {from, to}, without cycles.
std::vector<int64_t> FindSlack(size_t nodes, std::span<const std::pair<uint32_t, uint32_t>> edges);

// Kernels without slack get the current GPU's highest priority, others less by one for each node of slack, down to the lowest.
// Returns whether there are any now: a graph without branches, or of many kernels, stays as it is.
absl::StatusOr<bool> SetGraphPriorities(cudaGraph_t graph);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_DRIVER_GRAPH_PRIORITIES_H_
