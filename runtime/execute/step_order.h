// Which steps of a launch come after which, for a device that may run the others side by side.
//
//   const StepOrder order = FindOrder(function, launch.steps, library_workspaces);
//   for (size_t i = 0; i < launch.steps.size(); ++i) ...   // launch.steps[i] comes after launch.steps[k], k in order.before[i].
//
// Worked out once, from the bytes that steps read and write. What the memory planner lets two values share, it orders as well,
// and so do library workspaces, of which there are few (runtime/execute/workspace_slots.h).
#ifndef SINTER_RUNTIME_EXECUTE_STEP_ORDER_H_
#define SINTER_RUNTIME_EXECUTE_STEP_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sinter {

namespace fb {
struct Function;
}  // namespace fb

struct StepOrder {
  // For each step the positions, ascending, of those right before it: without what comes before these.
  std::vector<std::vector<uint32_t>> before;
  // For each step where its library workspace begins in the memory for all of them; 0 where it needs none.
  std::vector<size_t> workspace_offsets;
  size_t workspace_bytes = 0;
};

// For steps of one device, by their indices in Function.steps. `library_workspaces`: the bytes that each needs.
StepOrder FindOrder(const fb::Function& function, std::span<const uint32_t> steps,
                    std::span<const size_t> library_workspaces);

}  // namespace sinter

#endif  // SINTER_RUNTIME_EXECUTE_STEP_ORDER_H_
