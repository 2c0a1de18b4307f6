// Every op gives the same results if ranks share it by rows: each case is compiled for two or three virtual
// CPUs that share the rows of its operands, run, and compared with the reference.
#include <cstdlib>
#include <iostream>

#include "gtest/gtest.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/tests/numerics/comparison.h"
#include "sinter/tests/numerics/compiled.h"
#include "sinter/tests/numerics/op_cases.h"
#include "sinter/tests/reference/reference.h"

namespace sinter::numerics {
namespace {

using reference::Value;

// The parameter is a quarter of the cases, so that a test runner can run several beside each other.
class SharedOpTest : public ::testing::TestWithParam<int> {
 protected:
  SharedOpTest() {
    setenv("SINTER_CPU_DEVICES", "3", 1);
    // op_test tests optimized kernels of the same ops; LLVM would take four fifths of the time of this test.
    setenv("SINTER_CPU_OPTIMIZATION", "0", /*overwrite=*/0);
    mlir::DialectRegistry registry;
    ir::RegisterDialects(registry);
    context_.appendDialectRegistry(registry);
    context_.loadAllAvailableDialects();
  }
  ~SharedOpTest() override { unsetenv("SINTER_CPU_DEVICES"); }

  // Shares the rows of operand `split` and of all later operands with as many rows. False if it has no rows.
  bool Compare(const OpCase& c, size_t split, int ranks);

  mlir::MLIRContext context_{mlir::MLIRContext::Threading::DISABLED};
};

bool SharedOpTest::Compare(const OpCase& c, size_t split, int ranks) {
  const std::string dtype = DTypesOf(c).front(), text = FunctionText(c, dtype, "f");
  const std::vector<Value> inputs = MakeOperands(c, dtype, 3);
  if (inputs[split].shape.empty()) return false;
  CompileOptions options;
  options.data_parallel.even = false;
  options.data_parallel.batch_norm = BatchStatistics::kSynchronized;
  for (int i = 0; i < ranks; ++i) options.data_parallel.devices.push_back(Device::Cpu(i));
  std::vector<std::string> names;
  for (size_t i = 0; i < inputs.size(); ++i) {
    names.push_back(OperandName(i));
    const bool has_rows = !inputs[i].shape.empty() && inputs[i].shape[0] == inputs[split].shape[0];
    if (i < split || !has_rows) options.data_parallel.whole_inputs.push_back(names.back());
  }
  const std::string title = c.name + " of " + dtype + ", shared by " + std::to_string(ranks) +
                            " along operand " + std::to_string(split) + "\n" + text;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
  auto want = reference::EvaluateFunction(module->lookupSymbol<mlir::func::FuncOp>("f"), inputs);
  absl::StatusOr<CompiledProgram> program = CompiledProgram::Make(text, options);
  EXPECT_TRUE(want.ok()) << title << want.status();
  EXPECT_TRUE(program.ok()) << title << program.status();
  if (!want.ok() || !program.ok()) return false;
  auto got = program->Run("f", names, inputs);
  EXPECT_TRUE(got.ok()) << title << got.status();
  if (!got.ok()) return false;
  for (size_t i = 0; i < want->size(); ++i) {
    // The sums have another order and one more rounding.
    EXPECT_EQ(Disagreement((*got)[i], (*want)[i], c.op_class, 2), "") << "result " << i << " of " << title;
  }
  return true;
}

constexpr int kQuarters = 4;

TEST_P(SharedOpTest, EveryOpComputesTheSame) {
  int compared = 0, number = 0;
  for (const OpCase& c : AllOpCases()) {
    if (number++ % kQuarters != GetParam()) continue;
    const bool is_placed =
        c.body.find("sinter.copy") != std::string::npos || c.body.find("#sinter.device") != std::string::npos;
    if (is_placed || c.special_values) continue;
    for (size_t split = 0; split < c.operands.size(); ++split) {
      compared += Compare(c, split, split == 0 ? 2 : 3);
    }
  }
  std::cout << compared << " compared\n";
  EXPECT_GT(compared, 200);
}

INSTANTIATE_TEST_SUITE_P(Quarters, SharedOpTest, ::testing::Range(0, kQuarters));

}  // namespace
}  // namespace sinter::numerics
