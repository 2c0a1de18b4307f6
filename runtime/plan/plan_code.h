// A plan's code for CPUs, chosen by target: a plan may hold the same functions for several targets.
//
//   SINTER_ASSIGN_OR_RETURN(PlanCode code, CodeForThisCpu(plan));
//   SINTER_ASSIGN_OR_RETURN(LoadedCode loaded, LoadedCode::Load(code.shared_object));
#ifndef SINTER_RUNTIME_PLAN_PLAN_CODE_H_
#define SINTER_RUNTIME_PLAN_PLAN_CODE_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/plan_generated.h"

namespace sinter {

inline constexpr uint32_t kPlanMaxTargets = 16;

struct PlanCode {
  const fb::Target* target = nullptr;  // Null: any CPU.
  std::span<const std::byte> shared_object;
};

// All code of the plan, best first. The last entry is for the plan's own target; it is empty in a plan
// without generated kernels.
std::vector<PlanCode> AllPlanCode(const fb::Plan& plan);

// Returns the first code whose target the running CPU satisfies. FailedPrecondition if there is none: the
// message gives the last target's architecture or missing features. Also returns the errors of
// CheckRunningCpu.
absl::StatusOr<PlanCode> CodeForThisCpu(const fb::Plan& plan);

// Returns why other code than `code`, which CodeForThisCpu chose, would be faster on this CPU, and how to get
// it. Empty if none would.
std::optional<std::string> BetterCode(const fb::Plan& plan, const PlanCode& code);

// For VerifyPlan: checks the plan's list of CPU code.
absl::Status VerifyPlanCode(const fb::Plan& plan);

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_PLAN_CODE_H_
