// Who of the ranks is alive: every rank tells every other several times a second, from a thread of its own.
//
//   Heartbeat heart(communicator, &mpi_mutex, std::chrono::seconds(5));
//   if (std::optional<std::string> failure = heart.failure()) ...      // `rank 2 does not answer`
//   heart.Say(Heartbeat::State::kLeaving, "");
//
// What one rank finds of another it tells all, so that all give the same reason at nearly the same time. A process that was
// itself stopped for a while does not blame the others.
#ifndef SINTER_RUNTIME_MPI_HEARTBEAT_H_
#define SINTER_RUNTIME_MPI_HEARTBEAT_H_

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "sinter/runtime/mpi/process_identity.h"

namespace sinter {

class Heartbeat {
 public:
  enum class State : int32_t { kAlive, kLeaving, kBroken };

  // All ranks of the communicator, which it has for itself, make one. The mutex guards every call of MPI. All three outlive
  // it.
  Heartbeat(MPI_Comm communicator, std::mutex* mpi, std::chrono::milliseconds silence);
  ~Heartbeat();

  // The first thing that went wrong anywhere; nothing while nothing has.
  std::optional<std::string> failure() const;
  bool HasLeft(int rank) const;
  bool HaveAllLeft() const;
  // What others are told from now on. kBroken is this rank's failure too.
  void Say(State state, std::string_view reason);
  // Looks now at the processes that can be seen from here.
  void LookForEnded();
  // Returns when the others were told what was said, or could not be for so long. The thread has then ended.
  void Stop(std::chrono::milliseconds patience);

 private:
  using Clock = std::chrono::steady_clock;
  struct Beat {
    State state = State::kAlive;
    char reason[252] = {};
  };
  struct Peer {
    int rank;
    std::optional<ProcessIdentity> process;  // If it can be seen from here.
    Clock::time_point heard;
    bool has_left = false;
    Beat in, out;
    MPI_Request receiving = MPI_REQUEST_NULL, sending = MPI_REQUEST_NULL;
    uint64_t told = 0;  // What it was sent last: the number of the saying.
  };

  void Run();
  // One round, with both mutexes.
  void Tick(Clock::time_point now);
  void Listen(Peer& peer, Clock::time_point now);
  void Tell(Peer& peer);
  void Fail(std::string reason);
  bool IsAllTold() const;

  MPI_Comm const communicator_;  // NOLINT(misc-misplaced-const): a pointer with Open MPI.
  std::mutex* const mpi_;
  const std::chrono::milliseconds silence_;
  std::vector<std::unique_ptr<Peer>> peers_;
  // Guards what is said and found; taken after *mpi_.
  mutable std::mutex mutex_;
  Beat own_;
  uint64_t saying_ = 1;
  std::optional<std::string> failure_;
  bool is_stopping_ = false;
  Clock::time_point stop_by_;
  Clock::time_point last_tick_;
  std::thread thread_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_MPI_HEARTBEAT_H_
