// Whether one GPU reads another's memory directly, and letting it.
//
//   SINTER_ASSIGN_OR_RETURN(bool direct, EnablePeerAccess(/*reader=*/0, /*owner=*/1));
//
// Set SINTER_DISABLE_P2P=1 where such reads are broken or switched off (some virtual machines claim them and give wrong
// bytes): copies then go through pinned memory.
#ifndef SINTER_RUNTIME_CUDA_DRIVER_PEER_ACCESS_H_
#define SINTER_RUNTIME_CUDA_DRIVER_PEER_ACCESS_H_

#include "absl/status/statusor.h"

namespace sinter {

// False: it cannot, or the environment forbids it, which holds for a GPU and itself too. What a pair can do is asked once.
absl::StatusOr<bool> EnablePeerAccess(int reader, int owner);

// Whether SINTER_DISABLE_P2P is set to 1. InvalidArgument: neither unset, 0 nor 1.
absl::StatusOr<bool> PeerAccessIsDisabled();

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_DRIVER_PEER_ACCESS_H_
