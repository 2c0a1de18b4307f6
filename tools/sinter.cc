// Looks at plans and runs them. Holds no compiler: what a deployed machine has.
//
//   sinter inspect lenet.plan
//   sinter run lenet.plan --function train --input x=x.npy --input lr=0.1 --repeat 20
//   sinter profile lenet.plan --function train --trace train.json
//   sinter tune lenet.plan
#include <iostream>
#include <string>

#include "CLI/CLI.hpp"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/tools/chrome_trace.h"
#include "sinter/tools/exit_code.h"
#include "sinter/tools/function_call.h"
#include "sinter/tools/function_profile.h"
#include "sinter/tools/inspect.h"
#include "sinter/tools/profile_text.h"
#include "sinter/tools/run_plan.h"
#include "sinter/tools/tune_plan.h"

namespace {

using sinter::tools::FunctionCall;
using sinter::tools::FunctionCallOptions;
using sinter::tools::FunctionProfile;
using sinter::tools::InspectOptions;
using sinter::tools::ProfileOptions;
using sinter::tools::RunOptions;
using sinter::tools::TuneOptions;

absl::Status Inspect(const std::string& path, const InspectOptions& options) {
  absl::StatusOr<sinter::Plan> plan = sinter::Plan::Load(path);
  if (!plan.ok()) return plan.status();
  absl::StatusOr<std::string> text = sinter::tools::InspectText(*plan, options);
  if (text.ok()) std::cout << *text;
  return text.status();
}

struct ProfileArguments {
  FunctionCallOptions call;
  ProfileOptions profile;
  int top = 0;
  std::string trace;  // Empty: none.
};

absl::Status Profile(const ProfileArguments& arguments) {
  SINTER_ASSIGN_OR_RETURN(FunctionCall call, FunctionCall::Make(arguments.call));
  SINTER_ASSIGN_OR_RETURN(
      const FunctionProfile profile,
      sinter::tools::ProfileFunction(call.session(), call.function(), call.name(), arguments.profile));
  std::cout << sinter::tools::ProfileText(profile, arguments.top);
  return arguments.trace.empty() ? absl::OkStatus()
                                 : sinter::tools::WriteChromeTrace(profile, arguments.trace);
}

CLI::App* AddInspect(CLI::App& app, std::string& path, InspectOptions& options) {
  CLI::App* inspect = app.add_subcommand("inspect", "Prints what is in a plan");
  inspect->add_option("plan", path, "a .plan file")->required();
  inspect->add_option("--function", options.function, "only this function");
  inspect->add_flag("!--no-steps", options.steps, "leave out the steps");
  inspect->add_flag("!--no-memory", options.memory, "leave out what is alive at the memory's peak");
  return inspect;
}

constexpr char kTrust[] =
    "Running a plan runs a program: its native code is loaded into this process. Run plans from where you "
    "would run a "
    "program from, or the one whose hash you know (--expected-hash). `sinter inspect` only reads: it is safe "
    "for any "
    "file.";

void AddCall(CLI::App& command, FunctionCallOptions& options) {
  command.add_option("plan", options.plan, "a .plan file")->required();
  command.add_option("--function", options.function, "needed if the plan has several");
  command.add_option(
      "--input", options.inputs,
      "name=file.npy, name=number or file.npz; inputs not given are random: floats in [-1, 1), those of "
      "rank 0 the number 0.01, integers 0 or 1");
  command.add_option("--checkpoint", options.checkpoint, "safetensors file with the variables");
  command.add_flag("--allow-unchecked", options.allow_unchecked,
                   "load a checkpoint without checksums, as other programs write them");
  command.add_option("--expected-hash", options.expected_hash,
                     "refuse the plan unless this is its hash, which `sinter inspect` prints");
  command.add_option("--threads", options.threads, "0: one a core")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--seed", options.seed, "of random inputs")->capture_default_str();
}

void AddRun(CLI::App& app, RunOptions& options) {
  CLI::App* run = app.add_subcommand("run", "Runs a function of a plan and times it");
  run->footer(kTrust);
  AddCall(*run, options.call);
  run->add_option("--output", options.output, "write the last run's outputs to this .npz file");
  run->add_option("--save-checkpoint", options.save_checkpoint,
                  "write the variables to this safetensors file at the end");
  run->add_option("--repeat", options.repeat, "number of runs")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  run->add_flag("--profile", options.profile, "print the time of each step");
  run->add_flag("--load-times", options.load_times,
                "print where the time goes from opening the plan to the end of the first run");
}

CLI::App* AddProfile(CLI::App& app, ProfileArguments& arguments) {
  CLI::App* profile = app.add_subcommand(
      "profile", "Says where the time of a plan's function goes, against what its devices can do at most");
  profile->footer(kTrust);
  AddCall(*profile, arguments.call);
  profile->add_option("--repeat", arguments.profile.repeat, "number of runs that are timed")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  profile->add_option("--top", arguments.top, "print only so many steps, the longest; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  profile->add_flag("!--no-roof", arguments.profile.with_roofs,
                    "do not measure what the devices can do at most, which takes memory and seconds");
  profile->add_option("--trace", arguments.trace,
                      "write the last run to this .json file, for chrome://tracing or ui.perfetto.dev");
  return profile;
}

CLI::App* AddTune(CLI::App& app, TuneOptions& options) {
  CLI::App* tune = app.add_subcommand(
      "tune",
      "Measures which of cuBLASLt's algorithms is quickest for each matrix product on a GPU, for later runs");
  tune->footer(kTrust);
  tune->add_option("plan", options.plan, "a .plan file")->required();
  tune->add_option(
      "--file", options.file,
      "the tuning file that what is measured is added to; else what SINTER_GPU_TUNING_FILE says, "
      "else PLAN.tuning, where runs of the plan look for it");
  tune->add_flag("--again", options.again, "measure also what the file has already");
  tune->add_flag(
      "--any-bits", options.any_bits,
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
  ProfileArguments profile_arguments;
  TuneOptions tune_options;
  CLI::App* inspect = AddInspect(app, inspected, inspect_options);
  AddRun(app, run_options);
  CLI::App* profile = AddProfile(app, profile_arguments);
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
  if (profile->parsed()) return sinter::tools::ExitCode("sinter profile", Profile(profile_arguments));
  return sinter::tools::ExitCode("sinter run", sinter::tools::RunPlan(run_options, std::cout));
}
