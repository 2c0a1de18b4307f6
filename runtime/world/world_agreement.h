// Checks that the processes of a world make before they run a plan together.
//
//   SINTER_RETURN_IF_ERROR(AgreeOnPlan(world, plan));              // All ranks have the same plan.
//   SINTER_RETURN_IF_ERROR(AgreeOnStatus(world, status));          // No rank has failed since.
//
// All ranks make each call, or none does. All get the same result, except that a failed rank gets its own
// error. So no rank waits for one that has given up. A null `world` agrees.
#ifndef SINTER_RUNTIME_WORLD_WORLD_AGREEMENT_H_
#define SINTER_RUNTIME_WORLD_WORLD_AGREEMENT_H_

#include "absl/status/status.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/world/world.h"

namespace sinter {

// InvalidArgument names the first rank whose plan differs from rank 0's. Unavailable as World::Exchange.
absl::Status AgreeOnPlan(World* world, const Plan& plan);

// Returns `own` if it is an error; otherwise FailedPrecondition with the first failed rank and its error.
absl::Status AgreeOnStatus(World* world, const absl::Status& own);

}  // namespace sinter

#endif  // SINTER_RUNTIME_WORLD_WORLD_AGREEMENT_H_
