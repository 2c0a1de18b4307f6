#include "sinter/tools/predict/predict_commands.h"

#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/host/status.h"
#include "sinter/tools/exit_code.h"
#include "sinter/tools/predict/costs_source.h"

namespace sinter::tools {

PredictCommands::PredictCommands(CLI::App& app)
    : measure_(app.add_subcommand("measure", "Measures the cost table of this machine's devices")),
      predict_(app.add_subcommand(
          "predict",
          "Predicts the time and the memory of a function from its plan; without --measure runs nothing")),
      simulate_(app.add_subcommand("simulate", "Simulates a run of a function on all ranks of a mesh")) {
  measure_->add_option("--out", measured_, "file for the table")->required();
  measure_
      ->add_option("--device", devices_,
                   "cpu:0, a GPU such as gpu:0, or several of a kind, whose exchanges are measured too")
      ->delimiter(',')
      ->capture_default_str();
  measure_
      ->add_option("--types", measure_options_.types,
                   "types of matmuls; default: bf16,tf32,f32 on a GPU, f32,f64,bf16 on a CPU")
      ->delimiter(',');
  measure_
      ->add_option("--seconds", measure_options_.seconds_each,
                   "seconds of one timing, of five for each figure")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  measure_->add_option("--threads", measure_options_.threads, "number of CPU threads; 0: one per core")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  measure_
      ->add_option("--driver", measure_options_.driver, "version of the driver, for the table's first line")
      ->capture_default_str();
  measure_->add_option("--nccl", measure_options_.nccl, "version of NCCL, for the table's first line")
      ->capture_default_str();
  measure_->add_flag("--quick", measure_options_.quick, "only a few small sizes, to try the command");
  AddPlan(*predict_, predict_options_.plan);
  predict_->add_option("--top", predict_options_.top, "number of dearest steps to print")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  AddPlan(*simulate_, simulate_options_.plan);
  cost::SimulationOptions& simulation = simulate_options_.simulation;
  simulate_
      ->add_option("--jitter", simulation.jitter,
                   "each step of each rank takes longer by this part of its time on average, exponentially "
                   "distributed")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  simulate_->add_option("--seed", simulation.seed, "seed of the jitter")->capture_default_str();
  simulate_->add_option("--straggler", simulate_options_.stragglers,
                        "rank=factor: this rank takes that many times as long; may be given several times");
  simulate_->add_flag("!--no-fold", simulation.fold, "simulate every rank, also equal ones");
  simulate_->add_option("--trace", trace_, "write the run to this .json file, for ui.perfetto.dev");
  simulate_->add_option("--trace-ranks", trace_ranks_, "ranks in the trace, of those simulated")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

void PredictCommands::AddPlan(CLI::App& command, PlanSimulationOptions& options) {
  command.add_option("plan", plan_, "a .plan file")->required();
  command.add_option("--function", options.function, "function to predict; required if the plan has several");
  command.add_option(
      "--costs", costs_,
      "a cost table: a file of `sinter measure`, or h200, h100 or cpu; default: h200 for a plan with a "
      "GPU, else cpu");
  command.add_option(
      "--axis", options.axes,
      "name=size: another size of an axis of the mesh; each rank keeps its part, so the batch grows");
  command
      .add_option("--ranks-per-node", options.ranks_per_node,
                  "ranks that share a computer; 0: GPUs as many as the table's link joins, CPUs all")
      ->capture_default_str();
  command.add_flag("--json", as_json_, "print one JSON object");
  CLI::Option* const measure = command.add_flag(
      "--measure", measures_steps_,
      "run one rank of each kind on this machine, without exchanges, and take the times of its steps; the "
      "table gives those of exchanges. This runs the plan's code, as `sinter run` does");
  command.add_option("--repeat", steps_options_.repeat, "number of timed runs")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->needs(measure);
  command
      .add_option("--input", call_.inputs, "values of inputs, as for `sinter run`; missing ones are random")
      ->needs(measure);
  command.add_option("--threads", call_.threads, "number of CPU threads; 0: one per core")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str()
      ->needs(measure);
}

absl::Status PredictCommands::Measure() const {
  MeasureOptions options = measure_options_;
  options.devices.clear();
  for (const std::string& name : devices_) {
    SINTER_ASSIGN_OR_RETURN(const Device device, Device::Parse(name));
    options.devices.push_back(device);
  }
  SINTER_ASSIGN_OR_RETURN(const cost::CostTable table, MeasureCosts(options, std::cerr));
  return WriteFileAtomically(measured_, cost::CostsText(table));
}

absl::Status PredictCommands::MeasureIfAsked(PlanSimulationOptions& options, MeasuredSteps& steps) const {
  if (!measures_steps_) return absl::OkStatus();
  FunctionCallOptions call = call_;
  call.plan = plan_;
  call.function = options.function;
  SINTER_ASSIGN_OR_RETURN(steps, MeasureSteps(call, steps_options_));
  options.measured = &steps;
  return absl::OkStatus();
}

absl::Status PredictCommands::Predict(std::ostream& out) const {
  SINTER_ASSIGN_OR_RETURN(const Plan plan, Plan::Load(plan_));
  SINTER_ASSIGN_OR_RETURN(const cost::DeviceCosts costs, ReadCosts(costs_, plan));
  MeasuredSteps steps;
  PredictOptions options = predict_options_;
  SINTER_RETURN_IF_ERROR(MeasureIfAsked(options.plan, steps));
  SINTER_ASSIGN_OR_RETURN(const Prediction prediction, tools::Predict(plan, costs, options));
  out << (as_json_ ? PredictionJson(prediction) : PredictionText(prediction));
  return absl::OkStatus();
}

absl::Status PredictCommands::Simulate(std::ostream& out) const {
  SINTER_ASSIGN_OR_RETURN(const Plan plan, Plan::Load(plan_));
  SINTER_ASSIGN_OR_RETURN(const cost::DeviceCosts costs, ReadCosts(costs_, plan));
  MeasuredSteps steps;
  SimulateOptions options = simulate_options_;
  SINTER_RETURN_IF_ERROR(MeasureIfAsked(options.plan, steps));
  SINTER_ASSIGN_OR_RETURN(const SimulatedRun run, SimulateRun(plan, costs, options));
  if (!trace_.empty()) {
    SINTER_RETURN_IF_ERROR(WriteFileAtomically(trace_, SimulatedRunTrace(run, trace_ranks_)));
  }
  out << (as_json_ ? SimulatedRunJson(run) : SimulatedRunText(run));
  return absl::OkStatus();
}

int PredictCommands::Run(std::ostream& out) const {
  if (measure_->parsed()) return ExitCode("sinter measure", Measure());
  return predict_->parsed() ? ExitCode("sinter predict", Predict(out))
                            : ExitCode("sinter simulate", Simulate(out));
}

}  // namespace sinter::tools
