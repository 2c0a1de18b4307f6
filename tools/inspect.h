// `sinter inspect`: a plan as text for people.
//
//   std::cout << InspectText(plan, {.function = "train"});
#ifndef SINTER_TOOLS_INSPECT_H_
#define SINTER_TOOLS_INSPECT_H_

#include <string>

#include "absl/status/statusor.h"
#include "sinter/runtime/plan/plan.h"

namespace sinter::tools {

struct InspectOptions {
  std::string function;  // Only this one; empty: all.
  bool steps = true;
  bool memory = true;
};

// Target, hash, sizes and devices; the variables; for each function its inputs and outputs, its steps with shapes, work and
// the user's lines, and what is alive on each device when it needs the most memory. NotFound: no such function.
absl::StatusOr<std::string> InspectText(const Plan& plan, const InspectOptions& options = {});

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_INSPECT_H_
