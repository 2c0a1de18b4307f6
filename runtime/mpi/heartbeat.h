// Carries the beats of runtime/host/liveness.h between all ranks, several times a second, on its own thread.
// It also checks whether the processes of this machine still exist.
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
  // All ranks of the communicator make one instance. It needs the communicator for itself. The mutex guards
  // every MPI call. All three arguments must outlive the instance.
  Heartbeat(MPI_Comm communicator, std::mutex* mpi, Liveness* liveness)
      : communicator_(communicator), mpi_(mpi), liveness_(liveness) {}
  ~Heartbeat();

  // All ranks call it. Unavailable if MPI fails.
  absl::Status Start(int rank, int size);

  // Checks now whether the visible processes (those of this machine) still exist.
  void LookForEnded();
  // Ends the thread after all other ranks have received the last state, or after `patience`.
  void Stop(std::chrono::milliseconds patience);

 private:
  using Clock = std::chrono::steady_clock;
  struct Peer {
    int rank;
    std::optional<ProcessIdentity> process;  // nullopt if not visible from this process.
    Liveness::Beat in, out;
    MPI_Request receiving = MPI_REQUEST_NULL, sending = MPI_REQUEST_NULL;
    uint64_t told = 0;  // Number of the last state sent (Liveness::Said::number).
  };

  absl::Status Expect(Peer& peer) const;
  // Ends all requests. Afterwards nothing writes to the peers' memory, or that memory is never freed.
  void EndRequests();
  void Run();
  // Runs one round, with both mutexes held. True if it was the last one.
  bool Tick(Clock::time_point now);
  void Listen(Peer& peer, Clock::time_point now);
  void Tell(Peer& peer, const Liveness::Said& said);
  bool IsAllTold(uint64_t number) const;

  MPI_Comm const communicator_;  // NOLINT(misc-misplaced-const): a pointer with Open MPI.
  std::mutex* const mpi_;
  Liveness* const liveness_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::mutex mutex_;  // Guards the stop members; taken after *mpi_.
  bool is_stopping_ = false;
  Clock::time_point stop_by_;
  std::thread thread_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_MPI_HEARTBEAT_H_
