// A picture of a function's arena: each value is a rectangle, from the step that writes it to the last that
// reads it, at its place in memory.
//
//   body += MemoryMapSvg(plan.table(), *function, /*device=*/0);
#ifndef SINTER_TOOLS_REPORT_MEMORY_MAP_H_
#define SINTER_TOOLS_REPORT_MEMORY_MAP_H_

#include <cstdint>
#include <string>

#include "runtime/plan_generated.h"

namespace sinter::tools {

// Returns an SVG. The pointer on a value shows its type, its steps and the user's lines that made it. Values
// of one line have one colour. Empty if the device has no arena. The plan must be verified.
std::string MemoryMapSvg(const fb::Plan& plan, const fb::Function& function, uint32_t device);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_REPORT_MEMORY_MAP_H_
