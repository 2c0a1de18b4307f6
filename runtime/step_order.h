// Which steps of a launch come after which, for a device that may run the others side by side.
//
//   const StepOrder order = FindOrder(function, launch.steps, uses_library_workspace);
//   for (size_t i = 0; i < order.size(); ++i) ...   // launch.steps[i] comes after launch.steps[k], k in order[i].
//
// Worked out once, from the bytes that steps read and write. What the memory planner lets two values share, it orders as well.
#ifndef SINTER_RUNTIME_STEP_ORDER_H_
#define SINTER_RUNTIME_STEP_ORDER_H_

#include <cstdint>
#include <span>
#include <vector>

namespace sinter {

namespace fb {
struct Function;
}  // namespace fb

// For each step of a launch the positions, ascending, of those right before it: without what comes before these.
using StepOrder = std::vector<std::vector<uint32_t>>;

// For steps of one device, by their indices in Function.steps. `uses_library_workspace`, of each: they share it, so that they
// come one after the other.
StepOrder FindOrder(const fb::Function& function, std::span<const uint32_t> steps,
                    const std::vector<bool>& uses_library_workspace);

}  // namespace sinter

#endif  // SINTER_RUNTIME_STEP_ORDER_H_
