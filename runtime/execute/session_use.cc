#include "sinter/runtime/execute/session_use.h"

#include "absl/status/status.h"
#include "sinter/runtime/host/process_forks.h"

namespace sinter::internal_session {

SessionUse::SessionUse() : forks_(ForkCount()) {}

absl::StatusOr<SessionUse::Scope> SessionUse::Begin() {
  // Check this first: after a fork, the thread that was using the session never ends its use in the child.
  if (ForkCount() != forks_) {
    return absl::FailedPreconditionError(
        "the session was created before this process was forked, and its threads and devices stay with the "
        "parent: "
        "create a session in the child");
  }
  if (is_used_.exchange(true, std::memory_order_acquire)) {
    return absl::FailedPreconditionError(
        "the session is in use by another thread: give each thread a session of its own (Session::Share)");
  }
  return Scope(this);
}

}  // namespace sinter::internal_session
