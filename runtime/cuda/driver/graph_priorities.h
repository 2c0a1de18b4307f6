// Sets the priorities of a captured graph's kernels: kernels on its longest chain run first.
//
//   SINTER_ASSIGN_OR_RETURN(bool has_any, SetGraphPriorities(graph));    // Before the graph is instantiated.
//
// Without priorities, a kernel that no other kernel waits for, such as a weight update, may occupy all
// multiprocessors just before a kernel that all others wait for. Running blocks are not stopped: a freed
// multiprocessor takes its next block from the kernel with the higher priority.
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

// Returns, for each of `nodes` nodes, how many nodes the longest chain through it is shorter than the longest
// chain of the graph. Nodes on a longest chain have slack 0. `edges`: {from, to}, without cycles.
std::vector<int64_t> FindSlack(size_t nodes, std::span<const std::pair<uint32_t, uint32_t>> edges);

// Kernels without slack get the current GPU's highest priority. Each node of slack lowers the priority by
// one, down to the lowest. Kernels that were captured with the highest priority keep it: those of exchanges,
// which another GPU waits for too. Returns false, and changes nothing, for a graph without branches or with
// too many nodes.
absl::StatusOr<bool> SetGraphPriorities(cudaGraph_t graph);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_DRIVER_GRAPH_PRIORITIES_H_
