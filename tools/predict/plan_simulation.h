// The simulation of a function of a plan: its ranks, their steps with prices, and their exchanges.
//
//   SINTER_ASSIGN_OR_RETURN(const PlanSimulation made,
//                           PlanSimulation::Of(plan, costs, {.function = "train"}));
//   SINTER_ASSIGN_OR_RETURN(const cost::SimulationResult result, cost::Simulate(made.simulation()));
//
// A rank of the simulation is one device: device d of rank r of the plan's mesh is rank r * devices + d. Its
// lane 0 has its exchanges. A GPU starts each other step as soon as the steps have ended whose memory the
// step needs, so each has a lane of its own, and steps share the GPU as far as they keep it busy. A CPU
// computes its steps one after the other on lane 0, and CPUs of one node share its cores, so that their steps
// take as many times as long.
#ifndef SINTER_TOOLS_PREDICT_PLAN_SIMULATION_H_
#define SINTER_TOOLS_PREDICT_PLAN_SIMULATION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/ir/cost/device_costs.h"
#include "sinter/ir/cost/simulation.h"
#include "sinter/runtime/plan/mesh.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/tools/predict/measured_steps.h"
#include "sinter/tools/predict/step_prices.h"

namespace sinter::tools {

struct PlanSimulationOptions {
  std::string function;           // Required if the plan has several.
  std::vector<std::string> axes;  // "data=128": sizes of axes that differ from the plan's.
  uint32_t ranks_per_node = 0;    // 0: as many as the table's link joins; for CPUs all ranks.
  // The times of steps; must outlive the call. Null: all times are the table's.
  const MeasuredSteps* measured = nullptr;
};

// The steps of one device of one function's ranks, in the order of RankProgram::steps.
struct DeviceProgram {
  const fb::Function* function = nullptr;
  uint32_t device = 0;             // Index into Plan.devices.
  std::vector<uint32_t> steps;     // Indices into Function.steps.
  std::vector<PricedStep> prices;  // Without the gap before a step.
  double gap = 0;                  // Seconds, before each step that is no exchange; measured times have it.
};

// Returns `wanted`, or the name of the only function if it is empty. InvalidArgument: there are several.
// NotFound: there is no such function.
absl::StatusOr<std::string> ChooseFunction(const Plan& plan, const std::string& wanted);

class PlanSimulation {
 public:
  // InvalidArgument: an option does not fit the plan. NotFound: there is no such function, or the table lacks
  // a price; the message says which.
  static absl::StatusOr<PlanSimulation> Of(const Plan& plan, const cost::DeviceCosts& costs,
                                           const PlanSimulationOptions& options);

  const cost::Simulation& simulation() const { return simulation_; }
  cost::Simulation& simulation() { return simulation_; }
  // One for each of Simulation::programs.
  const std::vector<DeviceProgram>& programs() const { return programs_; }
  const std::string& function() const { return function_; }
  uint32_t ranks() const { return static_cast<uint32_t>(simulation_.program_of_rank.size()); }
  uint32_t ranks_per_node() const { return ranks_per_node_; }
  // Facts that make the times less certain, for the user; each once.
  const std::vector<std::string>& notes() const { return notes_; }
  // The plan's tables; with other sizes of axes, a copy of them.
  const fb::Plan& table() const { return *table_; }
  // "gpu:3" or "rank 3 (gpu:3)".
  std::string RankName(uint32_t rank) const;

 private:
  friend class PlanSimulationBuilder;

  std::shared_ptr<const std::string> bytes_;  // The copy's bytes; null if there is none.
  const fb::Plan* table_ = nullptr;
  std::string function_;
  uint32_t ranks_per_node_ = 1;
  cost::Simulation simulation_;
  std::vector<DeviceProgram> programs_;
  std::vector<std::string> notes_;
};

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_PREDICT_PLAN_SIMULATION_H_
