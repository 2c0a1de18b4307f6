// Compiles every op in every element type and many shapes, runs it on the CPU or a GPU (test_device.h), and
// compares it with the reference.
#include <iostream>
#include <map>

#include "gtest/gtest.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "sinter/codegen/cpu/compile_cpp.h"
#include "sinter/ir/dialect/dialect.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/tests/numerics/comparison.h"
#include "sinter/tests/numerics/compiled.h"
#include "sinter/tests/numerics/op_cases.h"
#include "sinter/tests/numerics/test_device.h"
#include "sinter/tests/reference/reference.h"

namespace sinter::numerics {
namespace {

using reference::Value;

// One case in one element type: a function of a module.
struct Job {
  OpCase op;
  std::string dtype, function;
  std::string Text() const { return FunctionText(op, dtype, function); }
  std::string Title() const { return op.name + " in " + dtype + "\n" + Text(); }
};

constexpr size_t kFunctionsAModule = 24;

struct Family {
  const char* name;
  std::vector<OpCase> (*cases)();
  size_t part, parts;
};

class OpTest : public ::testing::TestWithParam<Family> {
 protected:
  OpTest() {
    mlir::DialectRegistry registry;
    ir::RegisterDialects(registry);
    context_.appendDialectRegistry(registry);
    context_.loadAllAvailableDialects();
  }

  void SetUp() override {
    if (std::string why = MissingTestDevice(); !why.empty()) GTEST_SKIP() << why;
    bool needs_cpp = GetParam().cases == CustomCases && TestDevice().is_cpu();
    if (needs_cpp && !codegen::HasCppCompiler()) GTEST_SKIP() << "built without the Clang library";
  }

  static std::vector<Job> Jobs(const Family& family) {
    std::vector<Job> jobs;
    std::vector<OpCase> cases = family.cases();
    for (size_t i = family.part * cases.size() / family.parts;
         i < (family.part + 1) * cases.size() / family.parts; ++i) {
      for (const std::string& dtype : DTypesInTurn(cases[i], i)) {
        if (!TestDevice().is_host() && !RunsOnGpus(cases[i])) continue;
        jobs.push_back({cases[i], dtype, "f" + std::to_string(jobs.size())});
      }
    }
    return jobs;
  }

  // Compiles the jobs as one program. If that fails, compiles each job separately, so that the message names
  // the failing job.
  void Run(const std::vector<Job>& jobs) {
    std::string module;
    for (const Job& job : jobs) module += job.Text();
    absl::StatusOr<CompiledProgram> program = CompiledProgram::Make(module);
    if (program.ok()) {
      for (const Job& job : jobs) Judge(job, *program);
      return;
    }
    if (jobs.size() == 1) {
      // If a device's libraries lack an op, the compiler must return an error and not a wrong answer.
      if (absl::IsUnimplemented(program.status()) && !TestDevice().is_host()) {
        std::cout << "not on GPUs: " << jobs[0].op.name << " in " << jobs[0].dtype << ": "
                  << program.status().message() << "\n";
        return;
      }
      ADD_FAILURE() << jobs[0].Title() << program.status();
      return;
    }
    for (const Job& job : jobs) Run({job});
  }

  void Judge(const Job& job, CompiledProgram& program) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(job.Text(), &context_);
    ASSERT_TRUE(module) << job.Title();
    std::vector<Value> inputs = MakeOperands(job.op, job.dtype, 11);
    auto want = reference::EvaluateFunction(module->lookupSymbol<mlir::func::FuncOp>(job.function), inputs);
    ASSERT_TRUE(want.ok()) << job.Title() << want.status();
    std::vector<std::string> names;
    for (size_t i = 0; i < inputs.size(); ++i) names.push_back(OperandName(i));
    auto got = program.Run(job.function, names, inputs);
    ASSERT_TRUE(got.ok()) << job.Title() << got.status();
    ASSERT_EQ(got->size(), want->size()) << job.Title();
    const bool has_short_sums = job.op.op_class == OpClass::kFloat8Matmul && TestDevice().is_gpu();
    const OpClass op_class = has_short_sums ? OpClass::kTf32Matmul : job.op.op_class;
    for (size_t i = 0; i < want->size(); ++i) {
      EXPECT_EQ(Disagreement((*got)[i], (*want)[i], op_class), "") << "result " << i << " of " << job.Title();
    }
  }

  mlir::MLIRContext context_;
};

TEST_P(OpTest, AgreesWithTheReference) {
  std::vector<Job> jobs = Jobs(GetParam());
  if (jobs.empty()) GTEST_SKIP() << "only CPUs compute these ops";
  for (size_t i = 0; i < jobs.size(); i += kFunctionsAModule) {
    Run({jobs.begin() + i, jobs.begin() + std::min(jobs.size(), i + kFunctionsAModule)});
  }
}

INSTANTIATE_TEST_SUITE_P(
    Families, OpTest,
    ::testing::Values(Family{"pointwise0", PointwiseCases, 0, 4}, Family{"pointwise1", PointwiseCases, 1, 4},
                      Family{"pointwise2", PointwiseCases, 2, 4}, Family{"pointwise3", PointwiseCases, 3, 4},
                      Family{"shape", ShapeCases, 0, 1}, Family{"reduce0", ReduceCases, 0, 2},
                      Family{"reduce1", ReduceCases, 1, 2}, Family{"linear", LinearCases, 0, 1},
                      Family{"matrix", MatrixCases, 0, 1}, Family{"fourier", FourierCases, 0, 1},
                      Family{"random", RandomCases, 0, 1}, Family{"composite", CompositeCases, 0, 1},
                      Family{"attention", AttentionCases, 0, 1}, Family{"placement", PlacementCases, 0, 1},
                      Family{"control", ControlCases, 0, 1}, Family{"custom", CustomCases, 0, 1}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sinter::numerics
