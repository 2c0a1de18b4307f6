// The processes that run one plan together, each with its share of the devices.
//
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<World> world, MpiWorld::Create());   // runtime/mpi/mpi_world.h
//   SINTER_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(plan), {.world = world.get()}));
//   SINTER_RETURN_IF_ERROR(session.Run("train", {{"x", my_rows}, {"y", my_labels}}).status());
//
// All processes make the same calls in the same order: they create the same sessions of the same plan and run
// the same functions. Every exchange carries a stamp with the sender's current call
// (runtime/world/call_stamp.h), so ranks at different calls get an error and never each other's values. A
// world of n processes divides the k devices of a plan into n contiguous blocks. Rank r runs devices [r * k /
// n, (r + 1) * k / n) of the plan. Its process names them cpu:0, cpu:1, ... or gpu:0, gpu:1, ...
//
// A world moves bytes of main memory and does not interpret them. Used by one thread at a time.
// Implementations: MpiWorld, and for tests LocalWorld (runtime/world/local_world.h), whose ranks are threads
// of one process.
#ifndef SINTER_RUNTIME_WORLD_WORLD_H_
#define SINTER_RUNTIME_WORLD_WORLD_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"

namespace sinter {

class World {
 public:
  // One message to or from another rank.
  struct Transfer {
    int peer = 0;          // Any rank but this one.
    void* data = nullptr;  // Only read if `is_send`.
    size_t bytes = 0;      // May be 0; equal on both sides.
    bool is_send = false;
  };
  // The work that a call belongs to. It must be equal on all ranks, or the ranks are out of step.
  struct Operation {
    std::string_view name;  // For errors: `all_reduce, function "train", step 14 (sum of gradients)`.
    uint32_t tag = 0;       // TagOf the exchange's number within its function.
    // For the work of a session. `session`: its number, from 1, in order of creation. `run`: the number, from
    // 1, of the session's run of functions that exchange between processes. `function`: the function's index.
    uint32_t session = 0;
    int64_t run = 0;
    uint32_t function = 0;
    // The call waits for the others for at most this time, and at most for the world's own limit, if it has
    // one. 0: only the latter.
    std::chrono::milliseconds patience{0};
  };

  // Tags are below it. One less than the tags that every MPI has, 0 to 32767 (MPI 3.1, section 8.1.2,
  // MPI_TAG_UB): the transport keeps one for itself.
  static constexpr uint32_t kTags = 32767;
  static constexpr uint32_t TagOf(size_t number) { return static_cast<uint32_t>(number % kTags); }

  virtual ~World() = default;

  virtual int rank() const = 0;  // 0 to size() - 1.
  virtual int size() const = 0;

  // Makes all transfers, in any order, and returns when all are done; the memory may then be reused. Messages
  // from one rank to another match in list order. Sinter allocates nothing after a call with as many
  // transfers. Unavailable if a rank does not answer, has ended, has given up or is at another call; the
  // message names the rank and the operation. So it is if the wait takes too long. The world is then broken:
  // every later call fails with the same error.
  virtual absl::Status Exchange(std::span<const Transfer> transfers, const Operation& operation) = 0;

  // Gathers `own`, of equal size on each rank, in rank order: `all` has size() times its bytes. Errors as
  // Exchange.
  virtual absl::Status AllGather(std::span<const std::byte> own, std::span<std::byte> all,
                                 const Operation& operation);

  // Unavailable, as Exchange, if a rank is known to have ended or given up. Sends nothing and does not wait,
  // so it can be polled while the GPUs exchange data.
  virtual absl::Status Check() { return absl::OkStatus(); }

  // False: the ranks exchange nothing, and each computes alone with values of its own. For tools that time
  // the steps of one rank of many.
  virtual bool connects() const { return true; }

  // Gives up this rank: pending and later calls of the others fail with this reason.
  virtual void Abort(std::string_view reason) = 0;

  // True if, after a failed exchange, a late message may still write into that exchange's memory. The memory
  // must then not be reused or freed until the process ends.
  virtual bool MayStillWrite() const { return false; }

  // Returns the number of the next session.
  uint32_t CountSession() { return ++sessions_; }

 private:
  uint32_t sessions_ = 0;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_WORLD_WORLD_H_
