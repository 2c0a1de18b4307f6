// `sinter simulate`: one run of a function on all ranks of a mesh, step by step.
//
//   SINTER_ASSIGN_OR_RETURN(const SimulatedRun run,
//                           SimulateRun(plan, costs, {.plan = {.axes = {"data=1024"}}}));
//   std::cout << SimulatedRunText(run);
//   SINTER_RETURN_IF_ERROR(WriteFileAtomically("trace.json", SimulatedRunTrace(run, /*most_ranks=*/8)));
#ifndef SINTER_TOOLS_PREDICT_SIMULATED_RUN_H_
#define SINTER_TOOLS_PREDICT_SIMULATED_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/ir/cost/device_costs.h"
#include "sinter/ir/cost/simulation.h"
#include "sinter/tools/predict/plan_simulation.h"

namespace sinter::tools {

struct SimulateOptions {
  PlanSimulationOptions plan;
  cost::SimulationOptions simulation;
  std::vector<std::string> stragglers;  // "17=1.2": rank 17 takes 1.2 times as long for each step.
};

struct SimulatedRun {
  PlanSimulation made;
  cost::SimulationResult result;
  std::string plan;
  std::string costs;        // CostTable::device.
  double even_seconds = 0;  // Time of the run without jitter and stragglers.
};

// InvalidArgument: an option is wrong. Other errors: those of PlanSimulation::Of and cost::Simulate.
absl::StatusOr<SimulatedRun> SimulateRun(const Plan& plan, const cost::DeviceCosts& costs,
                                         const SimulateOptions& options);

std::string SimulatedRunText(const SimulatedRun& run);
// One JSON object; seconds.
std::string SimulatedRunJson(const SimulatedRun& run);
// A trace (trace_events.h): a process for each of the first `most_ranks` simulated ranks, with a thread of
// its exchanges and as many others as it runs steps side by side.
std::string SimulatedRunTrace(const SimulatedRun& run, int most_ranks);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_PREDICT_SIMULATED_RUN_H_
