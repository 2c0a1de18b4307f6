// `sinter inspect`: describes a plan in readable text.
//
//   std::cout << InspectText(plan, {.function = "train"});
#ifndef SINTER_TOOLS_INSPECT_H_
#define SINTER_TOOLS_INSPECT_H_

#include <string>

#include "absl/status/statusor.h"
#include "sinter/runtime/plan/plan.h"

namespace sinter::tools {

struct InspectOptions {
  std::string function;  // Describes only this function; empty: all functions.
  bool steps = true;
  bool memory = true;
};

// Returns the target, hash, sizes and devices of the plan, then its variables. For each function adds the
// inputs, the outputs, the steps (shapes, work, source lines), and for each device the values that are alive
// at the memory peak. NotFound: the plan has no function `options.function`.
absl::StatusOr<std::string> InspectText(const Plan& plan, const InspectOptions& options = {});

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_INSPECT_H_
