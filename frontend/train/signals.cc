#include "sinter/frontend/train/signals.h"

#include <atomic>

namespace sinter::train {
namespace {

constexpr int kSignals[] = {SIGTERM, SIGINT};
std::atomic<int> caught = 0;
static_assert(std::atomic<int>::is_always_lock_free);  // A signal handler may use it.
std::atomic<bool> is_active = false;
struct sigaction outer[2];

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

}  // namespace sinter::train
