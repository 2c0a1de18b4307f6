// Ensures that one thread at a time uses a session, and only in the process that created it.
//
//   SINTER_ASSIGN_OR_RETURN(const SessionUse::Scope use, memory.use.Begin());   // Ends with the scope.
//
// Two threads would write to the same arena and silently compute wrong results.
#ifndef SINTER_RUNTIME_EXECUTE_SESSION_USE_H_
#define SINTER_RUNTIME_EXECUTE_SESSION_USE_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

namespace sinter::internal_session {

class SessionUse {
 public:
  SessionUse();
  SessionUse(const SessionUse&) = delete;
  SessionUse& operator=(const SessionUse&) = delete;

  struct End {
    void operator()(SessionUse* use) const { use->is_used_.store(false, std::memory_order_release); }
  };
  using Scope = std::unique_ptr<SessionUse, End>;

  // FailedPrecondition if another thread uses the session, or the process was forked since it was created.
  absl::StatusOr<Scope> Begin();

 private:
  std::atomic<bool> is_used_ = false;
  const uint32_t forks_;
};

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_EXECUTE_SESSION_USE_H_
