// FindPeakMemory: the values that are alive on a device at the step with the highest memory use.
//
//   PeakMemory peak = FindPeakMemory(*function, /*device=*/0);
//   for (const LiveValue& v : peak.alive) std::cout << v.bytes << " " << v.first_step << "\n";
//
// Uses only the plan. A value is alive from the step that writes its bytes of the arena to the last step that
// reads them, or to the end if the function returns the value.
#ifndef SINTER_TOOLS_PEAK_MEMORY_H_
#define SINTER_TOOLS_PEAK_MEMORY_H_

#include <cstdint>
#include <vector>

#include "runtime/plan_generated.h"

namespace sinter::tools {

struct LiveValue {
  uint32_t buffer = 0;  // Index into Function.buffers: the buffer that its first step wrote.
  uint64_t bytes = 0;
  uint32_t first_step = 0;
  uint32_t last_step = 0;  // The number of steps if the function returns the value.
};

struct PeakMemory {
  uint32_t step = 0;
  uint64_t live_bytes = 0;       // Live arena bytes at `step`, with workspace; shared bytes count once.
  uint64_t workspace_bytes = 0;  // Workspace of `step`.
  std::vector<LiveValue> alive;  // Largest first.
};

// Returns all values of the arena on `device`, in the order of the steps that write them. The plan must be
// verified; `device` is an index into its devices.
std::vector<LiveValue> FindLiveValues(const fb::Function& function, uint32_t device);

// Returns the memory peak of `function` on `device`. The plan must be verified; `device` is an index into its
// devices.
PeakMemory FindPeakMemory(const fb::Function& function, uint32_t device);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_PEAK_MEMORY_H_
