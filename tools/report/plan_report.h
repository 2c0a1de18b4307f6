// `sinter report`: one HTML page of a plan, to read and to send: its functions, each step's time, the sums by
// kind and by the user's line, and the memory over the steps.
//
//   SINTER_ASSIGN_OR_RETURN(const std::string page, PlanReport(plan, costs, nullptr));
//
// Uses the plan alone, or the measured times of a function too.
#ifndef SINTER_TOOLS_REPORT_PLAN_REPORT_H_
#define SINTER_TOOLS_REPORT_PLAN_REPORT_H_

#include <string>

#include "sinter/ir/cost/device_costs.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/tools/function_profile.h"

namespace sinter::tools {

// Returns the page. Steps have the predicted time of `costs`. Those of the function in `profile`, if it is
// not null, have the measured time and their part of the device's limit. The time of exchanges is not
// predicted here (`sinter predict`).
std::string PlanReport(const Plan& plan, const cost::DeviceCosts& costs, const FunctionProfile* profile);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_REPORT_PLAN_REPORT_H_
