#include "sinter/runtime/mpi/heartbeat.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/mpi/termination.h"

namespace sinter {
namespace {

constexpr int kTag = 0;
constexpr std::chrono::milliseconds kInterval(100);
// Longer between two rounds means that this process did not run, and could not hear anybody either.
constexpr std::chrono::milliseconds kOwnPause(1000);

}  // namespace

Heartbeat::Heartbeat(MPI_Comm communicator, std::mutex* mpi, std::chrono::milliseconds silence)
    : communicator_(communicator), mpi_(mpi), silence_(silence), last_tick_(Clock::now()) {
  int rank = 0, size = 1;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  const ProcessIdentity own = ProcessIdentity::Own();
  std::vector<ProcessIdentity> all(static_cast<size_t>(size));
  MPI_Allgather(&own, sizeof(own), MPI_BYTE, all.data(), sizeof(own), MPI_BYTE, communicator);
  for (int r = 0; r < size; ++r) {
    if (r == rank) continue;
    auto peer = std::make_unique<Peer>();
    peer->rank = r;
    peer->heard = last_tick_;
    const ProcessIdentity& process = all[static_cast<size_t>(r)];
    if (process.CanBeSeenBy(own)) peer->process = process;
    MPI_Irecv(&peer->in, sizeof(Beat), MPI_BYTE, r, kTag, communicator, &peer->receiving);
    peers_.push_back(std::move(peer));
  }
  if (!peers_.empty()) thread_ = std::thread([this] { Run(); });
}

Heartbeat::~Heartbeat() { Stop(std::chrono::milliseconds(0)); }

std::optional<std::string> Heartbeat::failure() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return failure_;
}

bool Heartbeat::HasLeft(int rank) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::ranges::any_of(peers_, [&](const auto& peer) { return peer->rank == rank && peer->has_left; });
}

bool Heartbeat::HaveAllLeft() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::ranges::all_of(peers_, [](const auto& peer) { return peer->has_left; });
}

void Heartbeat::Say(State state, std::string_view reason) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (state == State::kBroken) {
    Fail(std::string(reason));
    return;
  }
  own_.state = state;
  ++saying_;
}

// With the mutex.
void Heartbeat::Fail(std::string reason) {
  if (failure_.has_value()) return;
  own_ = {.state = State::kBroken};
  reason.copy(own_.reason, sizeof(own_.reason) - 1);
  failure_ = std::move(reason);
  ++saying_;
}

void Heartbeat::LookForEnded() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const std::unique_ptr<Peer>& peer : peers_) {
    if (peer->has_left || !peer->process.has_value() || !peer->process->HasEnded()) continue;
    Fail(absl::StrCat("rank ", peer->rank, " has ended"));
  }
}

void Heartbeat::Listen(Peer& peer, Clock::time_point now) {
  for (int has_arrived = 1; peer.receiving != MPI_REQUEST_NULL;) {
    if (MPI_Test(&peer.receiving, &has_arrived, MPI_STATUS_IGNORE) != MPI_SUCCESS || has_arrived == 0) break;
    peer.heard = now;
    peer.in.reason[sizeof(peer.in.reason) - 1] = '\0';
    if (peer.in.state == State::kLeaving) peer.has_left = true;
    if (peer.in.state == State::kBroken) Fail(peer.in.reason);
    MPI_Irecv(&peer.in, sizeof(Beat), MPI_BYTE, peer.rank, kTag, communicator_, &peer.receiving);
  }
  if (!peer.has_left && now - peer.heard > silence_) {
    Fail(absl::StrCat("rank ", peer.rank, " does not answer"));
  }
}

// A beat that has not left yet is not followed by another.
void Heartbeat::Tell(Peer& peer) {
  int has_left = 1;
  if (peer.sending != MPI_REQUEST_NULL) MPI_Test(&peer.sending, &has_left, MPI_STATUS_IGNORE);
  if (has_left == 0) return;
  peer.out = own_;
  peer.told = saying_;
  MPI_Isend(&peer.out, sizeof(Beat), MPI_BYTE, peer.rank, kTag, communicator_, &peer.sending);
}

void Heartbeat::Tick(Clock::time_point now) {
  if (now - last_tick_ > kOwnPause) {
    for (const std::unique_ptr<Peer>& peer : peers_) peer->heard = now;
  }
  last_tick_ = now;
  for (const std::unique_ptr<Peer>& peer : peers_) Listen(*peer, now);
  for (const std::unique_ptr<Peer>& peer : peers_) Tell(*peer);
}

bool Heartbeat::IsAllTold() const {
  return std::ranges::all_of(
      peers_, [&](const auto& peer) { return peer->told == saying_ && peer->sending == MPI_REQUEST_NULL; });
}

void Heartbeat::Run() {
  while (true) {
    TerminationWatch::EndUnlessWaiting();
    LookForEnded();
    {
      const std::lock_guard<std::mutex> mpi_lock(*mpi_);
      const std::lock_guard<std::mutex> lock(mutex_);
      const Clock::time_point now = Clock::now();
      Tick(now);
      if (is_stopping_) {
        for (const std::unique_ptr<Peer>& peer : peers_) {
          int is_done = 0;
          MPI_Test(&peer->sending, &is_done, MPI_STATUS_IGNORE);
        }
        if (IsAllTold() || now >= stop_by_) return;
      }
    }
    std::this_thread::sleep_for(kInterval);
  }
}

void Heartbeat::Stop(std::chrono::milliseconds patience) {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
    stop_by_ = Clock::now() + patience;
  }
  thread_.join();
  const std::lock_guard<std::mutex> mpi_lock(*mpi_);
  for (const std::unique_ptr<Peer>& peer : peers_) {
    MPI_Cancel(&peer->receiving);
    MPI_Wait(&peer->receiving, MPI_STATUS_IGNORE);
    // What was not sent by now goes to a rank that does not take it: MPI_Abort follows.
    if (peer->sending != MPI_REQUEST_NULL) MPI_Request_free(&peer->sending);
  }
}

}  // namespace sinter
