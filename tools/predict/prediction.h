// `sinter predict`: the time, the memory and the exposed exchanges of a function, from its plan alone.
//
//   SINTER_ASSIGN_OR_RETURN(const Prediction prediction, Predict(plan, costs, {.function = "train"}));
//   std::cout << PredictionText(prediction);                 // PredictionJson for programs.
#ifndef SINTER_TOOLS_PREDICT_PREDICTION_H_
#define SINTER_TOOLS_PREDICT_PREDICTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/ir/cost/device_costs.h"
#include "sinter/tools/predict/plan_simulation.h"
#include "sinter/tools/predict/predicted_memory.h"

namespace sinter::tools {

struct PredictOptions {
  PlanSimulationOptions plan;
  int top = 10;  // Entries of Prediction::dearest.
};

// Time of a part of the step. The parts of a step add up to it.
struct PredictedPart {
  std::string name;
  double seconds = 0;
  int steps = 0;
};

// Equal steps together.
struct PredictedStep {
  std::string what;   // "matmul 256x128x800 bias relu".
  std::string lines;  // Source lines of the user.
  int steps = 0;
  double seconds = 0;  // Sum.
};

struct Prediction {
  std::string plan, function;
  std::string costs;  // CostTable::device.
  std::string rank;   // The rank that ends last: the parts are its parts.
  uint32_t ranks = 1, ranks_per_node = 1;
  double seconds = 0;
  std::vector<PredictedPart> parts;
  double hidden_exchange = 0, exposed_exchange = 0;
  int exchanges = 0;
  std::vector<PredictedMemory> memory;
  std::vector<PredictedStep> dearest;  // Largest sum first.
  std::vector<std::string> notes;
};

// Errors: those of PlanSimulation::Of and cost::Simulate.
absl::StatusOr<Prediction> Predict(const Plan& plan, const cost::DeviceCosts& costs,
                                   const PredictOptions& options);

std::string PredictionText(const Prediction& prediction);
// One JSON object; seconds and bytes.
std::string PredictionJson(const Prediction& prediction);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_PREDICT_PREDICTION_H_
