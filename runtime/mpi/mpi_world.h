// The world of the processes that mpirun has started (runtime/world/world.h).
//
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<MpiWorld> world, MpiWorld::Create());
//   SINTER_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(plan), {.world = world.get()}));
//
//   mpirun -n 4 ./train                                     # Link Sinter::mpi besides Sinter::sinter or Sinter::runtime.
//
// Every rank tells every other several times a second that it lives, from a thread of its own, so that one that computes for
// long is told from one that has ended or is stopped: the others' calls then fail, a few seconds later, with an error that
// names the rank and what they were exchanging, such as
//   rank 2 does not answer in all_reduce, function "train", step 14 (sum of gradients)
// When mpirun itself ends the processes, because one of them has died, a rank that waits for others gets such an error too,
// and has a second to print it: SIGTERM is caught while ranks exchange, if the program does not catch it.
//
// A rank that is at another run or function than the others breaks the world too, and none gets values of the wrong run:
//   rank 1 is at run 3, all_reduce, function "train", step 14 (sum of gradients), where rank 0 is at run 2 (all ranks must run
//   the same functions in the same order) in all_reduce, function "train", step 14 (sum of gradients)
// From then on SIGTERM is not caught any more; one that came before ends the process a second later.
//
// Destroying the world waits for the others to destroy theirs, and ends MPI if Create has begun it. A world that is broken
// ends all processes instead (MPI_Abort), a second later, in which the others learn why.
//
// Uses the rank's MPI from one thread at a time: MPI_THREAD_SERIALIZED. A program that uses MPI besides must keep to that,
// which it can only while no world exists.
#ifndef SINTER_RUNTIME_MPI_MPI_WORLD_H_
#define SINTER_RUNTIME_MPI_MPI_WORLD_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/world/world.h"

namespace sinter {

struct MpiWorldOptions {
  // A rank that was not heard for so long does not answer. At least a second.
  std::chrono::milliseconds silence = std::chrono::seconds(4);
  // Larger messages travel in pieces: MPI counts in int.
  size_t piece_bytes = size_t{1} << 30;
};

class MpiWorld : public World {
 public:
  // One at a time. A program that mpirun has not started is alone. FailedPrecondition: there is a world already, MPI has
  // ended or was begun without MPI_THREAD_SERIALIZED. InvalidArgument: the options. Unavailable: MPI fails; end the process
  // then, for the other ranks wait for it until mpirun sees that it has ended.
  static absl::StatusOr<std::unique_ptr<MpiWorld>> Create(const MpiWorldOptions& options = {});
  ~MpiWorld() override;

  int rank() const override;
  int size() const override;
  absl::Status Exchange(std::span<const Transfer> transfers, const Operation& operation) override;
  absl::Status Check() override;
  void Abort(std::string_view reason) override;
  bool MayStillWrite() const override;

 private:
  struct State;
  explicit MpiWorld(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_MPI_MPI_WORLD_H_
