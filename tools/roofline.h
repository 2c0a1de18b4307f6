// The measured roofline of a device (copy bandwidth, matmul rates) and the bounds that it sets for steps.
//
//   SINTER_ASSIGN_OR_RETURN(auto rooflines, MeasureRooflines(plan.table(), function, threads));
//   StepBound bound = BoundOf(*step, rooflines[0]);       // {.seconds = 1.2e-5, .limit = "memory"}
#ifndef SINTER_TOOLS_ROOFLINE_H_
#define SINTER_TOOLS_ROOFLINE_H_

#include <map>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/memory/device.h"
#include "sinter/runtime/plan/step_kind.h"

namespace sinter::tools {

struct Roofline {
  Device device;
  double bytes_per_second = 0;  // Bandwidth of a copy; counts bytes read plus bytes written.
  double copied_bytes = 0;      // Size of that copy.
  struct Matmul {
    double flops_per_second = 0;
    int64_t size = 0;  // Side of the square matrices.
  };
  std::map<ContractionType, Matmul> matmuls;
};

// Measures each device that the steps of `function` use, with matmuls in the types of the steps. Allocates
// memory for the operands (on a GPU 1 GiB for the copy and 384 to 768 MiB for a matmul) and frees it. Errors:
// those of sessions.
absl::StatusOr<std::vector<Roofline>> MeasureRooflines(const fb::Plan& plan, const fb::Function& function,
                                                       int threads);

// The least time of a step on a device with this roofline, and the limit that sets it.
struct StepBound {
  double seconds = 0;            // 0: no known bound.
  std::string_view limit = "-";  // "memory" or "compute".
};
// Returns the bound of a step; no bound for collectives and copies between devices.
StepBound BoundOf(const fb::Function& function, const fb::Step& step, const Roofline& roofline);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_ROOFLINE_H_
