#include "sinter/runtime/mpi/heartbeat.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/mpi/mpi_status.h"
#include "sinter/runtime/mpi/termination.h"

namespace sinter {
namespace {

constexpr int kTag = 0;
constexpr std::chrono::milliseconds kInterval(100);
// Longest wait for cancelled receives.
constexpr std::chrono::milliseconds kBeatCancelLimit(500);
constexpr std::chrono::microseconds kBeatNap(200);

}  // namespace

absl::Status Heartbeat::Start(int rank, int size) {
  const ProcessIdentity own = ProcessIdentity::Own();
  std::vector<ProcessIdentity> all(static_cast<size_t>(size));
  SINTER_RETURN_IF_ERROR(
      MpiStatus(MPI_Allgather(&own, sizeof(own), MPI_BYTE, all.data(), sizeof(own), MPI_BYTE, communicator_),
                "tell all ranks who they are"));
  for (int r = 0; r < size; ++r) {
    if (r == rank) continue;
    Peer& peer = *peers_.emplace_back(std::make_unique<Peer>());
    peer.rank = r;
    const ProcessIdentity& process = all[static_cast<size_t>(r)];
    if (process.CanBeSeenBy(own)) peer.process = process;
    SINTER_RETURN_IF_ERROR(Expect(peer));
  }
  // No rank may end before all have checked each other's process.
  SINTER_RETURN_IF_ERROR(MpiStatus(MPI_Barrier(communicator_), "wait for all ranks"));
  if (!peers_.empty()) thread_ = std::thread([this] { Run(); });
  return absl::OkStatus();
}

Heartbeat::~Heartbeat() {
  Stop(std::chrono::milliseconds(0));
  EndRequests();
}

absl::Status Heartbeat::Expect(Peer& peer) const {
  return MpiStatus(
      MPI_Irecv(&peer.in, sizeof(peer.in), MPI_BYTE, peer.rank, kTag, communicator_, &peer.receiving),
      absl::StrCat("listen to rank ", peer.rank));
}

void Heartbeat::LookForEnded() {
  for (const std::unique_ptr<Peer>& peer : peers_) {
    if (peer->process.has_value() && !liveness_->HasLeft(peer->rank) && peer->process->HasEnded()) {
      liveness_->HasEnded(peer->rank);
    }
  }
}

void Heartbeat::Listen(Peer& peer, Clock::time_point now) {
  // A receive that MPI refuses is retried at the next tick: a peer without a receive would seem silent.
  while (peer.receiving != MPI_REQUEST_NULL || Expect(peer).ok()) {
    int has_arrived = 0;
    if (MPI_Test(&peer.receiving, &has_arrived, MPI_STATUS_IGNORE) != MPI_SUCCESS || has_arrived == 0) break;
    liveness_->Hear(peer.rank, peer.in, now);
  }
}

// Sends a beat only after the previous one has left.
void Heartbeat::Tell(Peer& peer, const Liveness::Said& said) {
  int has_left = 1;
  if (peer.sending != MPI_REQUEST_NULL) MPI_Test(&peer.sending, &has_left, MPI_STATUS_IGNORE);
  if (has_left == 0) return;
  peer.out = said.beat;
  const int code =
      MPI_Isend(&peer.out, sizeof(peer.out), MPI_BYTE, peer.rank, kTag, communicator_, &peer.sending);
  if (code == MPI_SUCCESS) peer.told = said.number;
}

bool Heartbeat::IsAllTold(uint64_t number) const {
  return std::ranges::all_of(
      peers_, [&](const auto& peer) { return peer->told == number && peer->sending == MPI_REQUEST_NULL; });
}

bool Heartbeat::Tick(Clock::time_point now) {
  for (const std::unique_ptr<Peer>& peer : peers_) Listen(*peer, now);
  liveness_->Tick(now);
  const Liveness::Said said = liveness_->said();
  for (const std::unique_ptr<Peer>& peer : peers_) Tell(*peer, said);
  if (!is_stopping_) return false;
  for (const std::unique_ptr<Peer>& peer : peers_) {
    int is_done = 0;
    MPI_Test(&peer->sending, &is_done, MPI_STATUS_IGNORE);
  }
  return IsAllTold(said.number) || now >= stop_by_;
}

void Heartbeat::Run() {
  while (true) {
    TerminationWatch::EndUnlessWaiting();
    LookForEnded();
    {
      const std::lock_guard<std::mutex> mpi_lock(*mpi_);
      const std::lock_guard<std::mutex> lock(mutex_);
      if (Tick(Clock::now())) return;
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
  EndRequests();
}

void Heartbeat::EndRequests() {
  const Clock::time_point limit = Clock::now() + kBeatCancelLimit;
  for (std::unique_ptr<Peer>& peer : peers_) {
    // A beat still unsent goes to a rank that does not receive it: MPI_Abort follows.
    const bool is_sending = peer->sending != MPI_REQUEST_NULL;
    if (is_sending) MPI_Request_free(&peer->sending);
    if (peer->receiving != MPI_REQUEST_NULL) MPI_Cancel(&peer->receiving);
    while (peer->receiving != MPI_REQUEST_NULL && Clock::now() < limit) {
      int has_ended = 0;
      MPI_Test(&peer->receiving, &has_ended, MPI_STATUS_IGNORE);
      if (peer->receiving != MPI_REQUEST_NULL) std::this_thread::sleep_for(kBeatNap);
    }
    // MPI may still use this memory: leak it on purpose.
    if (is_sending || peer->receiving != MPI_REQUEST_NULL) (void)peer.release();
  }
  peers_.clear();
}

}  // namespace sinter
