#include "sinter/runtime/mpi/heartbeat.h"

#include <algorithm>

#include "sinter/runtime/mpi/termination.h"

namespace sinter {
namespace {

constexpr int kTag = 0;
constexpr std::chrono::milliseconds kInterval(100);

}  // namespace

Heartbeat::Heartbeat(MPI_Comm communicator, std::mutex* mpi, Liveness* liveness)
    : communicator_(communicator), mpi_(mpi), liveness_(liveness) {
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
    const ProcessIdentity& process = all[static_cast<size_t>(r)];
    if (process.CanBeSeenBy(own)) peer->process = process;
    MPI_Irecv(&peer->in, sizeof(peer->in), MPI_BYTE, r, kTag, communicator, &peer->receiving);
    peers_.push_back(std::move(peer));
  }
  // Nobody ends before all have looked at each other.
  MPI_Barrier(communicator);
  if (!peers_.empty()) thread_ = std::thread([this] { Run(); });
}

Heartbeat::~Heartbeat() { Stop(std::chrono::milliseconds(0)); }

void Heartbeat::LookForEnded() {
  for (const std::unique_ptr<Peer>& peer : peers_) {
    if (peer->process.has_value() && !liveness_->HasLeft(peer->rank) && peer->process->HasEnded()) {
      liveness_->HasEnded(peer->rank);
    }
  }
}

void Heartbeat::Listen(Peer& peer, Clock::time_point now) {
  for (int has_arrived = 1; peer.receiving != MPI_REQUEST_NULL;) {
    if (MPI_Test(&peer.receiving, &has_arrived, MPI_STATUS_IGNORE) != MPI_SUCCESS || has_arrived == 0) break;
    liveness_->Hear(peer.rank, peer.in, now);
    MPI_Irecv(&peer.in, sizeof(peer.in), MPI_BYTE, peer.rank, kTag, communicator_, &peer.receiving);
  }
}

// A beat that has not left yet is not followed by another.
void Heartbeat::Tell(Peer& peer, const Liveness::Said& said) {
  int has_left = 1;
  if (peer.sending != MPI_REQUEST_NULL) MPI_Test(&peer.sending, &has_left, MPI_STATUS_IGNORE);
  if (has_left == 0) return;
  peer.out = said.beat;
  peer.told = said.number;
  MPI_Isend(&peer.out, sizeof(peer.out), MPI_BYTE, peer.rank, kTag, communicator_, &peer.sending);
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
  for (const std::unique_ptr<Peer>& peer : peers_) {
    MPI_Cancel(&peer->receiving);
    MPI_Wait(&peer->receiving, MPI_STATUS_IGNORE);
    // What was not sent by now goes to a rank that does not take it: MPI_Abort follows.
    if (peer->sending != MPI_REQUEST_NULL) MPI_Request_free(&peer->sending);
  }
}

}  // namespace sinter
