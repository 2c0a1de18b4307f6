// Times the draws of bench/peers/sweep_gpu.py: forms with shapes drawn from a seed.
//
//   sinter_bench_sweep draws.jsonl --device gpu:0                 # One JSON object a draw.
//   sinter_bench_sweep draws.jsonl --device gpu:0 --compile-only --shard 0/4   # Fills the kernel cache.
//   sinter_bench_sweep draws.jsonl --device gpu:0 --only 17 --cuda k.cu --plan p.plan
//   sinter_bench_sweep draws.jsonl --only 3,4 --values v.safetensors     # For sweep_gpu.py --judge.
//   sinter_bench_sweep draws.jsonl --device gpu:0 --serve
//       # Reads "compile ID", "prepare ID", "time ID" and "drop ID" from the standard input, and answers each
//       # with one JSON object, so that another program times its own work between two of ours.
//
// A result has id, form, ms (the median time of a run in bursts), kernels (steps of the plan) and, where a
// run needs each element of its operands and results, their bytes. A draw that does not compile or run has
// the error instead. Values are "ID/in/NAME" (operands), "ID/out/NAME" (results), and for operands that the
// draw changes "ID/after/NAME".
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "sinter/bench/sweep/forms.h"
#include "sinter/bench/timing.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/formats/safetensors.h"
#include "sinter/runtime/host/status.h"

namespace {

namespace sn = sinter;
using Json = nlohmann::ordered_json;
using sn::bench::Draw;
using sn::bench::DrawnOperand;

constexpr char kCudaStage[] = "cuda";

struct Options {
  std::string draws, plan, cuda, values, shard = "0/1";
  std::vector<int64_t> only;
  std::vector<std::string> forms;
  double seconds = 0.1;
  bool compile_only = false, serve = false, tf32 = true;
  sn::Device device;
  std::vector<std::string> architectures = sn::CompileOptions().gpu_architectures;
};

// A draw that is ready to run.
struct Prepared {
  sn::Session session;
  sn::BoundFunction run;
  double bytes = 0;
};

absl::StatusOr<sn::Plan> CompileDraw(const Draw& draw, const Options& options, double* bytes = nullptr,
                                     sn::CompileReport* report = nullptr) {
  const sn::MathMode math =
      options.tf32 && !options.device.is_cpu() ? sn::MathMode::kTf32 : sn::MathMode::kIeee;
  SINTER_ASSIGN_OR_RETURN(const sn::Graph graph, sn::bench::BuildDraw(draw, math, bytes));
  sn::CompileOptions compile{.device = options.device, .gpu_architectures = options.architectures};
  if (report != nullptr) compile.dump_stages = {kCudaStage};
  return sn::Compile(graph, compile, report);
}

absl::StatusOr<sn::Session> StartDraw(const Draw& draw, const Options& options, double* bytes = nullptr) {
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, CompileDraw(draw, options, bytes));
  SINTER_ASSIGN_OR_RETURN(sn::Session session, sn::Session::Create(std::move(plan)));
  for (const DrawnOperand& operand : draw.operands) {
    if (operand.kind != DrawnOperand::Kind::kWhole && operand.kind != DrawnOperand::Kind::kTruth) continue;
    SINTER_ASSIGN_OR_RETURN(const sn::HostTensor values, sn::bench::DrawValues(draw, operand));
    SINTER_RETURN_IF_ERROR(session.WriteVariable(operand.name, values));
  }
  return session;
}

absl::StatusOr<std::unique_ptr<Prepared>> Prepare(const Draw& draw, const Options& options) {
  double bytes = 0;
  SINTER_ASSIGN_OR_RETURN(sn::Session session, StartDraw(draw, options, &bytes));
  SINTER_ASSIGN_OR_RETURN(sn::BoundFunction run, session.Bind("run"));
  SINTER_RETURN_IF_ERROR(run.Run());
  SINTER_RETURN_IF_ERROR(session.Synchronize());
  return std::make_unique<Prepared>(std::move(session), std::move(run), bytes);
}

Json Named(const Draw& draw) { return {{"id", draw.id}, {"form", draw.name}}; }

Json WithError(const Draw& draw, const absl::Status& status) {
  Json result = Named(draw);
  result["error"] = std::string(status.message());
  return result;
}

absl::StatusOr<Json> Time(const Draw& draw, Prepared& prepared, const Options& options) {
  // Bursts of 10 ms: a wait at the end of each is below 1 % of it, and the least number of bursts is quick.
  const sn::bench::Bursts bursts{.burst_ms = 10, .most_runs = 1000, .at_least = 5};
  SINTER_ASSIGN_OR_RETURN(
      const sn::bench::Timing timing,
      sn::bench::TimeRuns(prepared.session, prepared.run, options.device, options.seconds, bursts));
  SINTER_ASSIGN_OR_RETURN(const sn::FunctionInfo function, prepared.session.plan().Function("run"));
  Json result = Named(draw);
  result["ms"] = timing.ms;
  result["kernels"] = function.steps;
  if (draw.is_whole) result["bytes"] = prepared.bytes;
  return result;
}

Json TimeDraw(const Draw& draw, const Options& options) {
  if (options.compile_only) {
    const absl::StatusOr<sn::Plan> plan = CompileDraw(draw, options);
    return plan.ok() ? Named(draw) : WithError(draw, plan.status());
  }
  absl::StatusOr<std::unique_ptr<Prepared>> prepared = Prepare(draw, options);
  if (!prepared.ok()) return WithError(draw, prepared.status());
  const absl::StatusOr<Json> result = Time(draw, **prepared, options);
  return result.ok() ? *result : WithError(draw, result.status());
}

absl::Status SaveCompiled(const Draw& draw, const Options& options) {
  sn::CompileReport report;
  const absl::StatusOr<sn::Plan> plan =
      CompileDraw(draw, options, nullptr, options.cuda.empty() ? nullptr : &report);
  // Kernels that NVRTC refuses are wanted most.
  if (!options.cuda.empty() && report.dumps.contains(kCudaStage))
    SINTER_RETURN_IF_ERROR(sn::WriteFileAtomically(options.cuda, report.dumps[kCudaStage]));
  SINTER_RETURN_IF_ERROR(plan.status());
  return options.plan.empty() ? absl::OkStatus() : plan->Save(options.plan);
}

// Appends the operands of a draw and what one run makes of them.
absl::Status AppendValues(const Draw& draw, const Options& options, std::vector<sn::NamedTensor>& values) {
  SINTER_ASSIGN_OR_RETURN(sn::Session session, StartDraw(draw, options));
  std::vector<sn::NamedTensor> ours;
  for (const DrawnOperand& operand : draw.operands) {
    SINTER_ASSIGN_OR_RETURN(sn::HostTensor value, session.ReadVariable(operand.name));
    ours.push_back({absl::StrCat(draw.id, "/in/", operand.name), std::move(value)});
  }
  SINTER_ASSIGN_OR_RETURN(const sn::Outputs outputs, session.Run("run", {}));
  for (size_t i = 0; i < outputs.size(); ++i) {
    SINTER_ASSIGN_OR_RETURN(const sn::HostTensor* output, outputs.Get(outputs.name(i)));
    SINTER_ASSIGN_OR_RETURN(sn::HostTensor value, output->Clone());
    ours.push_back({absl::StrCat(draw.id, "/out/", std::string(outputs.name(i))), std::move(value)});
  }
  for (const DrawnOperand& operand : draw.operands) {
    if (operand.kind != DrawnOperand::Kind::kParameter) continue;
    SINTER_ASSIGN_OR_RETURN(sn::HostTensor value, session.ReadVariable(operand.name));
    ours.push_back({absl::StrCat(draw.id, "/after/", operand.name), std::move(value)});
  }
  for (sn::NamedTensor& value : ours) values.push_back(std::move(value));
  return absl::OkStatus();
}

// Prints a line for each draw, so that one that fails is not missing.
int SaveValues(const std::vector<Draw>& draws, const Options& options) {
  std::vector<sn::NamedTensor> values;
  for (const Draw& draw : draws) {
    const absl::Status status = AppendValues(draw, options, values);
    std::cout << (status.ok() ? Named(draw) : WithError(draw, status)).dump() << std::endl;
  }
  if (const absl::Status status = sn::SaveSafetensors(options.values, values); !status.ok()) {
    std::cerr << "sinter_bench_sweep: " << status.message() << "\n";
    return 1;
  }
  return 0;
}

// Answers commands until the input ends.
class Server {
 public:
  Server(std::vector<Draw> draws, const Options& options) : options_(options) {
    for (Draw& draw : draws) draws_.emplace(draw.id, std::move(draw));
  }

  int Serve() {
    std::string line;
    while (std::getline(std::cin, line)) {
      std::istringstream words(line);
      std::string command;
      int64_t id = -1;
      words >> command >> id;
      const auto found = draws_.find(id);
      if (found == draws_.end()) {
        std::cerr << "sinter_bench_sweep: no draw in the command \"" << line << "\"\n";
        return 2;
      }
      std::cout << Answer(command, found->second).dump() << std::endl;
    }
    return 0;
  }

 private:
  Json Answer(const std::string& command, const Draw& draw) {
    if (command == "drop") {
      prepared_.erase(draw.id);
      return Named(draw);
    }
    if (command == "compile") {
      const absl::StatusOr<sn::Plan> plan = CompileDraw(draw, options_);
      return plan.ok() ? Named(draw) : WithError(draw, plan.status());
    }
    if (command == "prepare") {
      absl::StatusOr<std::unique_ptr<Prepared>> prepared = Prepare(draw, options_);
      if (!prepared.ok()) return WithError(draw, prepared.status());
      prepared_[draw.id] = *std::move(prepared);
      return Named(draw);
    }
    if (command != "time")
      return WithError(draw, absl::InvalidArgumentError("no command \"" + command + "\""));
    const auto found = prepared_.find(draw.id);
    if (found == prepared_.end()) return WithError(draw, absl::FailedPreconditionError("is not prepared"));
    const absl::StatusOr<Json> result = Time(draw, *found->second, options_);
    return result.ok() ? *result : WithError(draw, result.status());
  }

  const Options& options_;
  std::map<int64_t, Draw> draws_;
  std::map<int64_t, std::unique_ptr<Prepared>> prepared_;
};

// Returns the draws that the options choose.
absl::StatusOr<std::vector<Draw>> Chosen(const Options& options) {
  SINTER_ASSIGN_OR_RETURN(std::vector<Draw> draws, sn::bench::ReadDraws(options.draws));
  const std::set<int64_t> only(options.only.begin(), options.only.end());
  const std::set<std::string> forms(options.forms.begin(), options.forms.end());
  std::erase_if(draws, [&](const Draw& draw) {
    return (!only.empty() && !only.contains(draw.id)) || (!forms.empty() && !forms.contains(draw.name));
  });
  if (draws.empty()) return absl::NotFoundError("no draw of this id or form in " + options.draws);
  std::istringstream shard(options.shard);
  size_t index = 0, count = 0;
  char slash = 0;
  if (!(shard >> index >> slash >> count) || slash != '/' || index >= count)
    return absl::InvalidArgumentError("--shard is a number below a count, such as 0/4, not " + options.shard);
  std::vector<Draw> mine;
  for (size_t i = index; i < draws.size(); i += count) mine.push_back(std::move(draws[i]));
  return mine;
}

int Main(const Options& options) {
  absl::StatusOr<std::vector<Draw>> draws = Chosen(options);
  if (!draws.ok()) {
    std::cerr << "sinter_bench_sweep: " << draws.status().message() << "\n";
    return 2;
  }
  if (options.serve) return Server(*std::move(draws), options).Serve();
  if (!options.values.empty()) return SaveValues(*draws, options);
  if ((options.plan + options.cuda).empty()) {
    for (const Draw& draw : *draws) std::cout << TimeDraw(draw, options).dump() << std::endl;
    return 0;
  }
  const absl::Status status = draws->size() == 1
                                  ? SaveCompiled(draws->front(), options)
                                  : absl::InvalidArgumentError("--plan and --cuda need --only with one draw");
  if (!status.ok()) std::cerr << "sinter_bench_sweep: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}

void AddOptions(CLI::App& app, Options& options, std::string& device) {
  app.add_option("draws", options.draws, "file of draws, as sweep_gpu.py writes it")->required();
  app.add_option("--only", options.only, "only the draws of these ids")->delimiter(',');
  app.add_option("--forms", options.forms, "only the draws of these forms")->delimiter(',');
  app.add_option("--seconds", options.seconds, "seconds to measure each draw")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--device", device, "cpu:0 or a GPU such as gpu:0")->capture_default_str();
  app.add_flag("--tf32,!--no-tf32", options.tf32, "f32 products on a GPU in tf32 (the default)");
  app.add_flag("--compile-only", options.compile_only, "compile the draws, and run none");
  app.add_option("--shard", options.shard, "I/N: every Nth draw from the Ith on")->capture_default_str();
  app.add_flag("--serve", options.serve, "answer commands of the standard input");
  app.add_option("--gpu-architectures", options.architectures, "architectures to compile for")
      ->delimiter(',');
  app.add_option("--plan", options.plan, "instead of a measurement: file for the plan of one draw");
  app.add_option("--cuda", options.cuda, "instead of a measurement: file for the CUDA C++ of one draw");
  app.add_option("--values", options.values,
                 "instead of a measurement: safetensors file for operands and results");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::string device = "cpu:0";
  CLI::App app{"Times forms with shapes that bench/peers/sweep_gpu.py draws."};
  AddOptions(app, options, device);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const absl::StatusOr<sn::Device> parsed = sn::Device::Parse(device);
  if (!parsed.ok()) {
    std::cerr << "sinter_bench_sweep: " << parsed.status().message() << "\n";
    return 2;
  }
  options.device = *parsed;
  if (!options.cuda.empty() && options.device.is_cpu()) {
    std::cerr << "sinter_bench_sweep: --cuda needs --device gpu:0: there is no CUDA for " << device << "\n";
    return 2;
  }
  return Main(options);
}
