// `sinter run`: runs a function of a plan on given or random inputs and times it.
//
//   SINTER_RETURN_IF_ERROR(RunPlan({.call = {.plan = "m.plan"}, .repeat = 10}, std::cout));
#ifndef SINTER_TOOLS_RUN_PLAN_H_
#define SINTER_TOOLS_RUN_PLAN_H_

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "sinter/tools/function_call.h"

namespace sinter::tools {

struct RunOptions {
  FunctionCallOptions call;
  std::string output;           // .npz file for the outputs of the last run; empty: none.
  std::string save_checkpoint;  // Safetensors file for the variables after the last run; empty: none.
  int repeat = 1;
  bool profile = false;  // Prints the time of each step.
  // Prints the time from opening the plan to the end of the first run, by stage.
  bool load_times = false;
};

// Runs the function and prints times and outputs to `out`. InvalidArgument and NotFound: the options are
// wrong. Other errors come from reading, running and writing.
absl::Status RunPlan(const RunOptions& options, std::ostream& out);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_RUN_PLAN_H_
