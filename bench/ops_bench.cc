// Compares memory-bound kernels with a copy, at the sizes of the workload "ops" in bench/peers/torch_gpu.py.
//
//   sinter_bench_ops --device gpu:0  # the table; with --json as called by bench/peers/compare_gpu.py
//   sinter_bench_ops --only softmax_bf16,rowsum_bf16 --scale 64 --seconds 1
//   sinter_bench_ops --only colsum_bf16 --device gpu:0 --plan p.plan
//       # for: sinter profile p.plan --function run
//   sinter_bench_ops --only chain_f32 --scale 1024 --values v.safetensors  # for bench/peers/judge_ops.py
//
// GBps is the least number of moved bytes divided by the time of a run in a burst. of_copy is this rate
// divided by the rate of copy_f32, which is measured first, in the same process and in the same way. kernels
// is the number of kernels that the plan launches for the op. steps_ms is the sum of their least times; ms
// minus steps_ms is the time between kernels.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "sinter/bench/memory_ops.h"
#include "sinter/bench/timing.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/formats/safetensors.h"
#include "sinter/runtime/host/status.h"

namespace {

namespace sn = sinter;
using sn::bench::MemoryOp;
using sn::bench::Timing;
using Json = nlohmann::ordered_json;

constexpr char kCopy[] = "copy_f32", kCudaStage[] = "cuda";
// Default scale on CPUs: 2^24 elements, matrices of 4096 x 4096.
constexpr int64_t kCpuScale = 16, kMostScale = 1 << 16;

struct Options {
  std::vector<std::string> only;
  double seconds = 3;
  bool json = false;
  int64_t scale = 0;  // 0: the default of the device.
  sn::Device device;
  std::vector<std::string> architectures = sn::CompileOptions().gpu_architectures;
  std::string plan, cuda, values;
};

void Print(const Options& options, const Json& result) {
  if (options.json) {
    std::cout << result.dump() << std::endl;
  } else if (result.contains("error")) {
    std::cout << absl::StrFormat("%-26s %s", result["workload"].get<std::string>(),
                                 result["error"].get<std::string>())
              << std::endl;
  } else {
    std::cout << absl::StrFormat("%-26s %11.4f %11.4f %9.1f %7.1f %% %8d  %s",
                                 result["workload"].get<std::string>(), result["ms"].get<double>(),
                                 result["steps_ms"].get<double>(), result["GBps"].get<double>(),
                                 100 * result["of_copy"].get<double>(), result["kernels"].get<int64_t>(),
                                 absl::StrJoin(result["shape"].get<std::vector<int64_t>>(), " x "))
              << std::endl;
  }
}

// Returns the sum of the least times of the steps.
absl::StatusOr<double> StepsMs(sn::BoundFunction& run) {
  constexpr int kRuns = 10;
  sn::Profile profile;
  for (int i = 0; i < kRuns; ++i) SINTER_RETURN_IF_ERROR(run.Run(&profile));
  double seconds = 0;
  for (const sn::StepTimes& step : profile.steps) seconds += step.seconds_min;
  return seconds * 1e3;
}

// Appends every variable as `prefix` + name.
absl::Status AddVariables(const sn::Session& session, const std::string& prefix,
                          std::vector<sn::NamedTensor>& values) {
  for (const sn::VariableInfo& variable : session.variables()) {
    SINTER_ASSIGN_OR_RETURN(sn::HostTensor value, session.ReadVariable(variable.name));
    values.push_back({absl::StrCat(prefix, variable.name), std::move(value)});
  }
  return absl::OkStatus();
}

absl::StatusOr<sn::Plan> CompileOp(const MemoryOp& op, const Options& options,
                                   sn::CompileReport* report = nullptr) {
  sn::CompileOptions compile;
  compile.device = options.device;
  compile.gpu_architectures = options.architectures;
  if (report != nullptr) compile.dump_stages = {kCudaStage};
  return sn::Compile(op.graph, compile, report);
}

absl::StatusOr<sn::Session> Start(const MemoryOp& op, const Options& options) {
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, CompileOp(op, options));
  SINTER_ASSIGN_OR_RETURN(sn::Session session, sn::Session::Create(std::move(plan)));
  SINTER_RETURN_IF_ERROR(sn::bench::SetValues(session, op));
  return session;
}

absl::Status SaveCompiled(const std::string& name, const Options& options) {
  SINTER_ASSIGN_OR_RETURN(MemoryOp op, sn::bench::MakeMemoryOp(name, options.scale));
  sn::CompileReport report;
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, CompileOp(op, options, options.cuda.empty() ? nullptr : &report));
  if (!options.cuda.empty())
    SINTER_RETURN_IF_ERROR(sn::WriteFileAtomically(options.cuda, report.dumps[kCudaStage]));
  return options.plan.empty() ? absl::OkStatus() : plan.Save(options.plan);
}

// Saves the variables before and after one run, and its outputs.
absl::Status SaveValues(const std::string& name, const Options& options) {
  SINTER_ASSIGN_OR_RETURN(MemoryOp op, sn::bench::MakeMemoryOp(name, options.scale));
  SINTER_ASSIGN_OR_RETURN(sn::Session session, Start(op, options));
  std::vector<sn::NamedTensor> values;
  SINTER_RETURN_IF_ERROR(AddVariables(session, "before/", values));
  SINTER_ASSIGN_OR_RETURN(const sn::Outputs outputs, session.Run("run", {}));
  for (size_t i = 0; i < outputs.size(); ++i) {
    SINTER_ASSIGN_OR_RETURN(const sn::HostTensor* output, outputs.Get(outputs.name(i)));
    SINTER_ASSIGN_OR_RETURN(sn::HostTensor value, output->Clone());
    values.push_back({absl::StrCat("output/", std::string(outputs.name(i))), std::move(value)});
  }
  SINTER_RETURN_IF_ERROR(AddVariables(session, "after/", values));
  return sn::SaveSafetensors(options.values, values);
}

// Measures one op. `copy_gbps` is the rate of the copy; 0 for the copy itself.
absl::StatusOr<Json> Measure(const std::string& name, const Options& options, double copy_gbps) {
  SINTER_ASSIGN_OR_RETURN(MemoryOp op, sn::bench::MakeMemoryOp(name, options.scale));
  SINTER_ASSIGN_OR_RETURN(sn::Session session, Start(op, options));
  SINTER_ASSIGN_OR_RETURN(sn::BoundFunction run, session.Bind("run"));
  SINTER_ASSIGN_OR_RETURN(const Timing timing,
                          sn::bench::TimeRuns(session, run, options.device, options.seconds));
  SINTER_ASSIGN_OR_RETURN(const double steps_ms, StepsMs(run));
  SINTER_ASSIGN_OR_RETURN(const sn::FunctionInfo function, session.plan().Function("run"));
  const double gbps = op.repeats * op.minimal_bytes / timing.ms / 1e6;
  return Json{{"workload", name},
              {"peer", "sinter"},
              {"mode", ""},
              {"threads", session.threads()},
              {"ms", timing.ms / op.repeats},
              {"min_ms", timing.min_ms / op.repeats},
              {"cpu_ms", timing.cpu_ms / op.repeats},
              {"runs", timing.runs * op.repeats},
              {"shape", op.shape},
              {"GBps", gbps},
              {"max_GBps", op.repeats * op.minimal_bytes / timing.min_ms / 1e6},
              {"of_copy", copy_gbps > 0 ? gbps / copy_gbps : 1.0},
              {"kernels", function.steps / op.repeats},
              {"steps_ms", steps_ms / op.repeats}};
}

void PrintHeader() {
  std::cout << absl::StrFormat("%-26s %11s %11s %9s %9s %8s  %s", "workload", "ms", "steps_ms", "GB/s",
                               "of copy", "kernels", "shape")
            << std::endl;
}

// Measures all wanted ops and returns the exit status.
int MeasureAll(const Options& options) {
  if (!options.json) PrintHeader();
  int failures = 0;
  double copy_gbps = 0;
  for (const std::string& name : sn::bench::MemoryOpNames()) {
    const bool is_wanted =
        options.only.empty() || std::ranges::find(options.only, name) != options.only.end();
    if (!is_wanted && name != kCopy) continue;  // Always measure the copy.
    absl::StatusOr<Json> result = Measure(name, options, copy_gbps);
    if (!result.ok()) {
      const std::string error(result.status().message());
      Print(options, {{"workload", name}, {"peer", "sinter"}, {"mode", ""}, {"error", error}});
      if (name == kCopy) return 1;  // The device does not exist, or there is no rate to compare with.
      ++failures;
      continue;
    }
    if (name == kCopy) copy_gbps = (*result)["GBps"].get<double>();
    if (is_wanted) Print(options, *result);
  }
  return failures == 0 ? 0 : 1;
}

int Main(const Options& options) {
  const std::vector<std::string> names = sn::bench::MemoryOpNames();
  for (const std::string& name : options.only) {
    if (std::ranges::find(names, name) != names.end()) continue;
    std::cerr << "sinter_bench_ops: no workload \"" << name << "\"; there are " << absl::StrJoin(names, " ")
              << "\n";
    return 2;
  }
  if ((options.plan + options.cuda + options.values).empty()) return MeasureAll(options);
  absl::Status status;
  if (!(options.plan + options.cuda).empty()) status.Update(SaveCompiled(options.only.front(), options));
  if (!options.values.empty()) status.Update(SaveValues(options.only.front(), options));
  if (!status.ok()) std::cerr << "sinter_bench_ops: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Times kernels that memory bounds, against a copy within the same memory."};
  app.add_flag("--json", options.json, "print one JSON object per line");
  app.add_option("--only", options.only, "run only these workloads")->delimiter(',');
  app.add_option("--seconds", options.seconds, "seconds to measure each workload")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  std::string device = "cpu:0";
  app.add_option("--device", device, "cpu:0 or a GPU such as gpu:0")->capture_default_str();
  app.add_option(
         "--scale", options.scale,
         "divides the elements of the chains and the copy (2^28), the rows of the matrices (65536, for the "
         "cross entropy 16384), which stay as long, and the first dimension of each of AdamW's parameters. "
         "Default: 1 on a GPU, on a CPU 16, which is 2^24 elements and 4096 rows")
      ->check(CLI::Range(int64_t{1}, kMostScale));
  app.add_option("--gpu-architectures", options.architectures, "architectures to compile for")
      ->delimiter(',');
  app.add_option("--plan", options.plan,
                 "instead of a measurement: file for the plan of one workload, for sinter profile");
  app.add_option("--cuda", options.cuda,
                 "instead of a measurement: file for the CUDA C++ of the kernels of one workload");
  app.add_option("--values", options.values,
                 "instead of a measurement: safetensors file for the inputs and outputs of one workload");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  absl::StatusOr<sn::Device> parsed = sn::Device::Parse(device);
  if (!parsed.ok()) {
    std::cerr << "sinter_bench_ops: " << parsed.status().message() << "\n";
    return 2;
  }
  options.device = *parsed;
  if (options.scale == 0) options.scale = options.device.is_gpu() ? 1 : kCpuScale;
  if (!(options.values + options.plan + options.cuda).empty() && options.only.size() != 1) {
    std::cerr << "sinter_bench_ops: --plan, --cuda and --values need --only with exactly one workload\n";
    return 2;
  }
  if (!options.cuda.empty() && !options.device.is_gpu()) {
    std::cerr << "sinter_bench_ops: --cuda needs --device gpu:0: there is no CUDA for " << device << "\n";
    return 2;
  }
  return Main(options);
}
