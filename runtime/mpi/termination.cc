#include "sinter/runtime/mpi/termination.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

namespace sinter {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kGrace(500);

std::atomic<bool> is_waiting = false;
std::atomic<bool> is_requested = false;
std::atomic<Clock::rep> seen = 0;  // When EndUnlessWaiting first saw the request.

void SetHandler(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
}

// Calls only what a handler may.
void OnTermination(int) {
  SetHandler(SIG_DFL);
  is_requested.store(true);
}

}  // namespace

TerminationWatch::TerminationWatch() {
  struct sigaction before = {};
  if (sigaction(SIGTERM, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) return;
  SetHandler(OnTermination);
  is_installed_ = true;
}

TerminationWatch::~TerminationWatch() {
  struct sigaction now = {};
  if (!is_installed_ || sigaction(SIGTERM, nullptr, &now) != 0) return;
  if (now.sa_handler == OnTermination) SetHandler(SIG_DFL);
}

TerminationWatch::Waiting::Waiting() { is_waiting.store(true); }
TerminationWatch::Waiting::~Waiting() { is_waiting.store(false); }

bool TerminationWatch::IsRequested() { return is_requested.load(); }

void TerminationWatch::EndUnlessWaiting() {
  if (!is_requested.load()) return;
  const Clock::rep now = Clock::now().time_since_epoch().count();
  Clock::rep first = 0;
  if (seen.compare_exchange_strong(first, now)) return;
  // The handler is the default again.
  if (!is_waiting.load() && now - first > Clock::duration(kGrace).count()) kill(getpid(), SIGTERM);
}

}  // namespace sinter
