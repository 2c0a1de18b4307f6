#include "sinter/runtime/execute/collective_waits.h"

#include <algorithm>

#include "sinter/runtime/plan/memory_effects.h"
#include "sinter/runtime/plan/step_kind.h"

namespace sinter {

std::vector<CollectiveWait> FindCollectiveWaits(const fb::Function& function,
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
    if (StepKindOf(step).is_exchange) {
      begun.push_back({steps[position], std::move(touched)});
      continue;
    }
    // The last conflicting collective. Earlier collectives end before it.
    const auto last = std::find_if(begun.rbegin(), begun.rend(),
                                   [&](const Begun& other) { return MustFollow(touched, other.touched); });
    if (last == begun.rend()) continue;
    waits.push_back({last->step, position});
    begun.erase(begun.begin(), last.base());
  }
  if (!begun.empty()) waits.push_back({begun.back().step, steps.size()});
  return waits;
}

}  // namespace sinter
