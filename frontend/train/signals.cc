#include "sinter/frontend/train/signals.h"

#include <algorithm>
#include <atomic>
#include <span>
#include <vector>

#include "sinter/runtime/host/status.h"

namespace sinter::train {
namespace {

constexpr int kSignals[] = {SIGTERM, SIGINT};
std::atomic<int> caught = 0;
static_assert(std::atomic<int>::is_always_lock_free);  // A signal handler may use it.
std::atomic<bool> is_active = false;
struct sigaction outer[2];

// Time between two exchanges of several processes, and the most updates in it.
constexpr double kExchangeSeconds = 0.2;
constexpr int64_t kMostUpdates = 1000;

// Sent by each process.
struct Report {
  int64_t signal = 0;
  int64_t next = 0;  // Update of the next exchange, as rank 0 wants it.
};

// Keeps the signal, and gives the next one its former effect.
void Keep(int signal) {
  caught = signal;
  for (int i = 0; i < 2; ++i) {
    if (kSignals[i] == signal) sigaction(signal, &outer[i], nullptr);
  }
}

}  // namespace

SignalScope::SignalScope(bool active) : active_(active && !is_active.exchange(true)) {
  if (!active_) return;
  caught = 0;
  for (int i = 0; i < 2; ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    outer[i] = before_[i];
    if ((before_[i].sa_flags & SA_SIGINFO) == 0 && before_[i].sa_handler == SIG_IGN) continue;
    struct sigaction action = {};
    action.sa_handler = Keep;
    sigemptyset(&action.sa_mask);
    sigaction(kSignals[i], &action, nullptr);
  }
}

SignalScope::~SignalScope() {
  if (!active_) return;
  for (int i = 0; i < 2; ++i) sigaction(kSignals[i], &before_[i], nullptr);
  is_active = false;
}

int SignalScope::Caught() const { return caught; }

// Returns the update after which this process wants the next exchange, by the time of the last updates.
int64_t SignalWatch::NextExchange(int64_t update) {
  const auto now = std::chrono::steady_clock::now();
  const double seconds = std::chrono::duration<double>(now - last_time_).count();
  const double each = std::max(seconds / static_cast<double>(std::max<int64_t>(update - last_, 1)), 1e-9);
  last_ = update, last_time_ = now;
  return update +
         static_cast<int64_t>(std::clamp(kExchangeSeconds / each, 1.0, static_cast<double>(kMostUpdates)));
}

absl::StatusOr<std::optional<SignalWatch::Signal>> SignalWatch::After(int64_t update) {
  if (!active_) return std::nullopt;
  if (world_ == nullptr || world_->size() == 1) {
    const int number = scope_.Caught();
    return number == 0 ? std::nullopt : std::optional(Signal{.number = number});
  }
  if (update < next_) return std::nullopt;
  const Report own{.signal = scope_.Caught(), .next = NextExchange(update)};
  std::vector<Report> all(static_cast<size_t>(world_->size()));
  SINTER_RETURN_IF_ERROR(world_->AllGather(
      std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)),
      {.name = "agree on signals", .tag = World::TagOf(static_cast<size_t>(update)), .run = update}));
  next_ = all[0].next;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].signal != 0) return Signal{static_cast<int>(all[rank].signal), static_cast<int>(rank)};
  }
  return std::nullopt;
}

}  // namespace sinter::train
