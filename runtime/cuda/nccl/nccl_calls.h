// Which calls of NCCL are one member's part in a collective.
//
//   SINTER_ASSIGN_OR_RETURN(const NcclTypes types, NcclTypesOf(collective));
//   for (const NcclCall& call : NcclCallsOf(collective, rank, first_output)) ...    // All of them in one group.
//
// Decided when the step is made; nothing here needs a GPU. Equal parts are one call of NCCL's own, unequal ones of an
// all_gather are a broadcast from each rank, of a reduce_scatter a reduction to each. all_to_all and send_recv are sends and
// receives. Flat tensors are one call. Parts without elements are left out, on all ranks alike.
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

// Unimplemented: NCCL has no such elements.
absl::StatusOr<NcclTypes> NcclTypesOf(const Collective& collective);

struct NcclCall {
  enum class Kind : uint8_t { kAllReduce, kReduce, kBroadcast, kAllGather, kReduceScatter, kSend, kRecv };
  // Where in memory: a pointer of StepArgs::buffers, and bytes behind it.
  struct Place {
    int buffer = -1;  // Negative: null.
    size_t offset = 0;

    friend bool operator==(const Place&, const Place&) = default;
  };

  Kind kind;
  Place from, to;
  size_t count;  // Elements, as NCCL counts them: of all_gather and reduce_scatter those of one rank.
  int peer = 0;  // The root, or whom it is sent to or received from.

  friend bool operator==(const NcclCall&, const NcclCall&) = default;
};

// `first_output`: the position of the outputs in StepArgs::buffers, behind the inputs.
std::vector<NcclCall> NcclCallsOf(const Collective& collective, uint32_t rank, int first_output);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_NCCL_NCCL_CALLS_H_
