// A plan runs on every CPU of its target, and its bits do not depend on the machine that compiles it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/frontend/sinter.h"
#include "sinter/kernels/cpu/cpu_level.h"
#include "sinter/runtime/plan/plan_code.h"
#include "sinter/tests/codegen/plan_instructions.h"
#include "sinter/tests/numerics/compiled.h"
#include "sinter/tests/numerics/op_cases.h"
#include "sinter/tests/numerics/random_graph.h"

namespace sinter::numerics {
namespace {

using reference::Value;
using ::testing::HasSubstr;

constexpr int kNumbers = 240;  // Below the size limit of constant folding.

// While an object exists, the process treats its CPU as one of this level.
class AsLevel {
 public:
  explicit AsLevel(const char* level) {
    if (const char* now = std::getenv("SINTER_CPU_LEVEL")) before_ = now;
    setenv("SINTER_CPU_LEVEL", level, 1);
  }
  ~AsLevel() { setenv("SINTER_CPU_LEVEL", before_.c_str(), 1); }
  AsLevel(const AsLevel&) = delete;

 private:
  std::string before_;
};

using Function = std::function<Tensor(const Tensor&)>;

// Every vector math function that programs can use.
const std::vector<std::pair<std::string, Function>>& Functions() {
  static const std::vector<std::pair<std::string, Function>> functions = {
      {"exp", [](const Tensor& x) { return Exp(-x); }},
      {"expm1", [](const Tensor& x) { return Expm1(x * -0.1); }},
      {"log", [](const Tensor& x) { return Log(x); }},
      {"log1p", [](const Tensor& x) { return Log1p(x); }},
      {"sqrt", [](const Tensor& x) { return Sqrt(x); }},
      {"rsqrt", [](const Tensor& x) { return Rsqrt(x); }},
      {"sin", [](const Tensor& x) { return Sin(x); }},
      {"far_sin", [](const Tensor& x) { return Sin(x * 0x1p60); }},
      {"cos", [](const Tensor& x) { return Cos(x); }},
      {"tan", [](const Tensor& x) { return Tan(x); }},
      {"tanh", [](const Tensor& x) { return Tanh(x * 0.01); }},
      {"erf", [](const Tensor& x) { return Erf(x * 0.005); }},
      {"sigmoid", [](const Tensor& x) { return Sigmoid(x * -0.1); }},
      {"pow", [](const Tensor& x) { return Pow(x, 1.7); }},
      {"atan2", [](const Tensor& x) { return Atan2(x, x + 1.0); }}};
  return functions;
}

// Indices of numbers for which glibc's f64 functions differ between CPUs with and without fused multiply-add:
// two each for exp, sin, cos, tanh, log1p, expm1 and pow, one each for tan and erf. Other numbers follow.
constexpr int kTelling[] = {486,  809,  224, 307,  682,  873,  3019,   5190,
                            1531, 4706, 528, 2492, 3285, 4565, 607567, 261120};

template <typename T>
HostTensor Numbers() {
  std::vector<T> numbers;
  for (int i : kTelling) numbers.push_back(static_cast<T>(0.01 + i * 0.0009773));
  for (int i = static_cast<int>(numbers.size()); i < kNumbers; ++i)
    numbers.push_back(static_cast<T>(0.01 + i * 0.37731 + i * i * 0.0131));
  return *HostTensor::FromVector<T>({kNumbers}, numbers);
}

// Adds two functions: "fold_" applies all functions to constants of the type, "run_" applies them to an
// input.
template <typename T>
void AddFunctions(Graph& graph, const std::string& type, DType dtype) {
  graph.Function("fold_" + type, Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Constant(Numbers<T>());
    for (const auto& [name, function] : Functions()) b.Output(name, function(x));
  });
  graph.Function("run_" + type, Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", dtype, {kNumbers});
    for (const auto& [name, function] : Functions()) b.Output(name, function(x));
  });
}

absl::StatusOr<Plan> FunctionsPlan(const CompileOptions& options) {
  Graph graph("functions");
  AddFunctions<float>(graph, "f32", F32);
  AddFunctions<double>(graph, "f64", F64);
  return Compile(graph, options);
}

bool SameBits(const HostTensor& a, const HostTensor& b) {
  return a.num_bytes() == b.num_bytes() &&
         std::memcmp(a.data(), b.data(), static_cast<size_t>(a.num_bytes())) == 0;
}

// Returns the number of steps that compute, i.e. are not copies of a constant to an output.
int KernelsOf(const Plan& plan, const std::string& name) {
  int kernels = 0;
  for (const fb::Function* function : *plan.table().functions()) {
    if (function->name()->str() != name) continue;
    for (const fb::Step* step : *function->steps()) kernels += step->body_type() != fb::StepBody::CopyStep;
  }
  return kernels;
}

TEST(CpuTargetsTest, FoldedConstantsHaveTheBitsOfARun) {
  absl::StatusOr<Plan> plan = FunctionsPlan({});
  ASSERT_TRUE(plan.ok()) << plan.status();
  for (const char* name : {"fold_f32", "fold_f64"}) EXPECT_EQ(KernelsOf(*plan, name), 0) << name;
  absl::StatusOr<Session> session = Session::Create(*std::move(plan));
  ASSERT_TRUE(session.ok()) << session.status();
  const HostTensor f32 = Numbers<float>(), f64 = Numbers<double>();
  for (const auto& [type, x] : {std::pair("f32", &f32), std::pair("f64", &f64)}) {
    absl::StatusOr<Outputs> folded = session->Run(std::string("fold_") + type, {});
    ASSERT_TRUE(folded.ok()) << folded.status();
    std::vector<HostTensor> constants;
    for (const auto& [name, function] : Functions()) constants.push_back(*(**folded->Get(name)).Clone());
    absl::StatusOr<Outputs> run = session->Run(std::string("run_") + type, {{"x", *x}});
    ASSERT_TRUE(run.ok()) << run.status();
    for (size_t i = 0; i < constants.size(); ++i) {
      const std::string& name = Functions()[i].first;
      EXPECT_TRUE(SameBits(constants[i], **run->Get(name))) << name << " of " << type;
    }
  }
}

// Returns the f32 cases as one program.
std::string ModuleOf(const std::vector<OpCase>& cases) {
  std::string text;
  for (size_t i = 0; i < cases.size(); ++i) text += FunctionText(cases[i], "f32", "f" + std::to_string(i));
  return text;
}

// Not a test: the next test runs it in child processes with different environments.
TEST(CpuTargetsTest, PrintsHashes) {
  const char* threads = std::getenv("SINTER_TEST_PRINT_HASHES");
  if (threads == nullptr) GTEST_SKIP() << "asked for by APlanDoesNotDependOnTheMachineThatCompiles";
  CompileOptions options{.target_cpu = "x86-64-v3", .threads = std::atoi(threads)};
  auto print = [](const char* name, const absl::StatusOr<Plan>& plan) {
    ASSERT_TRUE(plan.ok()) << plan.status();
    std::cout << "hash of " << name << ": " << plan->hash() << "\n";
  };
  print("functions", FunctionsPlan(options));
  print("graph", CompileText(MakeRandomGraph(1, /*gradients=*/true).text, "graph", options));
}

// Returns the hashes that this program prints in the given environment.
std::string HashesUnder(const std::string& environment, int threads) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command = "env " + environment + " SINTER_TEST_PRINT_HASHES=" + std::to_string(threads) +
                              " '" + self + "' --gtest_filter=CpuTargetsTest.PrintsHashes 2>&1";
  FILE* child = popen(command.c_str(), "r");
  std::string hashes, all;
  char line[4096];
  while (child != nullptr && std::fgets(line, sizeof(line), child) != nullptr) {
    all += line;
    if (std::strncmp(line, "hash of ", 8) == 0) hashes += line;
  }
  EXPECT_TRUE(child != nullptr && pclose(child) == 0) << all;
  return hashes;
}

TEST(CpuTargetsTest, APlanDoesNotDependOnTheMachineThatCompiles) {
  const std::string expected = HashesUnder("", 1);
  EXPECT_THAT(expected, HasSubstr("hash of graph: "));
  EXPECT_EQ(HashesUnder("", 7), expected) << "7 threads";
  // Here the C library does not use its functions for these instructions.
  EXPECT_EQ(HashesUnder("GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA,-AVX2,-AVX512F,-AVX512VL", 2), expected);
  EXPECT_EQ(HashesUnder("SINTER_CPU_LEVEL=x86-64-v3 GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX512VL", 2),
            expected);
}

TEST(CpuTargetsTest, OneOfSeveralTargetsIsChosenWhereAPlanIsLoaded) {
  CompileOptions options;
  options.target_cpu = {"x86-64-v3", "x86-64-v4"};
  absl::StatusOr<Plan> plan = FunctionsPlan(options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->target_cpu(), "x86-64-v3");
  ASSERT_EQ(plan->table().better_code()->size(), 1u);
  EXPECT_EQ(plan->table().better_code()->Get(0)->target()->cpu()->str(), "x86-64-v4");
  EXPECT_EQ(codegen::CheckInstructions(*plan), absl::OkStatus());
  {
    AsLevel v3("x86-64-v3");
    EXPECT_EQ(CodeForThisCpu(plan->table())->target->cpu()->str(), "x86-64-v3");
  }
  const std::string best = sn_cpu_level() >= 4 ? "x86-64-v4" : "x86-64-v3";
  EXPECT_EQ(CodeForThisCpu(plan->table())->target->cpu()->str(), best);
  AsLevel v2("x86-64-v2");
  EXPECT_THAT(std::string(plan->CheckTarget().message()),
              HasSubstr("Sinter needs a CPU of level x86-64-v3 (Intel Haswell, AMD Zen, or newer); this one "
                        "lacks avx, avx2, bmi"));
}

TEST(CpuTargetsTest, APlanForAnotherCpuSaysWhatIsMissing) {
  absl::StatusOr<Plan> plan = FunctionsPlan({.target_cpu = "x86-64-v4"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  AsLevel v3("x86-64-v3");
  EXPECT_EQ(plan->CheckTarget().message(),
            "this plan was compiled for x86-64-v4 and needs avx512bw, avx512cd, avx512dq, avx512f, avx512vl, "
            "which this CPU lacks; recompile with --target-cpu=native here, or with --target-cpu=x86-64-v3 "
            "for any x86-64 CPU since Intel Haswell and AMD Zen");
  plan = FunctionsPlan({.target_cpu = {"x86-64-v4", "znver4"}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(std::string(plan->CheckTarget().message()),
              HasSubstr("this plan was compiled for znver4 and x86-64-v4; for the last it needs avx512bw,"));
}

TEST(CpuTargetsTest, AWrongLevelIsAnErrorOfCompilingAndOfLoading) {
  absl::StatusOr<Plan> plan = FunctionsPlan({.target_cpu = "x86-64-v3"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  AsLevel wrong("haswell");
  const std::string message =
      "SINTER_CPU_LEVEL is \"haswell\": write x86-64, x86-64-v2, x86-64-v3 or x86-64-v4";
  EXPECT_THAT(std::string(FunctionsPlan({}).status().message()), HasSubstr(message));
  EXPECT_THAT(std::string(Session::Create(*std::move(plan)).status().message()), HasSubstr(message));
}

TEST(CpuTargetsTest, AWrongNumberOfThreadsIsAnError) {
  EXPECT_EQ(FunctionsPlan({.threads = -1}).status().message(),
            "CompileOptions::threads is -1: give a number of threads, or 0 for one a core");
}

TEST(CpuTargetsTest, TheEnvironmentSetsTheOptimization) {
  setenv("SINTER_CPU_OPTIMIZATION", "0", 1);
  absl::StatusOr<Plan> plain = FunctionsPlan({});
  setenv("SINTER_CPU_OPTIMIZATION", "3", 1);
  absl::StatusOr<Plan> best = FunctionsPlan({});
  setenv("SINTER_CPU_OPTIMIZATION", "4", 1);
  EXPECT_EQ(FunctionsPlan({}).status().message(), "SINTER_CPU_OPTIMIZATION is \"4\": write 0, 1, 2 or 3");
  unsetenv("SINTER_CPU_OPTIMIZATION");
  absl::StatusOr<Plan> usual = FunctionsPlan({});
  ASSERT_TRUE(plain.ok() && best.ok() && usual.ok());
  EXPECT_FALSE(std::ranges::equal(plain->bytes(), best->bytes()));
  EXPECT_TRUE(std::ranges::equal(usual->bytes(), best->bytes()));
}

// A plan that runs only on GPUs requires nothing of the host CPU.
TEST(CpuTargetsTest, APlanWithoutCodeForCpusHasNoTarget) {
  Graph graph("products");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    b.Output("y", MatMul(b.Input("a", F32, {4, 8}), b.Input("b", F32, {8, 2})));
  });
  absl::StatusOr<Plan> plan = Compile(graph, {.device = Device::Gpu(0)});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->table().target(), nullptr);
  EXPECT_EQ(plan->target_cpu(), "");
  AsLevel v3("x86-64-v3");
  EXPECT_EQ(plan->CheckTarget(), absl::OkStatus());
  // A CPU plan with library calls has a target: it limits the library's choice of kernels.
  plan = Compile(graph, {.target_cpu = "x86-64-v4"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->target_cpu(), "x86-64-v4");
  EXPECT_FALSE(plan->CheckTarget().ok());
}

std::vector<Value> RunCase(CompiledProgram& program, const OpCase& c, const std::string& function) {
  const std::vector<Value> inputs = MakeOperands(c, "f32", 11);
  std::vector<std::string> names;
  for (size_t i = 0; i < inputs.size(); ++i) names.push_back(OperandName(i));
  absl::StatusOr<std::vector<Value>> results = program.Run(function, names, inputs);
  EXPECT_TRUE(results.ok()) << c.name << results.status();
  return results.ok() ? *std::move(results) : std::vector<Value>();
}

// Runs one plan with the code of each of its targets. CompiledProgram::Make checks the instructions of both.
TEST(CpuTargetsTest, AllCodeOfAPlanGivesTheSameBits) {
  std::vector<OpCase> cases = ReduceCases();
  std::erase_if(cases, [](const OpCase& c) { return Replace(c.dtypes, "f32", "") == c.dtypes; });
  const std::string text = ModuleOf(cases);
  CompileOptions options;
  options.target_cpu = {"x86-64-v3", "x86-64-v4"};
  absl::StatusOr<CompiledProgram> best = CompiledProgram::Make(text, options);
  ASSERT_TRUE(best.ok()) << best.status();
  AsLevel level("x86-64-v3");
  absl::StatusOr<CompiledProgram> v3 = CompiledProgram::Make(text, options);
  ASSERT_TRUE(v3.ok()) << v3.status();
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::vector<Value> a = RunCase(*best, cases[i], "f" + std::to_string(i));
    const std::vector<Value> b = RunCase(*v3, cases[i], "f" + std::to_string(i));
    ASSERT_EQ(a.size(), b.size());
    for (size_t r = 0; r < a.size(); ++r) {
      EXPECT_EQ(a[r].ints, b[r].ints) << cases[i].name;
      ASSERT_EQ(a[r].reals.size(), b[r].reals.size());
      EXPECT_TRUE(a[r].reals.empty() ||
                  std::memcmp(a[r].reals.data(), b[r].reals.data(), a[r].reals.size() * sizeof(double)) == 0)
          << cases[i].name;
    }
  }
}

}  // namespace
}  // namespace sinter::numerics
