// The part of plan_verifier.h that checks fragments, the lists of steps that other steps run.
#include <algorithm>
#include <limits>
#include <vector>

#include "runtime/plan_generated.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/plan/plan_vectors.h"
#include "sinter/runtime/plan/plan_verifier.h"
#include "sinter/runtime/plan/step_kind.h"

namespace sinter {
namespace {

uint64_t SaturatingProduct(uint64_t a, uint64_t b) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  return a != 0 && b > kMost / a ? kMost : a * b;
}

uint64_t SaturatingSum(uint64_t a, uint64_t b) { return a + b < a ? ~uint64_t{0} : a + b; }

// The work of a run of a function or fragment.
struct Runs {
  uint64_t steps = 0;  // With those of the fragments that it runs, each as often as it is run.
  uint32_t depth = 0;  // Depth of the fragments in it.
};

Runs RunsOf(const fb::Function& function, const std::vector<Runs>& fragments) {
  Runs runs;
  for (uint32_t i = 0; i < SizeOrZero(function.steps()); ++i) {
    const fb::LoopStep* const loop = function.steps()->Get(i)->body_as_LoopStep();
    if (loop == nullptr) {
      runs.steps = SaturatingSum(runs.steps, 1);
      continue;
    }
    const Runs& inner = fragments[loop->fragment()];
    const uint64_t trips = static_cast<uint64_t>(loop->trips());
    runs.steps = SaturatingSum(runs.steps, SaturatingSum(1, SaturatingProduct(trips, inner.steps)));
    runs.depth = std::max(runs.depth, inner.depth + 1);
  }
  return runs;
}

absl::Status CheckRuns(absl::string_view what, const fb::Function& function, const Runs& runs) {
  if (runs.depth > kPlanMaxFragmentDepth) {
    return BadPlan(what, " \"", Text(function.name()), "\" runs fragments within each other to depth ",
                   runs.depth, ": at most ", kPlanMaxFragmentDepth);
  }
  if (runs.steps > kPlanMaxRunSteps) {
    return BadPlan("a run of the ", what, " \"", Text(function.name()), "\" makes ", runs.steps,
                   " steps: at most ", kPlanMaxRunSteps,
                   "; a while within another needs a bound of its trips");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyFragment(const fb::Plan& plan, uint32_t index) {
  const fb::Function& fragment = *plan.fragments()->Get(index);
  if (plan.version() < Plan::LeastVersion({.fragments = true})) {
    return BadPlan("plans of version ", plan.version(), " have no fragments");
  }
  if (SizeOrZero(fragment.inputs()) > 0 || SizeOrZero(fragment.outputs()) > 0 ||
      fragment.ranks() != nullptr) {
    return BadPlan("it has inputs, outputs or ranks of its own, which functions have alone");
  }
  for (uint32_t i = 0; i < SizeOrZero(fragment.parameters()); ++i) {
    const uint64_t bytes = fragment.parameters()->Get(i)->bytes();
    if (bytes > kPlanMaxMemoryBytes)
      return BadPlan("parameter ", i, " has ", bytes, " bytes, more than an address space");
  }
  for (uint32_t i = 0; i < SizeOrZero(fragment.buffers()); ++i) {
    const fb::Space space = fragment.buffers()->Get(i)->space();
    if (space == fb::Space::Arena || space == fb::Space::Parameter) continue;
    return BadPlan("buffer ", i, " is neither in its arena nor in a parameter");
  }
  for (uint32_t i = 0; i < SizeOrZero(fragment.steps()); ++i) {
    const fb::Step& step = *fragment.steps()->Get(i);
    if (step.device() != fragment.steps()->Get(0)->device()) {
      return BadPlan("step ", i, " is on device ", step.device(), " and step 0 on device ",
                     fragment.steps()->Get(0)->device());
    }
    const StepKind* const kind = FindStepKind(step.body_type());
    if (kind != nullptr && kind->is_exchange) return BadPlan("step ", i, " is an exchange");
  }
  return absl::OkStatus();
}

absl::Status VerifyFragmentRuns(const fb::Plan& plan) {
  std::vector<Runs> fragments;
  for (uint32_t i = 0; i < SizeOrZero(plan.fragments()); ++i) {
    const fb::Function& fragment = *plan.fragments()->Get(i);
    fragments.push_back(RunsOf(fragment, fragments));
    SINTER_RETURN_IF_ERROR(CheckRuns("fragment", fragment, fragments.back()));
  }
  for (uint32_t i = 0; i < SizeOrZero(plan.functions()); ++i) {
    const fb::Function& function = *plan.functions()->Get(i);
    SINTER_RETURN_IF_ERROR(CheckRuns("function", function, RunsOf(function, fragments)));
  }
  return absl::OkStatus();
}

}  // namespace sinter
