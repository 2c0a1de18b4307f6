// Times compilation, whole and by stage, and loading of the plan. Also compiles for GPUs, on a machine
// without one.
//
//   sinter_bench_compile --benchmark_filter=lenet
//   SINTER_CACHE_DIR=off sinter_bench_compile --benchmark_filter=for_gpu
//       # without kernels cached by an earlier process
//   sinter_bench_compile --benchmark_filter=gru  # growth of the time with the number of steps
#include <benchmark/benchmark.h>

#include <map>
#include <string>

#include "sinter/bench/long_programs.h"
#include "sinter/bench/workloads.h"
#include "sinter/runtime/host/status.h"

namespace {

namespace sn = sinter;

sn::bench::TrainingWorkload MustMake(const std::string& model) {
  absl::StatusOr<sn::bench::TrainingWorkload> workload = sn::bench::MakeTrainingWorkload(model);
  SINTER_CHECK(workload.ok()) << workload.status();
  return *std::move(workload);
}

// Compiles `graph` in a loop. The counters are the mean milliseconds of each stage.
void CompileWith(benchmark::State& state, const sn::Graph& graph, const sn::CompileOptions& options) {
  std::map<std::string, double> stage_ms;
  for (auto _ : state) {
    sn::CompileReport report;
    absl::StatusOr<sn::Plan> plan = sn::Compile(graph, options, &report);
    if (!plan.ok()) return state.SkipWithError(std::string(plan.status().message()).c_str());
    for (const auto& [stage, ms] : report.stage_ms) stage_ms[stage] += ms;
  }
  for (const auto& [stage, ms] : stage_ms)
    state.counters[stage] = benchmark::Counter(ms, benchmark::Counter::kAvgIterations);
}

void Compile(benchmark::State& state, const std::string& model) {
  CompileWith(state, MustMake(model).graph, {});
}

sn::CompileOptions ForGpu() {
  sn::CompileOptions options;
  options.device = sn::Device::Gpu(0);
  options.gpu_architectures = {"sm_90"};
  return options;
}

void CompileForGpu(benchmark::State& state, const std::string& model) {
  CompileWith(state, MustMake(model).graph, ForGpu());
}

// Compiles a program of many ops. The counters and the time should grow no faster than the length of the
// program.
void CompileLong(benchmark::State& state, const std::string& program, const sn::CompileOptions& options) {
  absl::StatusOr<sn::Graph> graph = sn::bench::MakeLongProgram(program, state.range(0));
  SINTER_CHECK(graph.ok()) << graph.status();
  CompileWith(state, *graph, options);
}

// Compiles the training step of a narrow GPT-2 of many equal blocks. 48 blocks should take at most 1.5 times
// the time of 12.
void CompileBlocks(benchmark::State& state, const sn::CompileOptions& options) {
  const sn::bench::GptSizes sizes{
      .layers = state.range(0), .heads = 4, .width = 128, .context = 64, .vocabulary = 512, .batch = 4};
  absl::StatusOr<sn::bench::TrainingWorkload> workload =
      sn::bench::MakeTrainingWorkload("gpt2", {.gpt2 = sizes});
  SINTER_CHECK(workload.ok()) << workload.status();
  CompileWith(state, workload->graph, options);
}

void BuildGraph(benchmark::State& state, const std::string& model) {
  for (auto _ : state) benchmark::DoNotOptimize(MustMake(model).graph.variables().size());
}

// Times loading: from the bytes of a plan in memory to a session that can run.
void Load(benchmark::State& state, const std::string& model) {
  sn::bench::TrainingWorkload w = MustMake(model);
  absl::StatusOr<sn::Plan> plan = sn::Compile(w.graph);
  if (!plan.ok()) return state.SkipWithError(std::string(plan.status().message()).c_str());
  std::string bytes(reinterpret_cast<const char*>(plan->bytes().data()), plan->bytes().size());
  for (auto _ : state) {
    absl::StatusOr<sn::Plan> loaded = sn::Plan::FromBytes(bytes);
    if (!loaded.ok()) return state.SkipWithError(std::string(loaded.status().message()).c_str());
    absl::StatusOr<sn::Session> session = sn::Session::Create(*std::move(loaded));
    if (!session.ok()) return state.SkipWithError(std::string(session.status().message()).c_str());
  }
  state.counters["plan_bytes"] = static_cast<double>(bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  for (std::string model : {"lenet", "mlp6", "char_gpt", "gpt2", "resnet50"}) {
    auto add = [&](const std::string& what, void (*run)(benchmark::State&, const std::string&)) {
      benchmark::RegisterBenchmark((what + "/" + model).c_str(), [=](benchmark::State& state) {
        run(state, model);
      })->Unit(benchmark::kMillisecond);
    };
    add("build_graph", BuildGraph);
    add("compile_for_gpu", CompileForGpu);
    // Their weights need the memory of a GPU.
    if (model == "gpt2" || model == "resnet50") continue;
    add("compile", Compile);
    add("load", Load);
  }
  for (bool gpu : {false, true}) {
    auto run = [=](benchmark::State& state) { CompileBlocks(state, gpu ? ForGpu() : sn::CompileOptions()); };
    benchmark::RegisterBenchmark(gpu ? "compile_for_gpu/gpt2_blocks" : "compile/gpt2_blocks", run)
        ->Unit(benchmark::kMillisecond)
        ->Arg(12)
        ->Arg(48);
  }
  for (const std::string& program : sn::bench::LongProgramNames()) {
    for (bool gpu : {false, true}) {
      const std::string what = gpu ? "compile_for_gpu/" : "compile/";
      auto run = [=](benchmark::State& state) {
        CompileLong(state, program, gpu ? ForGpu() : sn::CompileOptions());
      };
      benchmark::RegisterBenchmark((what + program).c_str(), run)
          ->Unit(benchmark::kMillisecond)
          ->RangeMultiplier(2)
          ->Range(64, 1024)
          ->MeasureProcessCPUTime();
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
