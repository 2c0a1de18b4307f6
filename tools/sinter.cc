// Looks at plans and runs them. Holds no compiler: what a deployed machine has.
//
//   sinter inspect lenet.plan
//   sinter run lenet.plan --function train --input x=x.npy --input lr=0.1 --repeat 20 --profile
//   sinter tune lenet.plan
#include <iostream>
#include <string>

#include "CLI/CLI.hpp"
#include "sinter/runtime/plan.h"
#include "sinter/tools/exit_code.h"
#include "sinter/tools/inspect.h"
#include "sinter/tools/run_plan.h"
#include "sinter/tools/tune_plan.h"

namespace {

using sinter::tools::InspectOptions;
using sinter::tools::RunOptions;
using sinter::tools::TuneOptions;

absl::Status Inspect(const std::string& path, const InspectOptions& options) {
  absl::StatusOr<sinter::Plan> plan = sinter::Plan::Load(path);
  if (!plan.ok()) return plan.status();
  absl::StatusOr<std::string> text = sinter::tools::InspectText(*plan, options);
  if (text.ok()) std::cout << *text;
  return text.status();
}

CLI::App* AddInspect(CLI::App& app, std::string& path, InspectOptions& options) {
  CLI::App* inspect = app.add_subcommand("inspect", "Prints what is in a plan");
  inspect->add_option("plan", path, "a .plan file")->required();
  inspect->add_option("--function", options.function, "only this function");
  inspect->add_flag("!--no-steps", options.steps, "leave out the steps");
  inspect->add_flag("!--no-memory", options.memory, "leave out what is alive at the memory's peak");
  return inspect;
}

CLI::App* AddRun(CLI::App& app, RunOptions& options) {
  CLI::App* run = app.add_subcommand("run", "Runs a function of a plan and times it");
  run->add_option("plan", options.plan, "a .plan file")->required();
  run->add_option("--function", options.function, "needed if the plan has several");
  run->add_option(
      "--input", options.inputs,
      "name=file.npy, name=number or file.npz; inputs not given are random: floats in [-1, 1), those of "
      "rank 0 the number 0.01, integers 0 or 1");
  run->add_option("--checkpoint", options.checkpoint, "safetensors file with the variables");
  run->add_option("--output", options.output, "write the last run's outputs to this .npz file");
  run->add_option("--save-checkpoint", options.save_checkpoint,
                  "write the variables to this safetensors file at the end");
  run->add_option("--repeat", options.repeat, "number of runs")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  run->add_option("--threads", options.threads, "0: one a core")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  run->add_option("--seed", options.seed, "of random inputs")->capture_default_str();
  run->add_flag("--profile", options.profile, "print the time of each step");
  return run;
}

CLI::App* AddTune(CLI::App& app, TuneOptions& options) {
  CLI::App* tune = app.add_subcommand(
      "tune",
      "Measures which of cuBLASLt's algorithms is quickest for each matrix product on a GPU, for later runs");
  tune->add_option("plan", options.plan, "a .plan file")->required();
  tune->add_option("--file", options.file,
                   "the tuning file that what is measured is added to; else what SINTER_GPU_TUNING_FILE says, "
                   "else PLAN.tuning, where runs of the plan look for it");
  tune->add_flag("--again", options.again, "measure also what the file has already");
  tune->add_flag("--any-bits", options.any_bits,
                 "among all algorithms, not only those that give the bits of cuBLASLt's first choice: the same "
                 "bits in every run with this file, and others without it");
  return tune;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Looks at Sinter's plans and runs them."};
  app.require_subcommand(1);
  std::string inspected;
  InspectOptions inspect_options;
  RunOptions run_options;
  TuneOptions tune_options;
  CLI::App* inspect = AddInspect(app, inspected, inspect_options);
  AddRun(app, run_options);
  CLI::App* tune = AddTune(app, tune_options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return sinter::tools::ExitCode(app, error);
  }
  if (inspect->parsed())
    return sinter::tools::ExitCode("sinter inspect", Inspect(inspected, inspect_options));
  if (tune->parsed())
    return sinter::tools::ExitCode("sinter tune", sinter::tools::TunePlan(tune_options, std::cout));
  return sinter::tools::ExitCode("sinter run", sinter::tools::RunPlan(run_options, std::cout));
}
