#include "sinter/runtime/mpi/mpi_world.h"

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/mpi/heartbeat.h"
#include "sinter/runtime/mpi/termination.h"
#include "sinter/runtime/status.h"

namespace sinter {
namespace {

using Clock = std::chrono::steady_clock;

// So long a rank asks again and again; then it sleeps in between, and leaves the core to others.
constexpr std::chrono::microseconds kBusyTime(50);
constexpr std::chrono::microseconds kNap(20);
// In which the others learn why it ends.
constexpr std::chrono::milliseconds kGrace(1000);
// The same once mpirun has sent SIGTERM, a second before SIGKILL; and so long another's reason is waited for.
constexpr std::chrono::milliseconds kShortGrace(300);
constexpr std::chrono::milliseconds kLookInterval(20);

bool exists = false;

std::string ErrorText(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  return {text, static_cast<size_t>(length)};
}

// Begins MPI if nobody has.
absl::StatusOr<bool> BeginMpi() {
  int is_begun = 0, has_ended = 0, level = MPI_THREAD_SINGLE;
  MPI_Initialized(&is_begun);
  MPI_Finalized(&has_ended);
  if (has_ended != 0) {
    return absl::FailedPreconditionError(
        "MPI has ended in this process, and begins only once: keep one world for the whole program");
  }
  if (is_begun != 0) {
    MPI_Query_thread(&level);
  } else if (const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level);
             code != MPI_SUCCESS) {
    return absl::UnavailableError(absl::StrCat("MPI cannot begin: ", ErrorText(code)));
  }
  if (level < MPI_THREAD_SERIALIZED) {
    return absl::FailedPreconditionError(
        "MPI was begun without MPI_THREAD_SERIALIZED: let MpiWorld::Create begin it, or ask MPI_Init_thread "
        "for that");
  }
  return is_begun == 0;
}

}  // namespace

struct MpiWorld::State {
  int rank = 0, size = 1;
  MpiWorldOptions options;
  bool ends_mpi = false;
  MPI_Comm messages = MPI_COMM_NULL, beats = MPI_COMM_NULL;
  std::mutex mpi;  // Guards every call of MPI.
  std::optional<TerminationWatch> termination;
  std::optional<Heartbeat> heart;
  absl::Status broken;
  // Of the current exchange; for each request what it moves.
  std::vector<MPI_Request> requests;
  std::vector<MPI_Status> statuses;
  std::vector<int> done;
  struct Piece {
    int peer;
    int bytes;
    bool is_send;
  };
  std::vector<Piece> pieces;

  // Each with the cause alone, without the operation.
  absl::Status Begin(std::span<const Transfer> transfers, int tag);
  absl::Status Step(size_t& left);
  absl::Status FindFailure();
  absl::Status FindReasonToEnd();
  absl::Status Wait();
  void Break(const absl::Status& cause, const Operation& operation);
};

MpiWorld::MpiWorld(std::unique_ptr<State> state) : state_(std::move(state)) {}
int MpiWorld::rank() const { return state_->rank; }
int MpiWorld::size() const { return state_->size; }

absl::StatusOr<std::unique_ptr<MpiWorld>> MpiWorld::Create(const MpiWorldOptions& options) {
  if (options.silence < std::chrono::seconds(1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a rank that was silent for ", options.silence.count(),
                     " ms may only have been slow: give MpiWorldOptions::silence at least 1000"));
  }
  if (options.piece_bytes < 1 || options.piece_bytes > size_t{1} << 30) {
    return absl::InvalidArgumentError(absl::StrCat("MPI cannot send pieces of ", options.piece_bytes,
                                                   " bytes: MpiWorldOptions::piece_bytes is 1 to 2^30"));
  }
  if (exists) {
    return absl::FailedPreconditionError("there is a world of MPI already: use it, or destroy it first");
  }
  SINTER_ASSIGN_OR_RETURN(const bool ends_mpi, BeginMpi());
  auto state = std::make_unique<State>();
  state->options = options;
  state->ends_mpi = ends_mpi;
  MPI_Comm_dup(MPI_COMM_WORLD, &state->messages);
  MPI_Comm_dup(MPI_COMM_WORLD, &state->beats);
  // Errors are returned, instead of ending the program.
  for (MPI_Comm communicator : {state->messages, state->beats}) {
    MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  }
  MPI_Comm_rank(state->messages, &state->rank);
  MPI_Comm_size(state->messages, &state->size);
  // Without others there is nobody to wait for, and no thread that would end the program.
  if (state->size > 1) state->termination.emplace();
  state->heart.emplace(state->beats, &state->mpi, options.silence);
  exists = true;
  return std::unique_ptr<MpiWorld>(new MpiWorld(std::move(state)));
}

MpiWorld::~MpiWorld() {
  State& s = *state_;
  if (s.broken.ok()) s.heart->Say(Heartbeat::State::kLeaving, "");
  // The others may still compute, and are waited for as long as they live.
  while (s.broken.ok() && !s.heart->HaveAllLeft()) {
    if (s.heart->failure().has_value()) s.broken = absl::UnavailableError(*s.heart->failure());
    std::this_thread::sleep_for(kLookInterval);
  }
  if (!s.broken.ok()) {
    std::this_thread::sleep_for(TerminationWatch::IsRequested() ? kShortGrace : kGrace);
  }
  s.heart->Stop(kGrace);
  s.heart.reset();
  s.termination.reset();
  exists = false;
  if (!s.broken.ok()) MPI_Abort(s.messages, 1);
  for (MPI_Comm* const communicator : {&s.messages, &s.beats}) MPI_Comm_free(communicator);
  if (s.ends_mpi) MPI_Finalize();
}

absl::Status MpiWorld::Check() {
  State& s = *state_;
  if (!s.broken.ok()) return s.broken;
  const std::optional<std::string> failure = s.heart->failure();
  return failure.has_value() ? absl::UnavailableError(*failure) : absl::OkStatus();
}

void MpiWorld::Abort(std::string_view reason) {
  State& s = *state_;
  if (!s.broken.ok()) return;
  const std::string text = absl::StrCat("rank ", s.rank, " has given up (", std::string(reason), ")");
  s.heart->Say(Heartbeat::State::kBroken, text);
  s.broken = absl::UnavailableError(text);
}

// From now on nobody calls MPI: what is still under way must not reach memory that may be gone. The others are told the cause,
// and say themselves in what they miss whom.
void MpiWorld::State::Break(const absl::Status& cause, const Operation& operation) {
  const std::string text(cause.message());
  heart->Say(Heartbeat::State::kBroken, text);
  heart->Stop(kGrace);
  broken = absl::UnavailableError(absl::StrCat(text, " in ", std::string(operation.name)));
}

absl::Status MpiWorld::State::Begin(std::span<const Transfer> transfers, int tag) {
  requests.clear();
  pieces.clear();
  const std::lock_guard<std::mutex> lock(mpi);
  for (const Transfer& transfer : transfers) {
    for (size_t at = 0; at < transfer.bytes; at += options.piece_bytes) {
      std::byte* const data = static_cast<std::byte*>(transfer.data) + at;
      const int bytes = static_cast<int>(std::min(options.piece_bytes, transfer.bytes - at));
      MPI_Request& request = requests.emplace_back(MPI_REQUEST_NULL);
      pieces.push_back({transfer.peer, bytes, transfer.is_send});
      const int code = transfer.is_send
                           ? MPI_Isend(data, bytes, MPI_BYTE, transfer.peer, tag, messages, &request)
                           : MPI_Irecv(data, bytes, MPI_BYTE, transfer.peer, tag, messages, &request);
      if (code == MPI_SUCCESS) continue;
      return absl::UnavailableError(
          absl::StrCat("rank ", transfer.peer, " cannot be reached (", ErrorText(code), ")"));
    }
  }
  statuses.resize(requests.size());
  done.resize(requests.size());
  return absl::OkStatus();
}

// Looks which requests are done.
absl::Status MpiWorld::State::Step(size_t& left) {
  int count = 0;
  const std::lock_guard<std::mutex> lock(mpi);
  const int code =
      MPI_Testsome(static_cast<int>(requests.size()), requests.data(), &count, done.data(), statuses.data());
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) {
    return absl::UnavailableError(absl::StrCat("MPI fails (", ErrorText(code), ")"));
  }
  for (int i = 0; i < count; ++i) {
    const Piece& piece = pieces[static_cast<size_t>(done[static_cast<size_t>(i)])];
    const MPI_Status& status = statuses[static_cast<size_t>(i)];
    if (code == MPI_ERR_IN_STATUS && status.MPI_ERROR != MPI_SUCCESS) {
      return absl::UnavailableError(absl::StrCat(piece.is_send ? "sending to" : "receiving from", " rank ",
                                                 piece.peer, " fails (", ErrorText(status.MPI_ERROR), ")"));
    }
    int bytes = 0;
    if (!piece.is_send) MPI_Get_count(&status, MPI_BYTE, &bytes);
    if (!piece.is_send && bytes != piece.bytes) {
      return absl::UnavailableError(
          absl::StrCat("rank ", piece.peer, " sends ", bytes, " bytes where rank ", rank, " expects ",
                       piece.bytes, " (all ranks must run the same functions in the same order)"));
    }
  }
  left -= static_cast<size_t>(std::max(count, 0));
  return absl::OkStatus();
}

absl::Status MpiWorld::State::FindFailure() {
  if (TerminationWatch::IsRequested()) return FindReasonToEnd();
  if (const std::optional<std::string> failure = heart->failure(); failure.has_value()) {
    return absl::UnavailableError(*failure);
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    if (requests[i] == MPI_REQUEST_NULL || !heart->HasLeft(pieces[i].peer)) continue;
    return absl::UnavailableError(absl::StrCat("rank ", pieces[i].peer, " has left, and is missing"));
  }
  return absl::OkStatus();
}

// Of SIGTERM: a rank that has ended, or what others know, if they say so in time.
absl::Status MpiWorld::State::FindReasonToEnd() {
  const Clock::time_point start = Clock::now();
  std::optional<std::string> failure;
  while (!failure.has_value() && Clock::now() - start < kShortGrace) {
    heart->LookForEnded();
    failure = heart->failure();
    std::this_thread::sleep_for(kLookInterval);
  }
  return absl::UnavailableError(
      failure.has_value() ? *failure : absl::StrCat("rank ", rank, " is told to end (SIGTERM)"));
}

absl::Status MpiWorld::State::Wait() {
  const TerminationWatch::Waiting waiting;
  const Clock::time_point start = Clock::now();
  Clock::time_point looked = start;
  for (size_t left = requests.size(); left > 0;) {
    const size_t before = left;
    SINTER_RETURN_IF_ERROR(Step(left));
    if (left < before) continue;
    const Clock::time_point now = Clock::now();
    if (now - looked > kLookInterval || TerminationWatch::IsRequested()) {
      SINTER_RETURN_IF_ERROR(FindFailure());
      looked = now;
    }
    if (now - start < kBusyTime) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(kNap);
    }
  }
  return absl::OkStatus();
}

absl::Status MpiWorld::Exchange(std::span<const Transfer> transfers, const Operation& operation) {
  State& s = *state_;
  if (!s.broken.ok()) return s.broken;
  absl::Status status = s.Begin(transfers, static_cast<int>(operation.tag));
  if (status.ok()) status = s.Wait();
  if (!status.ok()) s.Break(status, operation);
  return s.broken;
}

}  // namespace sinter
