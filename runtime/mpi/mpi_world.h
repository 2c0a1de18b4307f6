// The world of the processes that mpirun has started.
// runtime/world/world.h explains worlds.
//
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<MpiWorld> world, MpiWorld::Create());
//   SINTER_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(plan), {.world = world.get()}));
//
//   mpirun -n 4 ./train                   # Link Sinter::mpi besides Sinter::sinter or Sinter::runtime.
//
// A thread of every rank tells all other ranks several times a second that its process is alive. So the world
// distinguishes a rank that computes for long from one that has ended or is stopped. If a rank ends or stops,
// calls of the others fail a few seconds later with an error that names the rank and the operation, such as
//   rank 2 does not answer in all_reduce, function "train", step 14 (sum of gradients)
// The world also says the error on std::cerr at once.
// If mpirun itself ends the processes because one has died, a rank that waits for others also gets such an
// error, and has a second to print it: the world catches SIGTERM during exchanges unless the program does.
//
// A rank at another run or function than the others breaks the world too, and no rank gets values of the
// wrong run:
//   rank 1 is at run 3, all_reduce, function "train", step 14 (sum of gradients), where rank 0 is at run 2
//   (all ranks must run the same functions in the same order) in all_reduce, function "train", step 14
//   (sum of gradients)
// After an error the world stops catching SIGTERM; a SIGTERM that came before ends the process a second
// later.
//
// The destructor waits until the other ranks destroy their worlds, and ends MPI if Create initialized it. A
// broken world instead ends all processes (MPI_Abort) after a second, in which the others learn the cause.
//
// Uses MPI from one thread at a time: MPI_THREAD_SERIALIZED. The program may use MPI itself only while no
// world exists, because it cannot take part in this serialization.
#ifndef SINTER_RUNTIME_MPI_MPI_WORLD_H_
#define SINTER_RUNTIME_MPI_MPI_WORLD_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/world/world.h"

namespace sinter {

struct MpiWorldOptions {
  // A rank that is silent for this long does not answer. At least a second.
  std::chrono::milliseconds silence = std::chrono::seconds(4);
  // A rank waits for the others in one exchange for this long, at least a second. Then the world breaks with
  // an error that says where each rank is: which ones wait, and after which exchange the others compute.
  // Default: SINTER_EXCHANGE_PATIENCE, else an hour. Within a run sessions wait for less, as far as their
  // plan allows (SessionOptions::exchange_patience).
  std::optional<std::chrono::milliseconds> patience = std::nullopt;
  // Larger messages travel in pieces of this size, because MPI counts in int.
  size_t piece_bytes = size_t{1} << 30;
};

class MpiWorld : public World {
 public:
  // Makes the world; only one may exist at a time. A program that mpirun did not start has a world of one
  // rank. FailedPrecondition if a world exists, MPI has ended, MPI was initialized without
  // MPI_THREAD_SERIALIZED, or MPI's world has another size than mpirun or the step of srun that started the
  // program: srun without `--mpi=pmix` would make a world of one rank of each task. InvalidArgument for bad
  // options or a bad SINTER_EXCHANGE_PATIENCE. Unavailable if MPI fails. Then end the process: the other
  // ranks wait until mpirun sees that it has ended.
  static absl::StatusOr<std::unique_ptr<MpiWorld>> Create(const MpiWorldOptions& options = {});
  ~MpiWorld() override;

  int rank() const override;
  int size() const override;
  absl::Status Exchange(std::span<const Transfer> transfers, const Operation& operation) override;
  absl::Status Check() override;
  void Abort(std::string_view reason) override;
  bool MayStillWrite() const override;
  // Returns a note for the user if mpirun has bound this process to fewer cores than its share: its
  // steps on CPUs then have as few threads. Empty if not.
  std::string CoreNote() const;

 private:
  struct State;
  explicit MpiWorld(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_MPI_MPI_WORLD_H_
