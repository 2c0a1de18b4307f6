#include "sinter/runtime/execute/step_dependencies.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "sinter/runtime/execute/step_order.h"
#include "sinter/runtime/execute/workspace_slots.h"
#include "sinter/runtime/plan/step_kind.h"

namespace sinter {
namespace {

// A matmul of 1,700 x 1,200 x 1,200 has tiles for all multiprocessors of a GPU. Matmuls of 0.8e9 flops run
// faster when other steps run beside them.
constexpr double kFlopsThatFillADevice = 5e9;

}  // namespace

StepDependencies FindDependencies(const fb::Function& function, std::span<const uint32_t> steps,
                                  std::span<const size_t> library_workspaces) {
  std::vector<StepOrder::Step> touched;
  for (const uint32_t step : steps) {
    const fb::Step& table = *function.steps()->Get(step);
    touched.push_back({EffectsOf(function, table), StepKindOf(table).is_exchange});
  }
  StepOrder known(std::move(touched));
  WorkspaceSlots slots(steps.empty() ? 0 : std::ranges::max(library_workspaces));
  for (uint32_t i = 0; i < steps.size(); ++i) {
    known.Add();
    if (library_workspaces[i] == 0) continue;
    const bool fills_device = function.steps()->Get(steps[i])->flops() >= kFlopsThatFillADevice;
    const std::optional<uint32_t> last =
        fills_device ? slots.TakeFirst(i) : slots.Take(i, library_workspaces[i], known.follows());
    if (last.has_value()) known.Follow(*last);
  }
  StepDependencies order{.before = known.before(), .workspace_offsets = {}, .workspace_bytes = slots.bytes()};
  for (uint32_t i = 0; i < steps.size(); ++i) {
    order.workspace_offsets.push_back(library_workspaces[i] == 0 ? 0 : slots.OffsetOf(i));
  }
  return order;
}

}  // namespace sinter
