// Times Sinter on the workloads of bench/peers, and the cost of compiling, loading and launching. Prints one
// result a line in the format of bench/peers/README.md. gpt2, llama and resnet50 run only if --only names
// them.
//
//   sinter_bench_models --json                        # as called by bench/peers/compare.py
//   sinter_bench_models --json --only lenet,mlp6 --seconds 1
//   sinter_bench_models --only gpt2 --device gpu:0 --gpt2-batch 64      # GPT-2 124M
//   sinter_bench_models --only resnet50 --device gpu:0
//   sinter_bench_models --only resnet50 --device gpu:0,gpu:1  # two GPUs share a batch of twice the size
//   sinter_bench_models --only gpt2 --device gpu:0 --mesh data=2 --zero 3    # two GPUs, with parts of all
//   sinter_bench_models --trace-loss 100 --only lenet --weights lenet.safetensors
//       # for bench/peers/judge_torch.py
//   sinter_bench_models --trace-loss 1 --only gpt2 --device gpu:0 --weights g.safetensors --plan g.plan
//       # for: sinter profile g.plan --function train --checkpoint g.safetensors
#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "sinter/bench/precision_options.h"
#include "sinter/bench/timing.h"
#include "sinter/bench/workloads.h"
#include "sinter/examples/mesh_flags.h"
#include "sinter/runtime/formats/safetensors.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/session/checkpoint.h"

namespace {

namespace sn = sinter;
using sn::bench::Timing;
using Json = nlohmann::ordered_json;

constexpr int kLossStep = 10;  // LOSS_STEP of measure.py.

struct Options {
  std::vector<std::string> only;
  double seconds = 3;
  bool json = false;
  bool fuse = true;
  bool keep_casts = true;
  bool pad_products = true;
  bool pack_masks = true;
  bool store_again = false;
  bool profile = false;
  sn::CpuMatmuls matmuls = sn::CpuMatmuls::kSameBits;
  std::vector<sn::Device> devices;
  sn::examples::MeshFlags mesh;
  int64_t ranks = 1;  // Number of ranks of the mesh, or of devices.
  sn::MathMode math = sn::MathMode::kIeee;
  std::optional<sn::Precision> precision;
  sn::Float8 float8;
  sn::bench::GptSizes gpt2;
  double gpt2_rate = sn::bench::WorkloadOptions().gpt2_rate;
  sn::bench::LlamaSizes llama;
  sn::bench::ResNetSizes resnet50;
  double resnet50_rate = sn::bench::WorkloadOptions().resnet50_rate;
  std::vector<std::string> architectures = sn::CompileOptions().gpu_architectures;
  int64_t memory_limit = 0, row_chunk_bytes = sn::CompileOptions().row_chunk_bytes;
  int trace_steps = 0;
  std::string weights, gradients;
  std::string plan;

  sn::Device device() const { return devices.front(); }
  // The axis of the mesh that cuts data in variables; empty if the runs give row numbers. Rows that an axis
  // "tensor" shares begin at an input.
  std::string AxisOfData() const {
    const std::vector<std::string> axes = mesh.BatchAxes();
    return device().is_gpu() && axes.size() == 1 && mesh.axes.size() == 1 ? axes.front() : "";
  }
};

double MsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

Json Result(const std::string& workload, const Timing& timing) {
  return {{"workload", workload},
          {"peer", "sinter"},
          {"mode", ""},
          {"threads", sn::bench::BenchThreads()},
          {"ms", timing.ms},
          {"min_ms", timing.min_ms},
          {"cpu_ms", timing.cpu_ms},
          {"runs", timing.runs}};
}

void AddRate(Json& result, double minimal_bytes, const Timing& timing) {
  result["GBps"] = minimal_bytes / timing.ms / 1e6;
  result["max_GBps"] = minimal_bytes / timing.min_ms / 1e6;
}

void Print(const Options& options, const Json& result) {
  if (options.json) {
    std::cout << result.dump() << std::endl;
    return;
  }
  for (const auto& [key, value] : result.items()) std::cout << key << "=" << value << " ";
  std::cout << std::endl;
}

absl::StatusOr<sn::Session> Start(const sn::Graph& graph, const Options& options) {
  sn::CompileOptions compile;
  compile.device = options.device();
  if (options.devices.size() > 1) compile.data_parallel.devices = options.devices;
  if (const std::string axis = options.AxisOfData(); !axis.empty()) {
    compile.parallel.push_back(sn::parallel::Tensor{.axis = axis, .dims = {sn::bench::kExamplesDim}});
  }
  SINTER_RETURN_IF_ERROR(options.mesh.Apply(compile));
  sn::examples::MakeCpuDevices(compile.mesh, /*world=*/nullptr);
  compile.gpu_architectures = options.architectures;
  compile.fuse = compile.fuse_epilogues = options.fuse;
  compile.keep_casts = options.keep_casts;
  if (!options.pad_products) compile.pad_products = sn::PadProducts::kNever;
  if (!options.pack_masks) compile.pack_masks = sn::PackMasks::kNever;
  if (options.store_again) compile.store_again = sn::StoreAgain::kWhereNearlyFree;
  compile.memory_limit = options.memory_limit;
  compile.row_chunk_bytes = options.row_chunk_bytes;
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(graph, compile));
  if (!options.plan.empty()) SINTER_RETURN_IF_ERROR(plan.Save(options.plan));
  return sn::Session::Create(std::move(plan), {.cpu_matmuls = options.matmuls});
}

// On a GPU the data are variables that stay on the device, as the peers' data do.
sn::bench::WorkloadOptions WorkloadOptionsOf(const Options& options) {
  return {.data_are_variables = options.device().is_gpu(),
          .devices = options.ranks,
          .by_rows = options.AxisOfData().empty(),
          .math = options.math,
          .precision = options.precision,
          .float8 = options.float8,
          .gpt2 = options.gpt2,
          .gpt2_rate = options.gpt2_rate,
          .llama = options.llama,
          .resnet50 = options.resnet50,
          .resnet50_rate = options.resnet50_rate,
          .gradients = !options.gradients.empty()};
}

// Prints the least time of each step over several runs, longest step first.
absl::Status PrintProfile(sn::BoundFunction& f) {
  constexpr int kRuns = 20;
  sn::Profile profile;
  for (int i = 0; i < kRuns; ++i) SINTER_RETURN_IF_ERROR(f.Run(&profile));
  std::ranges::sort(profile.steps, std::ranges::greater(), &sn::StepTimes::seconds_min);
  for (const sn::StepTimes& step : profile.steps) {
    std::cerr << absl::StrFormat("%10.1f us %8.0f GB/s %8.1f GFLOP/s  %s %s  %s\n", step.seconds_min * 1e6,
                                 step.bytes / step.seconds_min / 1e9, step.flops / step.seconds_min / 1e9,
                                 std::string(step.kind), step.name,
                                 step.locations.empty() ? "" : step.locations.front());
  }
  return absl::OkStatus();
}

absl::StatusOr<sn::BoundFunction> BindTraining(sn::Session& session, const sn::bench::TrainingWorkload& w) {
  SINTER_RETURN_IF_ERROR(sn::bench::SetParameters(session, w));
  SINTER_ASSIGN_OR_RETURN(sn::BoundFunction train, session.Bind("train"));
  for (const sn::Argument& argument : sn::bench::DataOf(w)) {
    SINTER_RETURN_IF_ERROR(train.Set(argument));
  }
  return train;
}

// Adds the throughput and the memory of a training workload. `start_ms` is the time from the graph to a
// session with variables.
void AddCosts(Json& result, const sn::bench::TrainingWorkload& w, const sn::Session& session,
              const Timing& timing, double start_ms) {
  const bool is_text = w.x.dtype() == sn::I32;
  const int64_t examples = is_text ? w.x.num_elements() : w.x.shape()[0];
  const std::string rate = is_text ? "tokens_per_s" : "examples_per_s";
  result[rate] = static_cast<double>(examples) / timing.ms * 1e3;
  result["start_ms"] = start_ms;
  // Each device has the same share.
  const sn::SessionMemory memory = session.memory();
  const double share = static_cast<double>(w.options.devices) * (1 << 30);
  result["variables_GiB"] = static_cast<double>(memory.variables) / share;
  result["arena_GiB"] = static_cast<double>(memory.arena) / share;
  result["peak_GiB"] = static_cast<double>(session.allocator().Stats().peak_used_bytes) / (1 << 30);
  result["predicted_GiB"] = static_cast<double>(memory.predicted) / share;
}

// Returns the microseconds that this thread needs to start one run on an idle GPU.
absl::StatusOr<double> MicrosecondsToGive(sn::Session& session, sn::BoundFunction& train) {
  constexpr size_t kRuns = 21;
  std::vector<double> ms;
  while (ms.size() < kRuns) {
    SINTER_RETURN_IF_ERROR(session.Synchronize());
    const auto start = std::chrono::steady_clock::now();
    SINTER_RETURN_IF_ERROR(train.Run());
    ms.push_back(MsSince(start));
  }
  std::ranges::nth_element(ms, ms.begin() + kRuns / 2);
  return ms[kRuns / 2] * 1e3;
}

absl::Status BenchTraining(const std::string& name, const Options& options) {
  SINTER_ASSIGN_OR_RETURN(sn::bench::TrainingWorkload w,
                          sn::bench::MakeTrainingWorkload(name, WorkloadOptionsOf(options)));
  auto start = std::chrono::steady_clock::now();
  SINTER_ASSIGN_OR_RETURN(sn::Session session, Start(w.graph, options));
  SINTER_ASSIGN_OR_RETURN(sn::BoundFunction train, BindTraining(session, w));
  SINTER_RETURN_IF_ERROR(session.Synchronize());
  const double start_ms = MsSince(start);
  double loss = 0;
  for (int step = 1; step <= kLossStep; ++step) {
    SINTER_RETURN_IF_ERROR(train.Run());
    SINTER_ASSIGN_OR_RETURN(loss, train.outputs().Scalar("loss"));
  }
  SINTER_ASSIGN_OR_RETURN(Timing timing,
                          sn::bench::TimeRuns(session, train, options.device(), options.seconds));
  Json result = Result(name, timing);
  result["loss"] = loss;
  AddCosts(result, w, session, timing, start_ms);
  if (options.device().is_gpu()) {
    SINTER_ASSIGN_OR_RETURN(result["host_us"], MicrosecondsToGive(session, train));
  }
  Print(options, result);
  return options.profile ? PrintProfile(train) : absl::OkStatus();
}

absl::Status BenchStreaming(const std::string& name, const Options& options) {
  SINTER_ASSIGN_OR_RETURN(sn::bench::StreamingWorkload w,
                          sn::bench::MakeStreamingWorkload(name, WorkloadOptionsOf(options)));
  SINTER_ASSIGN_OR_RETURN(sn::Session session, Start(w.graph, options));
  SINTER_ASSIGN_OR_RETURN(sn::BoundFunction run, session.Bind("run"));
  SINTER_RETURN_IF_ERROR(sn::bench::SetInputs(session, run, w));
  SINTER_ASSIGN_OR_RETURN(Timing timing,
                          sn::bench::TimeRuns(session, run, options.device(), options.seconds));
  Json result = Result(name, timing);
  AddRate(result, w.minimal_bytes, timing);
  Print(options, result);
  return options.profile ? PrintProfile(run) : absl::OkStatus();
}

absl::Status BenchCopy(const std::string& name, const Options& options) {
  Timing timing = sn::bench::TimeCopy(sn::bench::BenchThreads(), options.seconds);
  Json result = Result(name, timing);
  AddRate(result, sn::bench::kCopyBytes, timing);
  Print(options, result);
  return absl::OkStatus();
}

// Times the compilation of LeNet's train and eval functions without a cache. The first compilation of a
// process also starts MLIR and LLVM, so its time is reported separately from the best of the later ones.
absl::Status BenchCompile(const std::string& name, const Options& options) {
  SINTER_ASSIGN_OR_RETURN(sn::bench::TrainingWorkload w, sn::bench::MakeTrainingWorkload("lenet"));
  auto start = std::chrono::steady_clock::now();
  SINTER_RETURN_IF_ERROR(sn::Compile(w.graph).status());
  double cold_ms = MsSince(start);
  auto compile = [&] { return sn::Compile(w.graph).status(); };
  SINTER_ASSIGN_OR_RETURN(Timing timing,
                          sn::bench::TimeMs(compile, options.seconds, /*at_least=*/3, /*warm_up=*/0));
  Json result = Result(name, timing);
  result["cold_ms"] = cold_ms;
  Print(options, result);
  return absl::OkStatus();
}

// Times loading: from the plan's bytes in memory to a session that can run (verification, code, memory,
// variables).
absl::Status BenchLoad(const std::string& name, const Options& options) {
  SINTER_ASSIGN_OR_RETURN(sn::bench::TrainingWorkload w, sn::bench::MakeTrainingWorkload("lenet"));
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(w.graph));
  std::string bytes(reinterpret_cast<const char*>(plan.bytes().data()), plan.bytes().size());
  auto load = [&]() -> absl::Status {
    SINTER_ASSIGN_OR_RETURN(sn::Plan loaded, sn::Plan::FromBytes(bytes));
    return sn::Session::Create(std::move(loaded)).status();
  };
  SINTER_ASSIGN_OR_RETURN(Timing timing, sn::bench::TimeMs(load, options.seconds, 10, /*warm_up=*/0));
  Json result = Result(name, timing);
  result["plan_bytes"] = bytes.size();
  Print(options, result);
  return absl::OkStatus();
}

// Times the overhead of a run, with a function whose single step adds two small tensors.
absl::Status BenchHost(const std::string& name, const Options& options) {
  sn::Graph graph("tiny");
  graph.Function("f", sn::Mode::kTrain, [](sn::Builder& b) {
    sn::Tensor x = b.Input("x", sn::F32, {16});
    b.Output("y", x + b.Input("z", sn::F32, {16}));
  });
  SINTER_ASSIGN_OR_RETURN(sn::Session session, Start(graph, options));
  sn::HostTensor x = sn::bench::Uniform(1, {16}), z = sn::bench::Uniform(2, {16});
  SINTER_ASSIGN_OR_RETURN(sn::BoundFunction f, session.Bind("f"));
  SINTER_RETURN_IF_ERROR(f.SetInput("x", x));
  SINTER_RETURN_IF_ERROR(f.SetInput("z", z));
  constexpr int kCalls = 1000;
  auto bound = [&]() -> absl::Status {
    for (int i = 0; i < kCalls; ++i) SINTER_RETURN_IF_ERROR(f.Run());
    return absl::OkStatus();
  };
  auto by_name = [&]() -> absl::Status {
    for (int i = 0; i < kCalls; ++i) SINTER_RETURN_IF_ERROR(session.Run("f", {{"x", x}, {"z", z}}).status());
    return absl::OkStatus();
  };
  SINTER_ASSIGN_OR_RETURN(Timing fast, sn::bench::TimeMs(bound, options.seconds / 2));
  SINTER_ASSIGN_OR_RETURN(Timing slow, sn::bench::TimeMs(by_name, options.seconds / 2));
  Json result =
      Result(name, Timing{fast.ms / kCalls, fast.min_ms / kCalls, fast.cpu_ms / kCalls, fast.runs * kCalls});
  result["bound_us"] = fast.ms / kCalls * 1e3;
  result["run_by_name_us"] = slow.ms / kCalls * 1e3;
  Print(options, result);
  return absl::OkStatus();
}

// Saves the gradients of the first step to the file `path`.
absl::Status SaveGradients(sn::Session& session, const sn::bench::TrainingWorkload& w,
                           const std::string& path) {
  SINTER_ASSIGN_OR_RETURN(sn::Outputs outputs, session.Run("gradients", sn::bench::DataOf(w)));
  std::vector<sn::NamedTensor> gradients;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const sn::HostTensor& t = outputs.tensor(i);
    SINTER_ASSIGN_OR_RETURN(sn::HostTensor view, sn::HostTensor::View(t.dtype(), t.shape(), t.data()));
    gradients.push_back({std::string(outputs.name(i)), std::move(view)});
  }
  return sn::SaveSafetensors(path, gradients);
}

// Prints one JSON line with the losses of every step. Saves the initial weights and their gradients to files.
absl::Status TraceLoss(const std::string& name, const Options& options) {
  SINTER_ASSIGN_OR_RETURN(sn::bench::TrainingWorkload w,
                          sn::bench::MakeTrainingWorkload(name, WorkloadOptionsOf(options)));
  SINTER_ASSIGN_OR_RETURN(sn::Session session, Start(w.graph, options));
  SINTER_ASSIGN_OR_RETURN(sn::BoundFunction train, BindTraining(session, w));
  if (!options.weights.empty()) SINTER_RETURN_IF_ERROR(sn::SaveCheckpoint(session, options.weights));
  if (!options.gradients.empty()) SINTER_RETURN_IF_ERROR(SaveGradients(session, w, options.gradients));
  std::vector<double> losses;
  for (int i = 0; i < options.trace_steps; ++i) {
    SINTER_RETURN_IF_ERROR(train.Run());
    SINTER_ASSIGN_OR_RETURN(double loss, train.outputs().Scalar("loss"));
    losses.push_back(loss);
  }
  Print(options, {{"workload", name}, {"peer", "sinter"}, {"losses", losses}});
  return absl::OkStatus();
}

using Bench = std::function<absl::Status(const std::string&, const Options&)>;

std::vector<std::pair<std::string, Bench>> Benches(const Options& options) {
  if (options.trace_steps > 0) {
    return {{"lenet", TraceLoss}, {"mlp6", TraceLoss},  {"char_gpt", TraceLoss},
            {"gpt2", TraceLoss},  {"llama", TraceLoss}, {"resnet50", TraceLoss}};
  }
  return {
      {"lenet_compile", BenchCompile},  // First, for a cold start.
      {"lenet_load", BenchLoad},       {"host_step", BenchHost},        {"memcpy_f32", BenchCopy},
      {"chain_f32", BenchStreaming},   {"softmax_f32", BenchStreaming}, {"layer_norm_f32", BenchStreaming},
      {"lenet", BenchTraining},        {"mlp6", BenchTraining},         {"char_gpt", BenchTraining},
      {"gpt2", BenchTraining},         {"llama", BenchTraining},        {"resnet50", BenchTraining}};
}

int Main(const Options& options) {
  const std::vector<std::pair<std::string, Bench>> all = Benches(options);
  for (const std::string& name : options.only) {
    if (std::ranges::any_of(all, [&](const auto& b) { return b.first == name; })) continue;
    std::cerr << "sinter_bench_models: no workload \"" << name << "\"; there are";
    for (const auto& [known, bench] : all) std::cerr << " " << known;
    std::cerr << "\n";
    return 2;
  }
  int failures = 0;
  for (const auto& [name, bench] : all) {
    // These need gigabytes, so they run only if they are named.
    const bool is_large = name == "gpt2" || name == "llama" || name == "resnet50";
    const bool wanted =
        options.only.empty() ? !is_large : std::ranges::find(options.only, name) != options.only.end();
    if (!wanted) continue;
    absl::Status status = bench(name, options);
    if (status.ok()) continue;
    Print(options,
          {{"workload", name}, {"peer", "sinter"}, {"mode", ""}, {"error", std::string(status.message())}});
    ++failures;
  }
  return failures == 0 ? 0 : 1;
}

void AddModelOptions(CLI::App& app, Options& options) {
  sn::bench::AddPrecisionOptions(app, options.precision, options.float8);
  app.add_option("--memory-limit", options.memory_limit, "CompileOptions::memory_limit, bytes")
      ->capture_default_str();
  app.add_option("--row-chunk-bytes", options.row_chunk_bytes, "CompileOptions::row_chunk_bytes")
      ->capture_default_str();
  app.add_option("--gpt2-layers", options.gpt2.layers)->capture_default_str();
  app.add_option("--gpt2-heads", options.gpt2.heads)->capture_default_str();
  app.add_option("--gpt2-width", options.gpt2.width)->capture_default_str();
  app.add_option("--gpt2-context", options.gpt2.context)->capture_default_str();
  app.add_option("--gpt2-vocabulary", options.gpt2.vocabulary)->capture_default_str();
  app.add_option("--gpt2-batch", options.gpt2.batch)->capture_default_str();
  app.add_option("--gpt2-rate", options.gpt2_rate, "AdamW's, also of llama")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--llama-layers", options.llama.layers)->capture_default_str();
  app.add_option("--llama-heads", options.llama.heads)->capture_default_str();
  app.add_option("--llama-kv-heads", options.llama.kv_heads)->capture_default_str();
  app.add_option("--llama-width", options.llama.width)->capture_default_str();
  app.add_option("--llama-hidden", options.llama.hidden)->capture_default_str();
  app.add_option("--llama-context", options.llama.context)->capture_default_str();
  app.add_option("--llama-vocabulary", options.llama.vocabulary)->capture_default_str();
  app.add_option("--llama-batch", options.llama.batch)->capture_default_str();
  app.add_option("--resnet50-layers", options.resnet50.layers, "14, 26, 50, 101 or 152")
      ->capture_default_str();
  app.add_option("--resnet50-width", options.resnet50.width)->capture_default_str();
  app.add_option("--resnet50-classes", options.resnet50.classes)->capture_default_str();
  app.add_option("--resnet50-image", options.resnet50.image)->capture_default_str();
  app.add_option("--resnet50-batch", options.resnet50.batch)->capture_default_str();
  app.add_option("--resnet50-rate", options.resnet50_rate)->capture_default_str()->check(CLI::PositiveNumber);
}

// InvalidArgument: --mesh is wrong, or --device names several devices beside it.
absl::Status CountRanks(Options& options) {
  sn::CompileOptions compile;
  SINTER_RETURN_IF_ERROR(options.mesh.Apply(compile));
  if (!compile.mesh.axes.empty() && options.devices.size() > 1) {
    return absl::InvalidArgumentError(
        "--mesh takes the devices from that of --device on; name the first one");
  }
  options.ranks = static_cast<int64_t>(options.devices.size());
  for (const sn::MeshAxis& axis : compile.mesh.axes) options.ranks *= axis.size;
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Times Sinter on the workloads of bench/peers."};
  app.add_flag("--json", options.json, "print one JSON object per line");
  app.add_option("--only", options.only, "run only these workloads")->delimiter(',');
  app.add_option("--seconds", options.seconds, "seconds to measure each workload")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_flag("!--no-fuse", options.fuse, "compile without fusion");
  app.add_flag("!--no-keep-casts", options.keep_casts, "cast variables in every run");
  app.add_flag("!--no-pad-products", options.pad_products, "leave the sizes of matmuls as they are");
  app.add_flag("!--no-pack-masks", options.pack_masks, "no masks of gradients as bits");
  app.add_flag("--store-again", options.store_again, "store again what gradients read, where nearly free");
  std::vector<std::string> devices = {"cpu:0"};
  app.add_option("--device", devices,
                 "cpu:0, a GPU such as gpu:0, or several. Several devices train together, each with a "
                 "batch of its own")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--gpu-architectures", options.architectures, "architectures to compile for")
      ->delimiter(',');
  app.add_flag("--profile", options.profile, "also print the time of each step, to the error stream");
  app.add_flag_callback(
      "--onednn", [&] { options.matmuls = sn::CpuMatmuls::kOneDnn; },
      "compute matmuls and convolutions by oneDNN on CPUs; the bits then depend on the threads and the CPU");
  bool tf32 = false;
  app.add_flag("--tf32", tf32, "let matmuls and convolutions round operands to tf32");
  AddModelOptions(app, options);
  sn::examples::AddMeshFlags(app, options.mesh);
  auto* trace = app.add_option("--trace-loss", options.trace_steps,
                               "instead of a measurement, print the losses of this many steps");
  app.add_option("--weights", options.weights,
                 "file for the initial weights; needs --trace-loss and one workload")
      ->needs(trace);
  app.add_option("--gradients", options.gradients,
                 "file for the first step's gradients; needs --trace-loss and one workload")
      ->needs(trace);
  app.add_option("--plan", options.plan, "file for the plan, for sinter profile; needs one workload");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  for (const std::string& name : devices) {
    absl::StatusOr<sn::Device> device = sn::Device::Parse(name);
    if (!device.ok()) {
      std::cerr << "sinter_bench_models: " << device.status().message() << "\n";
      return 2;
    }
    options.devices.push_back(*device);
  }
  if (tf32) options.math = sn::MathMode::kTf32;
  if (const absl::Status status = CountRanks(options); !status.ok()) {
    std::cerr << "sinter_bench_models: " << status.message() << "\n";
    return 2;
  }
  if (!(options.weights + options.gradients + options.plan).empty() && options.only.size() != 1) {
    std::cerr
        << "sinter_bench_models: --weights, --gradients and --plan need --only with exactly one workload\n";
    return 2;
  }
  return Main(options);
}
