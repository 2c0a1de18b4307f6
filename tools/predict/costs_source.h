// The cost table that a command is given: a file, or a built-in one by name.
//
//   SINTER_ASSIGN_OR_RETURN(const cost::DeviceCosts costs, ReadCosts("h200.costs", plan));
#ifndef SINTER_TOOLS_PREDICT_COSTS_SOURCE_H_
#define SINTER_TOOLS_PREDICT_COSTS_SOURCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "sinter/ir/cost/device_costs.h"
#include "sinter/runtime/plan/plan.h"

namespace sinter::tools {

// `costs` is the name of a built-in table or the path of a file; empty: "h200" for a plan with a GPU, else
// "cpu". NotFound: there is no such file; the message lists the built-in tables. Other errors: those of
// cost::ParseCosts and runtime/formats/file.h.
absl::StatusOr<cost::DeviceCosts> ReadCosts(const std::string& costs, const Plan& plan);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_PREDICT_COSTS_SOURCE_H_
