// Checks the results of CUDA kernels without a GPU: every fused call of the op cases, of their gradients and
// of random graphs, and the library ops with catalog kernels. The calls are compiled for gpu:0 up to the
// plan, run by the emulator (emulated_calls.h) and compared with the reference. op_test and random_graph_test
// check whole programs on a GPU, with libraries and tensor cores; emulated_schedules_test covers the sizes of
// each schedule.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <limits>

#include "gtest/gtest.h"
#include "sinter/codegen/cpu/compile_cpp.h"
#include "sinter/tests/numerics/emulated_calls.h"
#include "sinter/tests/numerics/op_cases.h"
#include "sinter/tests/numerics/random_graph.h"

namespace sinter::numerics {
namespace {

using reference::Value;

constexpr size_t kFunctionsAModule = 40;

struct Family {
  const char* name;
  std::vector<OpCase> (*cases)();
  const char* dtypes;
  bool gradients;
  size_t part, parts;
  int least = 100;  // Fewest calls to check.

  friend void PrintTo(const Family& family, std::ostream* stream) { *stream << family.name; }
};

// Returns a case whose results are the gradients with respect to the op's real operands. The loss is the sum
// of the elements of the op's real results, each with a weight. No results: the op has none of type $T.
OpCase GradientOf(const OpCase& c) {
  OpCase gradient = c;
  gradient.name = "gradient_of_" + c.name;
  gradient.op_class = OpClass::kGraph;
  gradient.body = Replace(c.body, "%r", "%y") + "\n";
  gradient.results.clear();
  auto is_real = [](const std::string& type) { return type.find("$T") != std::string::npos; };
  std::string sum, wanted, types;
  for (size_t i = 0; i < c.results.size(); ++i) {
    const std::string& type = c.results[i];
    if (!is_real(type)) continue;
    const std::string n = std::to_string(i), weight = "%" + OperandName(gradient.operands.size());
    gradient.operands.push_back({type, -1, 1});
    std::string dims;
    for (size_t d = 0; d < ZerosOfText(Replace(type, "$T", "f32")).shape.size(); ++d) {
      dims += (d ? ", " : "") + std::to_string(d);
    }
    const std::string result = Replace(ResultName(c, i), "%r", "%y"), last = sum.empty() ? "" : sum;
    gradient.body += "  %weighed" + n + " = sinter.mul " + result + ", " + weight + " : " + type +
                     "\n  %sum" + n + " = sinter.sum %weighed" + n + " [" + dims + "] : " + type +
                     " -> tensor<$T>\n";
    sum = "%sum" + n;
    if (last.empty()) continue;
    sum = "%total" + n;
    gradient.body += "  " + sum + " = sinter.add " + last + ", %sum" + n + " : tensor<$T>\n";
  }
  for (size_t i = 0; i < c.operands.size(); ++i) {
    const std::string& type = c.operands[i].type;
    if (!is_real(type)) continue;
    wanted += (wanted.empty() ? "%" : ", %") + OperandName(i);
    types += (types.empty() ? "" : ", ") + type;
    gradient.results.push_back(type);
  }
  if (sum.empty()) gradient.results.clear();
  gradient.body += "  %r:" + std::to_string(gradient.results.size()) + " = sinter.gradients " + sum +
                   " wrt " + wanted + " : (tensor<$T>, " + types + ") -> (" + types + ")";
  return gradient;
}

class EmulatedKernelsTest : public ::testing::TestWithParam<Family> {
 protected:
  struct Job {
    OpCase op;
    std::string dtype, function;
    std::string Text() const { return FunctionText(op, dtype, function); }
  };

  void SetUp() override {
    if (!codegen::HasCppCompiler()) GTEST_SKIP() << "built without the Clang library";
  }

  static std::vector<Job> Jobs(const Family& family) {
    std::vector<Job> jobs;
    const std::vector<OpCase> cases = family.cases();
    const std::string dtypes = " " + std::string(family.dtypes) + " ";
    for (size_t i = family.part * cases.size() / family.parts;
         i < (family.part + 1) * cases.size() / family.parts; ++i) {
      if (!RunsOnGpus(cases[i])) continue;
      for (const std::string& dtype : DTypesOf(cases[i])) {
        if (dtypes.find(" " + dtype + " ") == std::string::npos) continue;
        jobs.push_back({cases[i], dtype, "f" + std::to_string(jobs.size())});
        if (!family.gradients || !cases[i].has_gradient || dtype != "f32") continue;
        Job gradient{GradientOf(cases[i]), dtype, "f" + std::to_string(jobs.size())};
        if (!gradient.op.results.empty()) jobs.push_back(gradient);
      }
    }
    return jobs;
  }

  // Adds the jobs as one program. If part of it has no kernel for GPUs, adds each job as its own program.
  void Add(const std::vector<Job>& jobs) {
    std::string module;
    std::map<std::string, EmulatedCalls::Program> programs;
    for (const Job& job : jobs) {
      module += job.Text();
      EmulatedCalls::Program& program = programs[job.function];
      std::vector<Value> operands = MakeOperands(job.op, job.dtype, 11);
      for (size_t i = 0; i < operands.size(); ++i) program.inputs[OperandName(i)] = operands[i];
      program.op_class = job.op.op_class;
      program.title = job.op.name + " in " + job.dtype;
    }
    absl::Status status = calls_.AddPrograms(module, programs);
    if (status.ok()) return;
    if (jobs.size() > 1) {
      for (const Job& job : jobs) Add({job});
    } else if (absl::IsUnimplemented(status)) {
      std::cout << "not on GPUs: " << jobs[0].op.name << " in " << jobs[0].dtype << ": " << status.message()
                << "\n";
    } else {
      ADD_FAILURE() << jobs[0].op.name << " in " << jobs[0].dtype << "\n" << jobs[0].Text() << status;
    }
  }

  void Judge() {
    for (const std::string& wrong : calls_.Judge()) ADD_FAILURE() << wrong;
  }

  void Report() {
    std::cout << calls_.fused_calls() << " fused calls, " << calls_.catalogue_calls() << " of the catalogue, "
              << calls_.launches() << " launches:";
    for (const auto& [name, count] : calls_.schedules()) std::cout << " " << name << " " << count << ";";
    std::cout << "\n";
  }

  EmulatedCalls calls_;
};

TEST_P(EmulatedKernelsTest, AgreeWithTheReference) {
  const std::vector<Job> jobs = Jobs(GetParam());
  for (size_t i = 0; i < jobs.size(); i += kFunctionsAModule) {
    Add({jobs.begin() + i, jobs.begin() + std::min(jobs.size(), i + kFunctionsAModule)});
    Judge();
  }
  Report();
  EXPECT_GE(calls_.fused_calls() + calls_.catalogue_calls(), GetParam().least);
}

// The two lists together hold all types. Each family uses one list, because each type costs compile time.
constexpr char kSomeTypes[] = "f64 f32 bf16 i32 ui8 i16 ui64 i1 f8E5M2",
               kOtherTypes[] = "f64 f32 f16 i64 i8 ui16 ui32 i1 f8E4M3FN";

INSTANTIATE_TEST_SUITE_P(Families, EmulatedKernelsTest,
                         ::testing::Values(Family{"pointwise0", PointwiseCases, kSomeTypes, true, 0, 3},
                                           Family{"pointwise1", PointwiseCases, kSomeTypes, true, 1, 3},
                                           Family{"pointwise2", PointwiseCases, kSomeTypes, true, 2, 3},
                                           Family{"shape", ShapeCases, kSomeTypes, true, 0, 1},
                                           Family{"reduce0", ReduceCases, kOtherTypes, true, 0, 2},
                                           Family{"reduce1", ReduceCases, kOtherTypes, true, 1, 2},
                                           Family{"random", RandomCases, "f32 bf16 i1 i32", false, 0, 1, 30},
                                           Family{"linear", LinearCases, "f32 bf16 i32", true, 0, 1},
                                           Family{"attention", AttentionCases, "f32 bf16", true, 0, 1},
                                           Family{"custom", CustomCases, "f32 bf16 i1", true, 0, 1, 8},
                                           Family{"composite", CompositeCases, "f32 bf16 f16", true, 0, 1}),
                         [](const auto& info) { return std::string(info.param.name); });

class EmulatedRelusTest : public EmulatedKernelsTest {};

// Catalog kernels of a tf32 matmul and convolution include the relu that follows, and keep its NaN and
// infinity.
TEST_F(EmulatedRelusTest, KeepNanAndInfinity) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto special = [](const std::string& type) {
    Value value = ZerosOfText(type);
    for (size_t i = 0; i < value.reals.size(); ++i) {
      const double specials[] = {std::nan(""), kInfinity, -kInfinity};
      value.reals[i] = i % 37 == 5 ? specials[i / 37 % 3] : static_cast<double>(i * 7 % 11) / 4 - 1.25;
    }
    return value;
  };
  const std::string text = R"(
func.func @product(%x: tensor<9x800xf32> {sinter.input = "x"}, %w: tensor<800x20xf32> {sinter.input = "w"},
                   %b: tensor<20xf32> {sinter.input = "b"}) -> (tensor<9x20xf32> {sinter.output = "y"}) {
  %h = sinter.matmul %x, %w math tf32 : (tensor<9x800xf32>, tensor<800x20xf32>) -> tensor<9x20xf32>
  %c = sinter.broadcast %b [1] : tensor<20xf32> -> tensor<9x20xf32>
  %s = sinter.add %h, %c : tensor<9x20xf32>
  %y = sinter.relu %s : tensor<9x20xf32>
  return %y : tensor<9x20xf32>
}
func.func @convolution(%x: tensor<2x2x6x5xf32> {sinter.input = "x"}, %w: tensor<5x2x1x1xf32> {sinter.input = "w"})
    -> (tensor<2x5x6x5xf32> {sinter.output = "y"}) {
  %h = sinter.conv2d %x, %w math tf32 {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations =
       array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x2x6x5xf32>, tensor<5x2x1x1xf32>) -> tensor<2x5x6x5xf32>
  %y = sinter.relu %h : tensor<2x5x6x5xf32>
  return %y : tensor<2x5x6x5xf32>
}
)";
  // The special values of x are in few rows, so the row sums include NaN, both infinities and plain numbers.
  Value x = special("tensor<9x800xf32>");
  for (size_t i = 0; i < x.reals.size(); ++i) {
    if (i / 800 > 2 || i % 800 > 40) x.reals[i] = static_cast<double>(i % 5) / 4 - 0.5;
  }
  Value w = ZerosOfText("tensor<800x20xf32>");
  for (size_t i = 0; i < w.reals.size(); ++i) w.reals[i] = static_cast<double>(i * 3 % 7) / 8 - 0.375;
  Value filter = ZerosOfText("tensor<5x2x1x1xf32>");
  for (size_t i = 0; i < filter.reals.size(); ++i) filter.reals[i] = i % 2 == 0 ? 0.5 : -0.25;
  const std::map<std::string, EmulatedCalls::Program> programs = {
      {"product", {{{"x", x}, {"w", w}, {"b", special("tensor<20xf32>")}}, OpClass::kTf32Matmul, "product"}},
      {"convolution",
       {{{"x", special("tensor<2x2x6x5xf32>")}, {"w", filter}}, OpClass::kTf32Matmul, "convolution"}}};
  absl::Status status = calls_.AddPrograms(text, programs);
  ASSERT_TRUE(status.ok()) << status;
  Judge();
  EXPECT_EQ(calls_.catalogue_calls(), 2);
  EXPECT_EQ(calls_.fused_calls(), 0);  // No fused call for the relu.
  // The check finds a relu that loses NaN.
  calls_.set_rewrite(
      [](const std::string& text) { return Replace(text, "sum < 0 ? 0.f : sum", "sum > 0 ? sum : 0.f"); });
  status = calls_.AddPrograms(text, programs);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(calls_.Judge().size(), 2u);
}

class EmulatedGraphsTest : public EmulatedKernelsTest {};

TEST_P(EmulatedGraphsTest, AgreeWithTheReference) {
  const char* graphs = std::getenv("SINTER_RANDOM_GRAPHS");
  const uint64_t count = graphs ? std::strtoull(graphs, nullptr, 10) : 40;
  const uint64_t first = 100000 * GetParam().part;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    RandomGraph graph = MakeRandomGraph(seed, /*gradients=*/seed % 2 == 1, 20);
    EmulatedCalls::Program program{{}, OpClass::kGraph, "random graph " + std::to_string(seed)};
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      const size_t names = graph.input_names.size();
      program.inputs[i < names ? graph.input_names[i] : graph.variable_names[i - names]] = graph.inputs[i];
    }
    absl::Status status = calls_.AddPrograms(graph.text, {{"f", program}});
    EXPECT_TRUE(status.ok()) << status;
    if (seed % 10 == 9) Judge();
  }
  Judge();
  Report();
  EXPECT_GE(calls_.fused_calls(), GetParam().least);
}

INSTANTIATE_TEST_SUITE_P(Random, EmulatedGraphsTest,
                         ::testing::Values(Family{"graphs0", nullptr, "", false, 0, 1},
                                           Family{"graphs1", nullptr, "", false, 1, 1}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sinter::numerics
