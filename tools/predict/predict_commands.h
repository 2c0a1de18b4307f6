// The commands of `sinter` about costs: measure, predict and simulate.
//
//   PredictCommands commands(app);
//   ...                                                   // app.parse
//   if (commands.is_parsed()) return commands.Run(std::cout);
#ifndef SINTER_TOOLS_PREDICT_PREDICT_COMMANDS_H_
#define SINTER_TOOLS_PREDICT_PREDICT_COMMANDS_H_

#include <ostream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "sinter/tools/predict/measured_costs.h"
#include "sinter/tools/predict/measured_steps.h"
#include "sinter/tools/predict/prediction.h"
#include "sinter/tools/predict/simulated_run.h"

namespace sinter::tools {

class PredictCommands {
 public:
  explicit PredictCommands(CLI::App& app);
  PredictCommands(const PredictCommands&) = delete;  // The parser has pointers to the members.

  bool is_parsed() const { return measure_->parsed() || predict_->parsed() || simulate_->parsed(); }
  // Runs the parsed command and returns the program's exit code.
  int Run(std::ostream& out) const;

 private:
  absl::Status Measure() const;
  absl::Status Predict(std::ostream& out) const;
  absl::Status Simulate(std::ostream& out) const;
  void AddPlan(CLI::App& command, PlanSimulationOptions& options);
  // Measures the function's steps if --measure is given. Sets `options.measured` to `steps`.
  absl::Status MeasureIfAsked(PlanSimulationOptions& options, MeasuredSteps& steps) const;

  CLI::App* measure_;
  CLI::App* predict_;
  CLI::App* simulate_;
  std::string plan_, costs_, trace_, measured_;
  std::vector<std::string> devices_ = {"cpu:0"};
  bool as_json_ = false, measures_steps_ = false;
  int trace_ranks_ = 8;
  MeasureOptions measure_options_;
  MeasureStepsOptions steps_options_;
  FunctionCallOptions call_;  // For --measure.
  PredictOptions predict_options_;
  SimulateOptions simulate_options_;
};

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_PREDICT_PREDICT_COMMANDS_H_
