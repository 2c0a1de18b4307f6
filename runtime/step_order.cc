#include "sinter/runtime/step_order.h"

#include <algorithm>

#include "sinter/runtime/touched_memory.h"

namespace sinter {

StepOrder FindOrder(const fb::Function& function, std::span<const uint32_t> steps,
                    const std::vector<bool>& uses_library_workspace) {
  std::vector<TouchedMemory> touched;
  for (const uint32_t step : steps) touched.push_back(TouchedBy(function, *function.steps()->Get(step)));
  StepOrder order(steps.size());
  std::vector<std::vector<bool>> comes_after(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    comes_after[i].resize(i);
    for (size_t k = i; k-- > 0;) {
      if (comes_after[i][k]) continue;
      const bool shares = uses_library_workspace[i] && uses_library_workspace[k];
      if (!shares && !MustFollow(touched[i], touched[k])) continue;
      order[i].push_back(static_cast<uint32_t>(k));
      comes_after[i][k] = true;
      for (size_t earlier = 0; earlier < k; ++earlier) {
        if (comes_after[k][earlier]) comes_after[i][earlier] = true;
      }
    }
    std::ranges::reverse(order[i]);
  }
  return order;
}

}  // namespace sinter
