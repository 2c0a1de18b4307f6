// `sinter predict --measure`: the times of a function's steps and the workspaces of libraries, measured on
// this machine for one rank of each kind. Exchanges with other ranks are left out, so one device suffices for
// a plan of any number of ranks.
//
//   SINTER_ASSIGN_OR_RETURN(const MeasuredSteps measured,
//                           MeasureSteps({.plan = "gpt2.plan", .function = "train"}, {.repeat = 10}));
//   Predict(plan, costs, {.plan = {.function = "train", .measured = &measured}});
#ifndef SINTER_TOOLS_PREDICT_MEASURED_STEPS_H_
#define SINTER_TOOLS_PREDICT_MEASURED_STEPS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "sinter/tools/function_call.h"

namespace sinter::tools {

struct MeasuredSteps {
  std::string device;  // The first that ran them: "cpu:0 (AMD EPYC)".
  int repeat = 0;
  // Seconds by the positions of a function in Plan.functions and of a step in the function. On a GPU with the
  // pause before the step. Without exchanges and copies between devices.
  std::map<std::pair<uint32_t, uint32_t>, double> seconds;
  // Bytes that libraries take on each device of a rank: the most of the ranks that were measured.
  std::map<uint32_t, uint64_t> library_bytes;

  std::optional<double> Of(uint32_t function, uint32_t step) const {
    const auto found = seconds.find({function, step});
    return found == seconds.end() ? std::nullopt : std::optional(found->second);
  }
};

struct MeasureStepsOptions {
  int repeat = 10;  // Timed runs; a step's time is their median.
};

// Runs the function for the first rank of each kind, one after the other, on the devices of that rank that
// this machine has. InvalidArgument: `repeat` is below 1, or the plan's devices cannot run one by one. Other
// errors: those of FunctionCall::Make and of runs.
absl::StatusOr<MeasuredSteps> MeasureSteps(const FunctionCallOptions& call,
                                           const MeasureStepsOptions& options = {});

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_PREDICT_MEASURED_STEPS_H_
