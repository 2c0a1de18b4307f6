#include "sinter/runtime/execute/step_dependencies.h"

#include <algorithm>
#include <optional>

#include "sinter/runtime/execute/workspace_slots.h"
#include "sinter/runtime/plan/memory_effects.h"

namespace sinter {
namespace {

// A matmul of 1,700 x 1,200 x 1,200 has tiles for all multiprocessors of a GPU. Matmuls of 0.8e9 flops run
// faster when other steps run beside them.
constexpr double kFlopsThatFillADevice = 5e9;

// The order of the steps so far.
class KnownOrder {
 public:
  // Appends a step.
  void Add() {
    comes_after_.emplace_back(before_.size());
    before_.emplace_back();
  }
  // Makes the last step follow `earlier`.
  void ComesAfter(size_t earlier) {
    std::vector<bool>& known = comes_after_.back();
    if (known[earlier]) return;
    const std::vector<bool>& implied = comes_after_[earlier];
    std::erase_if(before_.back(), [&](uint32_t step) { return step < earlier && implied[step]; });
    before_.back().push_back(static_cast<uint32_t>(earlier));
    known[earlier] = true;
    for (size_t step = 0; step < earlier; ++step) known[step] = known[step] || implied[step];
  }

  // Returns, for each step, whether the last step follows it.
  const std::vector<bool>& comes_after() const { return comes_after_.back(); }

  std::vector<std::vector<uint32_t>> Finish() {
    for (std::vector<uint32_t>& steps : before_) std::ranges::sort(steps);
    return std::move(before_);
  }

 private:
  std::vector<std::vector<uint32_t>> before_;
  std::vector<std::vector<bool>> comes_after_;
};

}  // namespace

StepDependencies FindDependencies(const fb::Function& function, std::span<const uint32_t> steps,
                                  std::span<const size_t> library_workspaces) {
  std::vector<MemoryEffects> touched;
  for (const uint32_t step : steps) touched.push_back(EffectsOf(function, *function.steps()->Get(step)));
  KnownOrder known;
  WorkspaceSlots slots(steps.empty() ? 0 : std::ranges::max(library_workspaces));
  for (uint32_t i = 0; i < steps.size(); ++i) {
    known.Add();
    for (size_t k = i; k-- > 0;) {
      if (!known.comes_after()[k] && MustFollow(touched[i], touched[k])) known.ComesAfter(k);
    }
    if (library_workspaces[i] == 0) continue;
    const bool fills_device = function.steps()->Get(steps[i])->flops() >= kFlopsThatFillADevice;
    const std::optional<uint32_t> last =
        fills_device ? slots.TakeFirst(i) : slots.Take(i, library_workspaces[i], known.comes_after());
    if (last.has_value()) known.ComesAfter(*last);
  }
  StepDependencies order{.before = known.Finish(), .workspace_bytes = slots.bytes()};
  for (uint32_t i = 0; i < steps.size(); ++i) {
    order.workspace_offsets.push_back(library_workspaces[i] == 0 ? 0 : slots.OffsetOf(i));
  }
  return order;
}

}  // namespace sinter
