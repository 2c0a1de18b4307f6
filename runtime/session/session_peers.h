// The processes of a session that save or load together.
//
//   const SessionPeers peers = SessionPeers::Of(state.buffers());      // Or SessionPeers(): none.
//   SINTER_RETURN_IF_ERROR(peers.Agree("opening a file", own));        // An error if one of any process.
//   SINTER_ASSIGN_OR_RETURN(std::vector<uint32_t> all, peers.Gather(terms, "checking a file", kTag));
#ifndef SINTER_RUNTIME_SESSION_SESSION_PEERS_H_
#define SINTER_RUNTIME_SESSION_SESSION_PEERS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/execute/session_memory.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/world/world.h"
#include "sinter/runtime/world/world_agreement.h"

namespace sinter::internal_session {

struct SessionPeers {
  World* world = nullptr;  // Null if there is one process.
  uint32_t session = 0;
  // True if this process acts for itself, whatever the others do.
  bool is_alone = true;

  static SessionPeers Of(const SessionBuffers& buffers) {
    return {buffers.world, buffers.session, /*is_alone=*/false};
  }

  int rank() const { return world == nullptr ? 0 : world->rank(); }
  int size() const { return world == nullptr ? 1 : world->size(); }
  // Returns `own` if it is an error, else the error of another process. All must make the same `call`.
  absl::Status Agree(const std::string& call, const absl::Status& own) const {
    return AgreeOnCall(world, session, call, own);
  }
  // Gathers a list of equal length from each process, in the order of ranks.
  template <typename T>
  absl::StatusOr<std::vector<T>> Gather(const std::vector<T>& own, std::string_view name,
                                        uint32_t tag) const {
    if (size() == 1) return own;
    std::vector<T> all(own.size() * static_cast<size_t>(size()));
    SINTER_RETURN_IF_ERROR(world->AllGather(std::as_bytes(std::span(own)),
                                            std::as_writable_bytes(std::span(all)),
                                            {.name = name, .tag = tag, .session = session}));
    return all;
  }
};

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_SESSION_SESSION_PEERS_H_
