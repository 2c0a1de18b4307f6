#include "sinter/runtime/mpi/termination.h"

#include <signal.h>

#include <atomic>

namespace sinter {
namespace {

std::atomic<bool> is_waiting = false;
std::atomic<bool> is_requested = false;

void SetHandler(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigaction(SIGTERM, &action, nullptr);
}

// Calls only what a handler may.
void OnTermination(int) {
  SetHandler(SIG_DFL);
  if (is_waiting.load()) {
    is_requested.store(true);
  } else {
    raise(SIGTERM);  // Once the handler has returned.
  }
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

}  // namespace sinter
