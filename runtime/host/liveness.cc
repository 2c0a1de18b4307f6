#include "sinter/runtime/host/liveness.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sinter {
namespace {

// A longer pause between two rounds means that this process was stopped and could not receive beats.
constexpr std::chrono::milliseconds kOwnPause(1000);
// The place of a rank that leaves.
constexpr std::string_view kEnd = "the destructor of its world";

}  // namespace

Liveness::Liveness(int rank, int size, std::chrono::milliseconds silence, Time now)
    : rank_(rank),
      silence_(silence),
      peers_(static_cast<size_t>(size)),
      places_(peers_.size()),
      last_tick_(now) {
  for (Peer& peer : peers_) peer.heard = now;
}

std::optional<std::string> Liveness::failure() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return failure_;
}

bool Liveness::HasLeft(int rank) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return peers_[static_cast<size_t>(rank)].has_left;
}

bool Liveness::HaveAllLeft() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t rank = 0; rank < peers_.size(); ++rank) {
    if (static_cast<int>(rank) != rank_ && !peers_[rank].has_left) return false;
  }
  return true;
}

void Liveness::Say(State state, std::string_view reason) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (state == State::kBroken) return Fail(std::string(reason));
  if (state == State::kLeaving) places_.Set(static_cast<size_t>(rank_), kEnd, /*is_waiting=*/true);
  own_.state = state;
  ++saying_;
}

Liveness::Said Liveness::said() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {own_, saying_};
}

void Liveness::SayPlace(std::string_view operation, bool is_waiting) {
  const std::lock_guard<std::mutex> lock(mutex_);
  places_.Set(static_cast<size_t>(rank_), operation, is_waiting);
  if (own_.state != State::kAlive && own_.state != State::kWaiting) return;
  own_.state = is_waiting ? State::kWaiting : State::kAlive;
  own_.text[operation.copy(own_.text, sizeof(own_.text) - 1)] = 0;
}

std::string Liveness::DescribePlaces() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return places_.Describe();
}

// Requires the mutex.
void Liveness::Fail(std::string reason) {
  if (failure_.has_value()) return;
  own_ = {.state = State::kBroken};
  reason.copy(own_.text, sizeof(own_.text) - 1);
  failure_ = std::move(reason);
  ++saying_;
}

void Liveness::Hear(int rank, const Beat& beat, Time now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Peer& peer = peers_[static_cast<size_t>(rank)];
  peer.heard = now;
  const std::string_view text(beat.text, strnlen(beat.text, sizeof(beat.text)));
  if (beat.state == State::kBroken) return Fail(std::string(text));
  if (beat.state == State::kLeaving) {
    peer.has_left = true;
    return places_.Set(static_cast<size_t>(rank), kEnd, /*is_waiting=*/true);
  }
  places_.Set(static_cast<size_t>(rank), text, beat.state == State::kWaiting);
}

void Liveness::Tick(Time now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool was_stopped = now - last_tick_ > kOwnPause;
  last_tick_ = now;
  for (size_t rank = 0; rank < peers_.size(); ++rank) {
    Peer& peer = peers_[rank];
    if (static_cast<int>(rank) == rank_) continue;
    if (was_stopped) peer.heard = now;
    if (!peer.has_left && now - peer.heard > silence_) Fail(absl::StrCat("rank ", rank, " does not answer"));
  }
}

void Liveness::HasEnded(int rank) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!peers_[static_cast<size_t>(rank)].has_left) Fail(absl::StrCat("rank ", rank, " has ended"));
}

}  // namespace sinter
