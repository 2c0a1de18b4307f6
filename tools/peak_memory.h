// Which values of a function are alive on a device at the step that needs the most of its memory.
//
//   PeakMemory peak = FindPeakMemory(*function, /*device=*/0);
//   for (const LiveValue& v : peak.alive) std::cout << v.bytes << " " << v.first_step << "\n";
//
// Worked out from the plan alone: a value is alive from the step that writes its bytes of the arena to the last step
// that reads them, or to the end if the function returns them.
#ifndef SINTER_TOOLS_PEAK_MEMORY_H_
#define SINTER_TOOLS_PEAK_MEMORY_H_

#include <cstdint>
#include <vector>

#include "runtime/plan_generated.h"

namespace sinter::tools {

struct LiveValue {
  uint32_t buffer = 0;  // Index into Function.buffers: as what it was written.
  uint64_t bytes = 0;
  uint32_t first_step = 0;
  uint32_t last_step = 0;  // The number of steps for what the function returns.
};

struct PeakMemory {
  uint32_t step = 0;
  uint64_t live_bytes = 0;       // Of the arena at that step, workspace included; shared bytes count once.
  uint64_t workspace_bytes = 0;  // Of that step.
  std::vector<LiveValue> alive;  // The largest first.
};

// `function` must be of a verified plan, and `device` an index into its devices.
PeakMemory FindPeakMemory(const fb::Function& function, uint32_t device);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_PEAK_MEMORY_H_
