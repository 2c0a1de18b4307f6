// Checks that the processes of a world make before they run a plan or exchange variables together.
//
//   SINTER_ASSIGN_OR_RETURN(HostPosition on_host, AgreeOnPlan(world, plan));   // All have the same plan.
//   SINTER_RETURN_IF_ERROR(AgreeOnStatus(world, status));          // No rank has failed since.
//   SINTER_RETURN_IF_ERROR(AgreeOnCall(world, 1, "saving a checkpoint", status));
//
// All ranks make each call, or none does. All get the same result, except that a failed rank gets its own
// error. So no rank waits for one that has given up. A null `world` agrees.
#ifndef SINTER_RUNTIME_WORLD_WORLD_AGREEMENT_H_
#define SINTER_RUNTIME_WORLD_WORLD_AGREEMENT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/world/host_position.h"
#include "sinter/runtime/world/world.h"

namespace sinter {

// "0.1.0, plans of version 5": the version of this library.
std::string_view LibraryVersion();

// Returns the place of this process on its computer. InvalidArgument names the first rank whose plan or
// library differs from rank 0's. Unavailable as World::Exchange. `version` is that of this rank's library.
absl::StatusOr<HostPosition> AgreeOnPlan(World* world, const Plan& plan,
                                         std::string_view version = LibraryVersion());

// Before the exchanges of a call that all ranks make for session `session`. Returns `own` if it is an error;
// otherwise InvalidArgument if another rank makes another call, and FailedPrecondition with the first failed
// rank and its error. Unavailable as World::Exchange, such as when a rank makes no call in time.
absl::Status AgreeOnCall(World* world, uint32_t session, const std::string& call, const absl::Status& own);

// Returns `own` if it is an error; otherwise FailedPrecondition with the first failed rank and its error.
absl::Status AgreeOnStatus(World* world, const absl::Status& own);

}  // namespace sinter

#endif  // SINTER_RUNTIME_WORLD_WORLD_AGREEMENT_H_
