// Carries the beats of runtime/host/liveness.h between all ranks, several times a second, by a thread of its own; and looks whether
// the processes of this machine still exist.
//
//   Liveness liveness(rank, size, std::chrono::seconds(4), now);
//   Heartbeat heart(communicator, &mpi_mutex, &liveness);
//   SINTER_RETURN_IF_ERROR(heart.Start(rank, size));
//   heart.Stop(std::chrono::seconds(1));
#ifndef SINTER_RUNTIME_MPI_HEARTBEAT_H_
#define SINTER_RUNTIME_MPI_HEARTBEAT_H_

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "sinter/runtime/host/liveness.h"
#include "sinter/runtime/mpi/process_identity.h"

namespace sinter {

class Heartbeat {
 public:
  // All ranks of the communicator, which it has for itself, make one. The mutex guards every call of MPI. All three outlive
  // it.
  Heartbeat(MPI_Comm communicator, std::mutex* mpi, Liveness* liveness)
      : communicator_(communicator), mpi_(mpi), liveness_(liveness) {}
  ~Heartbeat();

  // All ranks call it. Unavailable: MPI fails.
  absl::Status Start(int rank, int size);

  // Looks now at the processes that can be seen from here.
  void LookForEnded();
  // Returns when the others were told what was said, or could not be for so long. The thread has then ended.
  void Stop(std::chrono::milliseconds patience);

 private:
  using Clock = std::chrono::steady_clock;
  struct Peer {
    int rank;
    std::optional<ProcessIdentity> process;  // If it can be seen from here.
    Liveness::Beat in, out;
    MPI_Request receiving = MPI_REQUEST_NULL, sending = MPI_REQUEST_NULL;
    uint64_t told = 0;  // What it was sent last: the number of the saying.
  };

  absl::Status Expect(Peer& peer) const;
  // Nothing reaches the peers' memory from then on; or it is never freed.
  void EndRequests();
  void Run();
  // One round, with both mutexes. True: it was the last one.
  bool Tick(Clock::time_point now);
  void Listen(Peer& peer, Clock::time_point now);
  void Tell(Peer& peer, const Liveness::Said& said);
  bool IsAllTold(uint64_t number) const;

  MPI_Comm const communicator_;  // NOLINT(misc-misplaced-const): a pointer with Open MPI.
  std::mutex* const mpi_;
  Liveness* const liveness_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::mutex mutex_;  // Of when it stops; taken after *mpi_.
  bool is_stopping_ = false;
  Clock::time_point stop_by_;
  std::thread thread_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_MPI_HEARTBEAT_H_
