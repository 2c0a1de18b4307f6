// Translates one member's part of a collective into NCCL calls.
//
//   SINTER_ASSIGN_OR_RETURN(const NcclTypes types, NcclTypesOf(collective));
//   for (const NcclCall& call : NcclCallsOf(collective, rank, first_output)) ...    // All in one group.
//
// The calls are determined when the step is made; this code needs no GPU. all_gather and reduce_scatter with
// equal parts are one NCCL call. With unequal parts, all_gather is a broadcast from each rank, and
// reduce_scatter is a reduction to each rank. Other kinds that only move elements are sends and receives.
// Flat tensors are one call. Empty parts are omitted on all ranks.
#ifndef SINTER_RUNTIME_CUDA_NCCL_NCCL_CALLS_H_
#define SINTER_RUNTIME_CUDA_NCCL_NCCL_CALLS_H_

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/runtime/plan/collective.h"

namespace sinter {

struct NcclTypes {
  ncclDataType_t dtype;
  ncclRedOp_t combine;
};

// Returns NCCL's types. Unimplemented if NCCL does not support the element type.
absl::StatusOr<NcclTypes> NcclTypesOf(const CollectiveLayout& collective);

struct NcclCall {
  enum class Kind : uint8_t { kAllReduce, kReduce, kBroadcast, kAllGather, kReduceScatter, kSend, kRecv };
  // A memory position: an index into StepArgs::buffers and an offset in bytes.
  struct Place {
    int buffer = -1;  // Negative for a null pointer.
    size_t offset = 0;

    friend bool operator==(const Place&, const Place&) = default;
  };

  Kind kind;
  Place from, to;
  size_t count;  // Number of elements; for all_gather and reduce_scatter, the elements of one rank.
  int peer = 0;  // The root, or the rank to send to or receive from.

  friend bool operator==(const NcclCall&, const NcclCall&) = default;
};

// `first_output`: the index of the first output in StepArgs::buffers, after the inputs.
std::vector<NcclCall> NcclCallsOf(const CollectiveLayout& collective, uint32_t rank, int first_output);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_NCCL_NCCL_CALLS_H_
