// A plan's code for CPUs: it may hold the same functions several times, each time for another target.
//
//   SINTER_ASSIGN_OR_RETURN(PlanCode code, CodeForThisCpu(plan));
//   SINTER_ASSIGN_OR_RETURN(LoadedCode loaded, LoadedCode::Load(code.shared_object));
#ifndef SINTER_RUNTIME_PLAN_PLAN_CODE_H_
#define SINTER_RUNTIME_PLAN_PLAN_CODE_H_

#include <cstddef>
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

// All of it, best first: the last is the plan's own target, with code or, in a plan without generated kernels, none.
std::vector<PlanCode> AllPlanCode(const fb::Plan& plan);

// The first whose target the running CPU satisfies. FailedPrecondition: there is none, and what the CPU lacks for the last;
// the errors of CheckRunningCpu.
absl::StatusOr<PlanCode> CodeForThisCpu(const fb::Plan& plan);

// For VerifyPlan: what the plan says of its code.
absl::Status VerifyPlanCode(const fb::Plan& plan);

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_PLAN_CODE_H_
