// Sums of whole tensors among GPUs that write into each other's memory, each of which adds a share for all.
//
//   if (GoesInShares(collective)) bytes = ShareWorkspaceBytes(collective.size());
//
// Every GPU sends its terms of a share to the GPU that adds it, which sends the sum to all
// (kernels/cuda/exchange/exchange_kernel.h). So each GPU sends and receives 2 (n - 1) / n of the bytes for n
// ranks, the least that is possible (Patarasuk and Yuan, "Bandwidth Optimal All-reduce Algorithms for
// Clusters of Workstations", 2009). Elements are added in the order of the ranks.
#ifndef SINTER_RUNTIME_PLAN_SUM_SHARES_H_
#define SINTER_RUNTIME_PLAN_SUM_SHARES_H_

#include <cstddef>
#include <cstdint>

#include "sinter/runtime/plan/collective.h"

namespace sinter {

namespace fb {
struct Plan;
}  // namespace fb

// True if the kernels of GPUs add the elements: sums and means of f32, bf16 and f16 among several ranks.
bool AddsOnGpus(const CollectiveLayout& collective);

// True if GPUs that write into each other's memory add whole tensors in shares. Of smaller ones, each GPU
// reads all terms of all others; larger ones go by NCCL.
bool GoesInShares(const CollectiveLayout& collective);

// The bytes of other ranks' terms that a GPU of so many ranks keeps while it adds.
size_t ShareWorkspaceBytes(size_t ranks);
// Returns the largest workspace for sums in shares that the steps of a GPU of the plan need, if all GPUs can
// write into each other's memory.
size_t ShareWorkspaceBytes(const fb::Plan& plan, uint32_t device);

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_SUM_SHARES_H_
