// The processes that run one plan together, each with its share of the devices.
//
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<World> world, MpiWorld::Create());      // runtime/mpi/mpi_world.h
//   SINTER_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(plan), {.world = world.get()}));
//   SINTER_RETURN_IF_ERROR(session.Run("train", {{"x", my_rows}, {"y", my_labels}}).status());
//
// Every process makes the same calls in the same order: it creates the same sessions of the same plan and runs the same
// functions. Every message says what its sender is at (runtime/world/call_stamp.h), so that ranks which are not at the same thing get
// an error, and never each other's values. A plan of k devices in a world of n processes is cut in n contiguous blocks: rank r
// runs devices r * k / n to (r + 1) * k / n - 1 of the plan, which here are cpu:0, cpu:1, ... or gpu:0, gpu:1, ...
//
// A world moves bytes of main memory and knows nothing of what they mean. Used by one thread at a time. Implementations:
// MpiWorld, and LocalWorld (runtime/world/local_world.h), whose ranks are threads of one process, for tests.
#ifndef SINTER_RUNTIME_WORLD_WORLD_H_
#define SINTER_RUNTIME_WORLD_WORLD_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"

namespace sinter {

class World {
 public:
  // One message, to or from a rank.
  struct Transfer {
    int peer = 0;          // Another rank than this one.
    void* data = nullptr;  // Only read if it is sent.
    size_t bytes = 0;      // Of any size; both sides say the same.
    bool is_send = false;
  };
  // The work that a call is part of. The same on all sides, or the ranks are out of step.
  struct Operation {
    std::string_view name;  // For errors: `all_reduce, function "train", step 14 (sum of gradients)`.
    uint32_t tag = 0;       // Below 32768: which exchange of its function it is.
    // Of what a session does: which session it is, counted from 1 in the order in which they were created; which of its runs,
    // from 1, of functions that exchange between processes; and the index of the function.
    uint32_t session = 0;
    int64_t run = 0;
    uint32_t function = 0;
  };

  virtual ~World() = default;

  virtual int rank() const = 0;  // 0 to size() - 1.
  virtual int size() const = 0;

  // Makes all transfers, in any order, and returns when all are done: the memory may then be used again. Messages from one
  // rank to another are matched in the order of the lists. Allocates nothing of ours once it has seen as many transfers.
  // Unavailable: a rank does not answer, has ended, has given up or is at something else; the message names it and the
  // operation. The world is then broken: every later call fails alike.
  virtual absl::Status Exchange(std::span<const Transfer> transfers, const Operation& operation) = 0;

  // Everybody's bytes, as many on each rank, in the order of the ranks: `all` has size() times as many. Errors as Exchange.
  virtual absl::Status AllGather(std::span<const std::byte> own, std::span<std::byte> all,
                                 const Operation& operation);

  // Unavailable, as Exchange, if a rank is known to have ended or given up. Asks nobody and waits for nobody, so that it can
  // be called again and again while the GPUs exchange by themselves.
  virtual absl::Status Check() { return absl::OkStatus(); }

  // This rank gives up: calls of the others, now and later, fail with this reason.
  virtual void Abort(std::string_view reason) = 0;

  // After a failed exchange: a message may still come and be written where that exchange wanted it. The memory must then not
  // be used for anything else, nor be freed, as long as the process lives.
  virtual bool MayStillWrite() const { return false; }

  // The number of the next session.
  uint32_t CountSession() { return ++sessions_; }

 private:
  uint32_t sessions_ = 0;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_WORLD_WORLD_H_
