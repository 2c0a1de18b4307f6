// What the processes of a world make sure of before they run a plan together.
//
//   SINTER_RETURN_IF_ERROR(AgreeOnPlan(world, plan));              // All have the same one.
//   SINTER_RETURN_IF_ERROR(AgreeOnStatus(world, status));          // All could do what they did since.
//
// Each call is made by all ranks, or by none, and returns the same on all, but for what a rank says of itself: so nobody
// waits for one that has given up. `world` may be null, which agrees.
#ifndef SINTER_RUNTIME_WORLD_WORLD_AGREEMENT_H_
#define SINTER_RUNTIME_WORLD_WORLD_AGREEMENT_H_

#include "absl/status/status.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/world/world.h"

namespace sinter {

// InvalidArgument names the first rank whose plan is not that of rank 0. Unavailable, as World::Exchange.
absl::Status AgreeOnPlan(World* world, const Plan& plan);

// The own error, if there is one; else FailedPrecondition names the first rank that has one, and says what it is.
absl::Status AgreeOnStatus(World* world, const absl::Status& own);

}  // namespace sinter

#endif  // SINTER_RUNTIME_WORLD_WORLD_AGREEMENT_H_
