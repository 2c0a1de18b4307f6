#include "sinter/runtime/mpi/mpi_world.h"

#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/host/thread_pool.h"
#include "sinter/runtime/mpi/launch.h"
#include "sinter/runtime/mpi/mpi_status.h"
#include "sinter/runtime/mpi/mpi_transport.h"
#include "sinter/runtime/mpi/termination.h"
#include "sinter/runtime/world/exchange_patience.h"
#include "sinter/runtime/world/message_world.h"

namespace sinter {
namespace {

bool exists = false;

// Longer than any run.
constexpr std::chrono::hours kUnlimited(24 * 365 * 100);

// Initializes MPI unless it already is. Returns true if this call did it.
absl::StatusOr<bool> BeginMpi() {
  int is_begun = 0, has_ended = 0, level = MPI_THREAD_SINGLE;
  SINTER_RETURN_IF_ERROR(MpiStatus(MPI_Initialized(&is_begun), "say whether it has begun"));
  SINTER_RETURN_IF_ERROR(MpiStatus(MPI_Finalized(&has_ended), "say whether it has ended"));
  if (has_ended != 0) {
    return absl::FailedPreconditionError(
        "MPI has ended in this process, and begins only once: keep one world for the whole program");
  }
  if (is_begun != 0) {
    SINTER_RETURN_IF_ERROR(MpiStatus(MPI_Query_thread(&level), "say which threads may use it"));
  } else {
    // MPI asks hwloc for the machine's devices, and hwloc's plugin for OpenCL loads all implementations of
    // OpenCL. PoCL brings an LLVM of its own, whose symbols mix with those of the compiler's LLVM: the
    // process then crashes when it ends. MPI does not need what that plugin finds.
    setenv("HWLOC_COMPONENTS", "-opencl", /*overwrite=*/0);
    SINTER_RETURN_IF_ERROR(
        MpiStatus(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "begin"));
  }
  if (level < MPI_THREAD_SERIALIZED) {
    return absl::FailedPreconditionError(
        "MPI was begun without MPI_THREAD_SERIALIZED: let MpiWorld::Create begin it, or ask MPI_Init_thread "
        "for that");
  }
  return is_begun == 0;
}

// Returns the number of cores that the process that started this one may run on; 0 if it is not known.
int CoresOfParent() {
  cpu_set_t set;
  return sched_getaffinity(getppid(), sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
}

// Ends MPI after an error if `ends_mpi`.
absl::Status CheckLaunch(const Launch& launch, bool ends_mpi) {
  int size = 0;
  SINTER_RETURN_IF_ERROR(MpiStatus(MPI_Comm_size(MPI_COMM_WORLD, &size), "count the ranks"));
  const absl::Status status = launch.CheckSize(size);
  if (!status.ok() && ends_mpi) MPI_Finalize();
  return status;
}

absl::StatusOr<std::chrono::milliseconds> PatienceOf(const MpiWorldOptions& options) {
  if (options.patience.has_value()) {
    if (*options.patience >= std::chrono::seconds(1)) return *options.patience;
    return absl::InvalidArgumentError(
        absl::StrCat("a rank that waits for ", options.patience->count(),
                     " ms may only be faster than the others: give MpiWorldOptions::patience at least 1000"));
  }
  SINTER_ASSIGN_OR_RETURN(const std::optional<std::chrono::milliseconds> given,
                          ExchangePatience::FromEnvironment());
  if (!given.has_value()) return MessageWorld::kPatience;
  return given->count() > 0 ? *given : std::chrono::milliseconds(kUnlimited);
}

}  // namespace

struct MpiWorld::State {
  State(std::unique_ptr<MpiTransport> made, bool ends_mpi, std::chrono::milliseconds patience)
      : ends_mpi(ends_mpi), transport(std::move(made)), world(transport.get(), patience) {}

  const bool ends_mpi;
  const std::unique_ptr<MpiTransport> transport;
  MessageWorld world;
  std::string core_note;
};

MpiWorld::MpiWorld(std::unique_ptr<State> state) : state_(std::move(state)) {}
int MpiWorld::rank() const { return state_->world.rank(); }
int MpiWorld::size() const { return state_->world.size(); }

absl::StatusOr<std::unique_ptr<MpiWorld>> MpiWorld::Create(const MpiWorldOptions& options) {
  if (options.silence < std::chrono::seconds(1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a rank that was silent for ", options.silence.count(),
                     " ms may only have been slow: give MpiWorldOptions::silence at least 1000"));
  }
  SINTER_ASSIGN_OR_RETURN(const std::chrono::milliseconds patience, PatienceOf(options));
  if (options.piece_bytes < 1 || options.piece_bytes > size_t{1} << 30) {
    return absl::InvalidArgumentError(absl::StrCat("MPI cannot send pieces of ", options.piece_bytes,
                                                   " bytes: MpiWorldOptions::piece_bytes is 1 to 2^30"));
  }
  if (exists) {
    return absl::FailedPreconditionError("there is a world of MPI already: use it, or destroy it first");
  }
  const Launch launch = Launch::FromEnvironment();
  SINTER_ASSIGN_OR_RETURN(const bool ends_mpi, BeginMpi());
  SINTER_RETURN_IF_ERROR(CheckLaunch(launch, ends_mpi));
  SINTER_ASSIGN_OR_RETURN(std::unique_ptr<MpiTransport> transport, MpiTransport::Create(options));
  exists = true;
  auto state = std::make_unique<State>(std::move(transport), ends_mpi, patience);
  if (const int of_mpirun = CoresOfParent(); of_mpirun > 0) {
    state->core_note = launch.CoreNote(ThreadPool::AvailableCores(), of_mpirun);
  }
  return std::unique_ptr<MpiWorld>(new MpiWorld(std::move(state)));
}

std::string MpiWorld::CoreNote() const { return state_->core_note; }

MpiWorld::~MpiWorld() {
  const absl::Status status = state_->world.Leave();
  const bool is_told_to_end = TerminationWatch::IsRequested();
  state_->transport->StopWatchingTermination();
  exists = false;
  if (!status.ok()) state_->transport->AbortAll();
  const bool ends_mpi = state_->ends_mpi;
  state_.reset();
  if (ends_mpi) MPI_Finalize();
  // SIGTERM came while this rank was leaving, and was not handled.
  if (is_told_to_end) raise(SIGTERM);
}

absl::Status MpiWorld::Exchange(std::span<const Transfer> transfers, const Operation& operation) {
  return state_->world.Exchange(transfers, operation);
}
absl::Status MpiWorld::Check() { return state_->world.Check(); }
void MpiWorld::Abort(std::string_view reason) { state_->world.Abort(reason); }
bool MpiWorld::MayStillWrite() const { return state_->world.MayStillWrite(); }

}  // namespace sinter
