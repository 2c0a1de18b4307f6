#include "sinter/runtime/execute/collective_waits.h"

#include <algorithm>

#include "sinter/runtime/plan/memory_effects.h"
#include "sinter/runtime/plan/plan_vectors.h"
#include "sinter/runtime/plan/step_kind.h"

namespace sinter {

namespace {

// True if the step, or one in a fragment that it runs, is a loop that its data may end.
bool RunsGuards(const fb::Plan& plan, const fb::Step& step) {
  const fb::LoopStep* const loop = step.body_as_LoopStep();
  if (loop == nullptr) return false;
  if (loop->guard() >= 0) return true;
  const fb::Function& fragment = *plan.fragments()->Get(loop->fragment());
  for (uint32_t i = 0; i < SizeOrZero(fragment.steps()); ++i) {
    if (RunsGuards(plan, *fragment.steps()->Get(i))) return true;
  }
  return false;
}

}  // namespace

std::vector<CollectiveWait> FindCollectiveWaits(const fb::Plan& plan, const fb::Function& function,
                                                std::span<const uint32_t> steps) {
  struct Begun {
    uint32_t step;
    MemoryEffects touched;
  };
  std::vector<Begun> begun;  // Not yet joined, in order.
  std::vector<CollectiveWait> waits;
  for (size_t position = 0; position < steps.size(); ++position) {
    const fb::Step& step = *function.steps()->Get(steps[position]);
    MemoryEffects touched = EffectsOf(function, step);
    const bool is_guarded = RunsGuards(plan, step);
    if (StepKindOf(step).is_exchange) {
      begun.push_back({steps[position], std::move(touched)});
      continue;
    }
    // The last conflicting collective. Earlier collectives end before it.
    const auto last = std::find_if(begun.rbegin(), begun.rend(), [&](const Begun& other) {
      return is_guarded || MustFollow(touched, other.touched);
    });
    if (last == begun.rend()) continue;
    waits.push_back({last->step, position});
    begun.erase(begun.begin(), last.base());
  }
  if (!begun.empty()) waits.push_back({begun.back().step, steps.size()});
  return waits;
}

}  // namespace sinter
