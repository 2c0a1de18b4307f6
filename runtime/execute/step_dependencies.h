// Computes which steps of a launch must follow which; the device may run the others in parallel.
//
//   const StepDependencies order = FindDependencies(function, launch.steps, library_workspaces);
//   for (size_t i = 0; i < launch.steps.size(); ++i) ...   // Step i follows the steps order.before[i].
//
// Computed once, from the bytes that steps read and write (step_order.h). Steps whose values share memory are
// thereby ordered. Steps that share a library workspace are ordered too; there are few workspaces
// (workspace_slots.h).
#ifndef SINTER_RUNTIME_EXECUTE_STEP_DEPENDENCIES_H_
#define SINTER_RUNTIME_EXECUTE_STEP_DEPENDENCIES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sinter {

namespace fb {
struct Function;
}  // namespace fb

struct StepDependencies {
  // For each step, the positions of its direct predecessors, ascending. Implied predecessors are left out.
  std::vector<std::vector<uint32_t>> before;
  // For each step, the offset of its library workspace in the memory for all of them; 0 if it needs none.
  std::vector<size_t> workspace_offsets;
  size_t workspace_bytes = 0;
};

// Orders steps of one device, given by their indices in Function.steps. `library_workspaces` has the bytes
// that each step needs.
StepDependencies FindDependencies(const fb::Function& function, std::span<const uint32_t> steps,
                                  std::span<const size_t> library_workspaces);

}  // namespace sinter

#endif  // SINTER_RUNTIME_EXECUTE_STEP_DEPENDENCIES_H_
