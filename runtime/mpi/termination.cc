#include "sinter/runtime/mpi/termination.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

namespace sinter {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kGrace(500);
constexpr time_t kSecondsToSave = 1;

std::atomic<bool> is_waiting = false;
std::atomic<bool> is_requested = false;
std::atomic<Clock::rep> seen = 0;  // When EndUnlessWaiting first saw the request.

void SetHandler(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
}

// Uses a kernel timer, which fires whatever the program's threads do.
void SendTerminationLater() {
  struct sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGTERM;
  timer_t timer = {};
  const struct itimerspec when = {.it_interval = {}, .it_value = {.tv_sec = kSecondsToSave, .tv_nsec = 0}};
  // If there is no timer, end the process now rather than never.
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &when, nullptr) != 0) {
    kill(getpid(), SIGTERM);
  }
}

// Calls only async-signal-safe functions.
void OnTermination(int) {
  SetHandler(SIG_DFL);
  is_requested.store(true);
}

}  // namespace

TerminationWatch::TerminationWatch() {
  is_requested.store(false);
  seen.store(0);
  struct sigaction before = {};
  if (sigaction(SIGTERM, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) return;
  SetHandler(OnTermination);
  is_installed_ = true;
}

TerminationWatch::~TerminationWatch() { Uninstall(); }

void TerminationWatch::Uninstall() {
  struct sigaction now = {};
  if (!is_installed_ || sigaction(SIGTERM, nullptr, &now) != 0) return;
  is_installed_ = false;
  if (now.sa_handler == OnTermination) SetHandler(SIG_DFL);
}

void TerminationWatch::HandBack() {
  const bool was_installed = is_installed_;
  Uninstall();
  if (was_installed && is_requested.load()) SendTerminationLater();
}

TerminationWatch::Waiting::Waiting() { is_waiting.store(true); }
TerminationWatch::Waiting::~Waiting() { is_waiting.store(false); }

bool TerminationWatch::IsRequested() { return is_requested.load(); }

void TerminationWatch::EndUnlessWaiting() {
  if (!is_requested.load()) return;
  const Clock::rep now = Clock::now().time_since_epoch().count();
  Clock::rep first = 0;
  if (seen.compare_exchange_strong(first, now)) return;
  // OnTermination has restored the default handler.
  if (!is_waiting.load() && now - first > Clock::duration(kGrace).count()) kill(getpid(), SIGTERM);
}

}  // namespace sinter
