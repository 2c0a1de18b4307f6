// Enables direct access of one GPU to another GPU's memory, if the hardware supports it.
//
//   SINTER_ASSIGN_OR_RETURN(bool direct, EnablePeerAccess(/*reader=*/0, /*owner=*/1));
//
// Set SINTER_DISABLE_P2P=1 if direct access is broken or disabled: some virtual machines report it as
// supported but return wrong bytes. Copies then go through pinned memory, and exchanges by NCCL, which has a
// switch of its own, NCCL_P2P_DISABLE.
#ifndef SINTER_RUNTIME_CUDA_DRIVER_PEER_ACCESS_H_
#define SINTER_RUNTIME_CUDA_DRIVER_PEER_ACCESS_H_

#include "absl/status/statusor.h"

namespace sinter {

// True if `reader` can access `owner`'s memory directly. False if SINTER_DISABLE_P2P is 1, even if both are
// the same GPU. CUDA is queried once for each pair.
absl::StatusOr<bool> EnablePeerAccess(int reader, int owner);

// True if SINTER_DISABLE_P2P is 1. InvalidArgument unless it is unset, empty, 0 or 1.
absl::StatusOr<bool> PeerAccessIsDisabled();

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_DRIVER_PEER_ACCESS_H_
