// Compiles a fixed list of programs for fixed targets, and writes each plan to a folder. A refactoring of the
// compiler keeps every byte of them; scripts/compare_plans.sh compares two builds.
//
//   sinter_write_plans FOLDER             # every program; prints "SHA-256  name" a line
//   sinter_write_plans --small FOLDER     # some, in a few seconds
//   sinter_write_plans --only gpt2 FOLDER # those whose names contain the text
#include <cstdio>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "sinter/bench/long_programs.h"
#include "sinter/bench/memory_ops.h"
#include "sinter/bench/workloads.h"
#include "sinter/frontend/compile/compile.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/host/sha256.h"
#include "sinter/runtime/host/status.h"
#include "sinter/tests/numerics/op_cases.h"
#include "sinter/tests/numerics/random_graph.h"

namespace sinter {
namespace {

struct Options {
  std::string folder, only;
  bool small = false;
  int threads = 0;
};

// A program and the targets to compile it for.
struct Program {
  std::string name;
  bool is_small = false;
  std::function<absl::StatusOr<Plan>(const CompileOptions&)> compile;
  CompileOptions options = {};
};

using Programs = std::vector<Program>;

std::vector<Device> Gpus(int n) {
  std::vector<Device> gpus;
  for (int i = 0; i < n; ++i) gpus.push_back(Device::Gpu(i));
  return gpus;
}

std::vector<Device> Cpus(int n) {
  std::vector<Device> cpus;
  for (int i = 0; i < n; ++i) cpus.push_back(Device::Cpu(i));
  return cpus;
}

// The sizes of the benchmark, or ones that compile in a second.
bench::WorkloadOptions SizesOf(bool full) {
  bench::WorkloadOptions options;
  if (full) return options;
  options.gpt2 = {.layers = 2, .heads = 2, .width = 64, .context = 64, .vocabulary = 256, .batch = 4};
  options.resnet50 = {.layers = 14, .width = 16, .classes = 10, .image = 32, .batch = 4};
  return options;
}

void AddTraining(Programs& programs, const std::string& name, const std::string& variant, bool is_small,
                 const bench::WorkloadOptions& workload, const CompileOptions& options) {
  programs.push_back({name + "." + variant, is_small,
                      [name, workload](const CompileOptions& o) -> absl::StatusOr<Plan> {
                        SINTER_ASSIGN_OR_RETURN(auto made, bench::MakeTrainingWorkload(name, workload));
                        return Compile(made.graph, o);
                      },
                      options});
}

CompileOptions OnGpus(int n, const std::string& architecture = "sm_90") {
  CompileOptions options;
  options.device = Device::Gpu(0);
  options.gpu_architectures = {architecture};
  if (n > 1) options.data_parallel.devices = Gpus(n);
  return options;
}

void AddTrainings(Programs& programs) {
  for (const std::string name : {"lenet", "mlp6", "char_gpt", "gpt2", "resnet50"}) {
    bench::WorkloadOptions small = SizesOf(false), on_gpu = small, tf32 = small, two = small;
    on_gpu.data_are_variables = tf32.data_are_variables = true;
    tf32.math = MathMode::kTf32;
    two.devices = 2;
    AddTraining(programs, name, "cpu", true, small, {});
    AddTraining(programs, name, "gpu", name == "lenet", on_gpu, OnGpus(1));
    AddTraining(programs, name, "gpu_tf32", false, tf32, OnGpus(1));
    AddTraining(programs, name, "gpu_sm_80", false, on_gpu, OnGpus(1, "sm_80"));
    CompileOptions cpus;
    cpus.data_parallel.devices = Cpus(2);
    AddTraining(programs, name, "2_cpus", false, two, cpus);
    AddTraining(programs, name, "2_gpus", false, two, OnGpus(2));
    CompileOptions plain;
    plain.fuse = plain.fuse_epilogues = plain.keep_casts = plain.in_place = plain.reuse_memory = false;
    AddTraining(programs, name, "cpu_plain", false, small, plain);
    CompileOptions plain_gpu = OnGpus(1);
    plain_gpu.fuse = plain_gpu.fuse_epilogues = plain_gpu.keep_casts = false;
    AddTraining(programs, name, "gpu_plain", false, on_gpu, plain_gpu);
    CompileOptions nhwc;
    nhwc.image_layout = Layout::kNhwc;
    nhwc.check_indices = true;
    AddTraining(programs, name, "cpu_nhwc_checked", false, small, nhwc);
  }
  for (const std::string name : {"gpt2", "resnet50"}) {
    bench::WorkloadOptions full = SizesOf(true), two = full;
    full.data_are_variables = two.data_are_variables = true;
    two.devices = 2;
    AddTraining(programs, name, "full_gpu", false, full, OnGpus(1));
    AddTraining(programs, name, "full_2_gpus", false, two, OnGpus(2));
    CompileOptions limit = OnGpus(1);
    limit.memory_limit = int64_t{11} << 30;
    if (name == "gpt2") AddTraining(programs, name, "full_gpu_limit", false, full, limit);
  }
}

void AddOps(Programs& programs) {
  for (const std::string& name : bench::MemoryOpNames()) {
    auto compile = [name](const CompileOptions& o) -> absl::StatusOr<Plan> {
      SINTER_ASSIGN_OR_RETURN(bench::MemoryOp op, bench::MakeMemoryOp(name, /*scale=*/16));
      return Compile(op.graph, o);
    };
    programs.push_back({"ops." + name + ".gpu", false, compile, OnGpus(1)});
    programs.push_back({"ops." + name + ".cpu", false, compile, {}});
  }
  for (const std::string& name : bench::LongProgramNames()) {
    auto compile = [name](const CompileOptions& o) -> absl::StatusOr<Plan> {
      SINTER_ASSIGN_OR_RETURN(Graph graph, bench::MakeLongProgram(name, 12));
      return Compile(graph, o);
    };
    programs.push_back({"long." + name + ".gpu", false, compile, OnGpus(1)});
    programs.push_back({"long." + name + ".cpu", name == "residual", compile, {}});
  }
}

// Each op once: the cases of one are the functions of one module.
void AddOpCases(Programs& programs) {
  for (const numerics::OpCase& c : numerics::AllOpCases()) {
    std::string text = "module @cases {\n" + numerics::Replace(c.functions, "$F", "f");
    int n = 0;
    for (const std::string& dtype : numerics::DTypesOf(c))
      text += numerics::FunctionText(c, dtype, absl::StrCat("f", n++));
    text += "}\n";
    auto compile = [text](const CompileOptions& o) { return CompileText(text, "cases", o); };
    programs.push_back({"case." + c.name + ".cpu", false, compile, {}});
    if (numerics::RunsOnGpus(c)) programs.push_back({"case." + c.name + ".gpu", false, compile, OnGpus(1)});
  }
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const std::string text = numerics::MakeRandomGraph(seed, /*gradients=*/seed % 2 == 1).text;
    auto compile = [text](const CompileOptions& o) { return CompileText(text, "random", o); };
    programs.push_back({absl::StrCat("random.", seed, ".cpu"), seed < 4, compile, {}});
    programs.push_back({absl::StrCat("random.", seed, ".gpu"), false, compile, OnGpus(1)});
  }
}

std::string HashOf(std::span<const std::byte> bytes) {
  Sha256 sha;
  sha.Update(bytes);
  return HexText(sha.Digest());
}

// Prints a line a program. A refused program has the hash of its error's text, which stays the same too.
absl::Status Write(const Program& program, const Options& options) {
  CompileOptions compile = program.options;
  compile.target_cpu = "x86-64-v3";
  compile.threads = options.threads;
  absl::StatusOr<Plan> plan = program.compile(compile);
  std::string hash;
  if (plan.ok()) {
    const std::string path = absl::StrCat(options.folder, "/", program.name, ".plan");
    SINTER_RETURN_IF_ERROR(plan->Save(path));
    SINTER_ASSIGN_OR_RETURN(const FileBytes file, FileBytes::Read(path));
    hash = HashOf(file.bytes());
  } else {
    hash = "refused " + HashOf(std::as_bytes(std::span(plan.status().message())));
  }
  std::printf("%s  %s\n", hash.c_str(), program.name.c_str());
  std::fflush(stdout);
  return absl::OkStatus();
}

absl::Status WriteAll(const Options& options) {
  std::error_code error;
  std::filesystem::create_directories(options.folder, error);
  if (error) return absl::InvalidArgumentError(absl::StrCat(options.folder, ": ", error.message()));
  Programs programs;
  AddTrainings(programs);
  AddOps(programs);
  AddOpCases(programs);
  for (const Program& program : programs) {
    if (options.small && !program.is_small) continue;
    if (!absl::StrContains(program.name, options.only)) continue;
    SINTER_RETURN_IF_ERROR(Write(program, options));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace sinter

int main(int argc, char** argv) {
  sinter::Options options;
  CLI::App app("Writes the plans of a fixed list of programs, and prints their SHA-256.");
  app.add_option("folder", options.folder, "where the plans go")->required();
  app.add_option("--only", options.only, "programs whose names contain this text");
  app.add_flag("--small", options.small, "a few programs that compile in seconds");
  app.add_option("--threads", options.threads, "threads that compile; 0: one a core");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = sinter::WriteAll(options);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
