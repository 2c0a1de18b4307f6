// The program `sinter`: checks, inspects, explains, runs, profiles, tunes and predicts plans. It contains no
// compiler, for deployed machines.
//
//   sinter devices
//   sinter check lenet.plan
//   sinter inspect lenet.plan
//   sinter explain gpt2.plan --function train
//   sinter run lenet.plan --function train --input x=x.npy --input lr=0.1 --repeat 20
//   sinter profile lenet.plan --function train --trace train.json
//   sinter report lenet.plan -o lenet.html
//   sinter tune lenet.plan
//   sinter measure --device gpu:0 --out h200.costs
//   sinter predict lenet.plan --function train --costs h200.costs
//   sinter simulate lenet.plan --function train --axis data=128 --trace train.json
//   sinter import det.onnx -o det.plan --shape x=1,3,48,160       # By sinter-import, if it is installed.
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/tools/chrome_trace.h"
#include "sinter/tools/doctor/machine_report.h"
#include "sinter/tools/doctor/plan_check.h"
#include "sinter/tools/exit_code.h"
#include "sinter/tools/explain/explanation.h"
#include "sinter/tools/function_call.h"
#include "sinter/tools/function_profile.h"
#include "sinter/tools/inspect.h"
#include "sinter/tools/predict/costs_source.h"
#include "sinter/tools/predict/predict_commands.h"
#include "sinter/tools/profile_text.h"
#include "sinter/tools/report/plan_report.h"
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

struct CheckArguments {
  std::string plan;
  bool as_json = false;
};

// Returns the exit code.
int Check(const CheckArguments& arguments) {
  const absl::StatusOr<sinter::Plan> plan = sinter::Plan::Load(arguments.plan);
  if (!plan.ok()) return sinter::tools::ExitCode("sinter check", plan.status());
  const sinter::tools::PlanCheck check = sinter::tools::CheckPlan(*plan);
  std::cout << (arguments.as_json ? sinter::tools::PlanCheckJson(check)
                                  : sinter::tools::PlanCheckText(check));
  return check.runs() ? 0 : sinter::tools::kFailed;
}

int Devices(bool as_json) {
  const sinter::tools::MachineReport report = sinter::tools::ReadMachine();
  std::cout << (as_json ? sinter::tools::MachineJson(report) : sinter::tools::MachineText(report));
  return 0;
}

struct ExplainArguments {
  sinter::tools::ExplainOptions options;
  std::string plan, costs;
  bool as_json = false;
};

absl::Status Explain(const ExplainArguments& arguments) {
  SINTER_ASSIGN_OR_RETURN(const sinter::Plan plan, sinter::Plan::Load(arguments.plan));
  SINTER_ASSIGN_OR_RETURN(const sinter::cost::DeviceCosts costs,
                          sinter::tools::ReadCosts(arguments.costs, plan));
  sinter::tools::ExplainOptions options = arguments.options;
  options.costs = &costs;
  SINTER_ASSIGN_OR_RETURN(const sinter::tools::Explanation made, sinter::tools::Explain(plan, options));
  std::cout << (arguments.as_json       ? sinter::tools::ExplanationJson(made)
                : options.exchange != 0 ? sinter::tools::ExchangeText(made.exchanges.front())
                                        : sinter::tools::ExplanationText(made));
  return absl::OkStatus();
}

struct ProfileArguments {
  FunctionCallOptions call;
  ProfileOptions profile;
  int top = 0;
  std::string trace;  // File of the trace; empty: none.
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

struct ReportArguments {
  FunctionCallOptions call;
  ProfileOptions profile;
  std::string out, costs;
  bool measures = false;
};

absl::Status Report(const ReportArguments& arguments) {
  const std::filesystem::path folder = std::filesystem::absolute(arguments.out).parent_path();
  if (!std::filesystem::is_directory(folder)) {
    return absl::NotFoundError(
        absl::StrCat("--out ", arguments.out, ": there is no folder ", folder.string()));
  }
  SINTER_ASSIGN_OR_RETURN(const sinter::Plan plan, sinter::Plan::Load(arguments.call.plan));
  SINTER_ASSIGN_OR_RETURN(const sinter::cost::DeviceCosts costs,
                          sinter::tools::ReadCosts(arguments.costs, plan));
  std::optional<FunctionProfile> profile;
  if (arguments.measures) {
    SINTER_ASSIGN_OR_RETURN(FunctionCall call, FunctionCall::Make(arguments.call));
    SINTER_ASSIGN_OR_RETURN(profile, sinter::tools::ProfileFunction(call.session(), call.function(),
                                                                    call.name(), arguments.profile));
  }
  return sinter::WriteFileAtomically(arguments.out,
                                     sinter::tools::PlanReport(plan, costs, profile ? &*profile : nullptr));
}

CLI::App* AddDevices(CLI::App& app, bool& as_json) {
  CLI::App* devices =
      app.add_subcommand("devices", "Lists the devices and the libraries that are found on this machine");
  devices->add_flag("--json", as_json, "print one JSON object");
  return devices;
}

CLI::App* AddCheck(CLI::App& app, CheckArguments& arguments) {
  CLI::App* check = app.add_subcommand(
      "check", "Says whether a plan runs on this machine, and what would make it run or run faster");
  check->footer(
      "Exit codes: 0, the plan runs here; 1, it cannot run here; 2, wrong arguments or no plan. Runs nothing "
      "of "
      "the plan: it is safe for any file.");
  check->add_option("plan", arguments.plan, "a .plan file")->required();
  check->add_flag("--json", arguments.as_json, "print one JSON object");
  return check;
}

CLI::App* AddInspect(CLI::App& app, std::string& path, InspectOptions& options) {
  CLI::App* inspect = app.add_subcommand("inspect", "Prints the contents of a plan");
  inspect->add_option("plan", path, "a .plan file")->required();
  inspect->add_option("--function", options.function, "print only this function");
  inspect->add_flag("!--no-steps", options.steps, "leave out the steps");
  inspect->add_flag("!--no-memory", options.memory, "leave out the values alive at the memory peak");
  return inspect;
}

CLI::App* AddExplain(CLI::App& app, ExplainArguments& arguments) {
  CLI::App* explain = app.add_subcommand(
      "explain",
      "Lists the exchanges of a plan with their reasons and predicted times, and the cut variables");
  explain->add_option("plan", arguments.plan, "a .plan file")->required();
  explain->add_option("--function", arguments.options.function, "only this function's exchanges");
  explain->add_option("--exchange", arguments.options.exchange, "print the exchange of this number in full")
      ->check(CLI::PositiveNumber);
  explain->add_option("--costs", arguments.costs,
                      "a cost table, as for `sinter predict`; default: h200 for a plan with a GPU, else cpu");
  explain->add_flag("--json", arguments.as_json, "print one JSON object");
  return explain;
}

constexpr char kTrust[] =
    "Running a plan runs a program: this process loads and runs its native code. Run only plans from sources "
    "that you would run a program from, or check the hash of the plan (--expected-hash). `sinter inspect` "
    "only reads the file: it is safe for any file.";

void AddCall(CLI::App& command, FunctionCallOptions& options) {
  command.add_option("plan", options.plan, "a .plan file")->required();
  command.add_option("--function", options.function, "function to run; required if the plan has several");
  command.add_option(
      "--input", options.inputs,
      "name=file.npy, name=number or file.npz; missing inputs are random: floats in [-1, 1), floats of "
      "rank 0 are 0.01, integers are 0 or 1");
  command.add_option("--checkpoint", options.checkpoint, "safetensors file to read the variables from");
  command.add_flag("--allow-unchecked", options.allow_unchecked,
                   "load a checkpoint without checksums, written by another program");
  command.add_option("--expected-hash", options.expected_hash,
                     "refuse the plan unless it has this hash; `sinter inspect` prints the hash");
  command.add_option("--threads", options.threads, "number of CPU threads; 0: one per core")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--seed", options.seed, "seed of the random inputs")->capture_default_str();
}

void AddRun(CLI::App& app, RunOptions& options) {
  CLI::App* run = app.add_subcommand("run", "Runs a function of a plan and prints its time");
  run->footer(kTrust);
  AddCall(*run, options.call);
  run->add_option("--output", options.output, "write the outputs of the last run to this .npz file");
  run->add_option("--save-checkpoint", options.save_checkpoint,
                  "write the variables to this safetensors file after the last run");
  run->add_option("--repeat", options.repeat, "number of runs")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  run->add_flag("--profile", options.profile, "print the time of each step");
  run->add_flag("--load-times", options.load_times,
                "print the time from opening the plan to the end of the first run, by stage");
}

CLI::App* AddProfile(CLI::App& app, ProfileArguments& arguments) {
  CLI::App* profile = app.add_subcommand(
      "profile", "Prints the time of each step of a function and compares it with the limits of the devices");
  profile->footer(kTrust);
  AddCall(*profile, arguments.call);
  profile->add_option("--repeat", arguments.profile.repeat, "number of timed runs")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  profile->add_option("--top", arguments.top, "print only this many of the longest steps; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  profile->add_flag("!--no-roofline,!--no-roof", arguments.profile.with_rooflines,
                    "skip the measurement of the device limits, which takes memory and seconds");
  profile->add_option("--trace", arguments.trace,
                      "write the last run to this .json file, for chrome://tracing or ui.perfetto.dev");
  return profile;
}

CLI::App* AddReport(CLI::App& app, ReportArguments& arguments) {
  CLI::App* report = app.add_subcommand("report",
                                        "Writes one HTML page of a plan: the time of steps by kind and by "
                                        "your lines, the memory over the steps");
  report->footer(kTrust);
  AddCall(*report, arguments.call);
  report->add_option("-o,--out", arguments.out, "the .html file to write")->required();
  report->add_flag("--measure", arguments.measures,
                   "run the function and show measured times; without it nothing of the plan runs");
  report->add_option("--repeat", arguments.profile.repeat, "number of timed runs")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  report->add_option("--costs", arguments.costs,
                     "a cost table, as for `sinter predict`; default: h200 for a plan with a GPU, else cpu");
  return report;
}

CLI::App* AddTune(CLI::App& app, TuneOptions& options) {
  CLI::App* tune = app.add_subcommand(
      "tune",
      "Measures the fastest cuBLASLt algorithm for each matmul and the fastest cuDNN engine for each "
      "convolution on a GPU, and saves them for later runs");
  tune->footer(kTrust);
  tune->add_option("plan", options.plan, "a .plan file")->required();
  tune->add_option(
      "--file", options.file,
      "tuning file to add the measurements to; default: SINTER_GPU_TUNING_FILE, else PLAN.tuning, which runs "
      "of the plan read");
  tune->add_flag("--again", options.again, "also measure entries that the file already has");
  const auto mode = [&options](sinter::TuningMode mode) { return [&options, mode] { options.mode = mode; }; };
  CLI::Option* same = tune->add_flag_callback("--same-bits", mode(sinter::TuningMode::kSameBits),
                                              "choose only what gives the bits of the libraries' first "
                                              "choices, as runs without the file do: no engines");
  CLI::Option* any = tune->add_flag_callback(
      "--any-bits", mode(sinter::TuningMode::kAnyBits),
      "choose among all algorithms of matmuls too, not only those with the bits of cuBLASLt's first choice; "
      "all runs with this file give the same bits, runs without it may give others");
  same->excludes(any);
  return tune;
}

// Runs sinter-import, which has the compiler, in place of this program. Returns only if it is not there.
int RunImport(char** argv) {
  std::error_code code;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", code);
  const std::string program = (self.parent_path() / "sinter-import").string();
  argv[0] = const_cast<char*>(program.c_str());  // execv does not change it.
  execv(program.c_str(), argv);
  std::cerr << "sinter " << argv[1] << ": needs the compiler, the program " << program
            << ", which is not installed\n";
  return sinter::tools::kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && (std::string(argv[1]) == "import" || std::string(argv[1]) == "onnx-test"))
    return RunImport(argv);
  CLI::App app{"Checks, inspects, runs, profiles, tunes and predicts plans of Sinter."};
  app.footer(
      "Also, where the compiler is installed: `sinter import` compiles an ONNX model to a plan, and "
      "`sinter onnx-test` runs the test cases of the ONNX standard.");
  app.require_subcommand(1);
  app.set_version_flag("--version", sinter::tools::VersionText());
  bool devices_as_json = false;
  CheckArguments check_arguments;
  CLI::App* devices = AddDevices(app, devices_as_json);
  CLI::App* check = AddCheck(app, check_arguments);
  std::string inspected;
  InspectOptions inspect_options;
  RunOptions run_options;
  ProfileArguments profile_arguments;
  TuneOptions tune_options;
  CLI::App* inspect = AddInspect(app, inspected, inspect_options);
  ExplainArguments explain_arguments;
  CLI::App* explain = AddExplain(app, explain_arguments);
  AddRun(app, run_options);
  CLI::App* profile = AddProfile(app, profile_arguments);
  CLI::App* tune = AddTune(app, tune_options);
  ReportArguments report_arguments;
  CLI::App* report = AddReport(app, report_arguments);
  const sinter::tools::PredictCommands predict(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return sinter::tools::ExitCode(app, error);
  }
  if (devices->parsed()) return Devices(devices_as_json);
  if (check->parsed()) return Check(check_arguments);
  if (inspect->parsed())
    return sinter::tools::ExitCode("sinter inspect", Inspect(inspected, inspect_options));
  if (explain->parsed()) return sinter::tools::ExitCode("sinter explain", Explain(explain_arguments));
  if (report->parsed()) return sinter::tools::ExitCode("sinter report", Report(report_arguments));
  if (predict.is_parsed()) return predict.Run(std::cout);
  if (tune->parsed())
    return sinter::tools::ExitCode("sinter tune", sinter::tools::TunePlan(tune_options, std::cout));
  if (profile->parsed()) return sinter::tools::ExitCode("sinter profile", Profile(profile_arguments));
  return sinter::tools::ExitCode("sinter run", sinter::tools::RunPlan(run_options, std::cout));
}
