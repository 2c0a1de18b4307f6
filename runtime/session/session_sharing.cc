// The part of session_state.h that makes sessions with shared buffers_.
#include "sinter/runtime/execute/memory_sharing.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/step_kind.h"
#include "sinter/runtime/session/session_state.h"

namespace sinter::internal_session {

absl::StatusOr<Session> SessionState::Share(const SessionOptions& options) {
  if (options.world != nullptr || buffers_.world != nullptr) {
    return absl::InvalidArgumentError(
        "a session that runs among several processes shares its variables with no other: they would have to "
        "exchange at the same time");
  }
  for (const fb::Function* const function : *plan_.table().functions()) {
    for (uint32_t i = 0; function->steps() != nullptr && i < function->steps()->size(); ++i) {
      const fb::Step& step = *function->steps()->Get(i);
      if (!StepKindOf(step).is_exchange || DeviceOf(plan_.table(), step.device()).is_host()) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "function \"", function->name()->c_str(),
          "\" exchanges between GPUs, which several sessions must not do at the same time: compile a plan "
          "for one GPU, or create a session of its own"));
    }
  }
  SINTER_RETURN_IF_ERROR(buffers_.in_doubt.Check());
  // The devices of the new session do not wait for those of this one.
  SINTER_RETURN_IF_ERROR(devices_->Synchronize());
  SINTER_ASSIGN_OR_RETURN(std::unique_ptr<SessionState> state,
                          Load(plan_.Share(), options, make_, sharing_.get()));
  return Session(std::move(state));
}

absl::Status SessionState::CheckNotShared() const {
  const int sessions = sharing_->sessions.load(std::memory_order_acquire);
  if (sessions == 1) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(sessions,
                   " sessions share the variables, which are read-only meanwhile: write them before "
                   "Session::Share, or when the others are gone"));
}

}  // namespace sinter::internal_session
