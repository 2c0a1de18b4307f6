// The pass `partition` keeps results: every op, split by rows over several devices, gives the same as on one
// device. The reference evaluates both programs.
#include "gtest/gtest.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/passes/passes.h"
#include "sinter/runtime/host/status.h"
#include "sinter/tests/numerics/comparison.h"
#include "sinter/tests/numerics/op_cases.h"
#include "sinter/tests/reference/reference.h"

namespace sinter::numerics {
namespace {

using mlir::func::FuncOp;
using reference::Value;

class PartitionTest : public ::testing::Test {
 protected:
  PartitionTest() : context_(Registry()) { context_.loadAllAvailableDialects(); }

  static mlir::DialectRegistry Registry() {
    mlir::DialectRegistry registry;
    ir::RegisterDialects(registry);
    return registry;
  }

  mlir::OwningOpRef<mlir::ModuleOp> Decomposed(const std::string& text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
    SINTER_CHECK(module) << text;
    mlir::PassManager manager(&context_);
    manager.addNestedPass<FuncOp>(createDecompose());
    SINTER_CHECK(mlir::succeeded(manager.run(*module))) << text;
    return module;
  }

  // Runs the pass. True if it succeeds and the module is valid after it.
  bool Partition(mlir::ModuleOp module, int parts, const std::vector<std::string>& whole) {
    std::vector<std::string> devices;
    for (int i = 0; i < parts; ++i) devices.push_back("cpu:" + std::to_string(i));
    PartitionOptions options;
    options.devices = devices;
    options.whole = whole;
    options.even = false;
    mlir::PassManager manager(&context_);
    manager.addPass(createPartition(options));
    manager.addNestedPass<FuncOp>(mlir::createCanonicalizerPass());
    manager.addNestedPass<FuncOp>(mlir::createCSEPass());
    return mlir::succeeded(manager.run(module)) && mlir::succeeded(mlir::verify(module));
  }

  // Compares one case. Returns the number of gathered values, or -1 if the case has nothing to split.
  int Compare(const OpCase& c, const std::string& dtype, int parts, size_t split);

  mlir::MLIRContext context_;
};

// Splits input `split` and all later inputs with the same number of rows.
int PartitionTest::Compare(const OpCase& c, const std::string& dtype, int parts, size_t split) {
  std::vector<Value> inputs = MakeOperands(c, dtype, 3);
  if (split >= inputs.size() || inputs[split].shape.empty()) return -1;
  std::vector<std::string> whole;
  for (size_t i = 0; i < inputs.size(); ++i) {
    bool same = !inputs[i].shape.empty() && inputs[i].shape[0] == inputs[split].shape[0];
    if (i < split || !same) whole.push_back(OperandName(i));
  }
  std::string text = FunctionText(c, dtype, "f");
  mlir::OwningOpRef<mlir::ModuleOp> module = Decomposed(text);
  auto want = reference::EvaluateFunction(module->lookupSymbol<FuncOp>("f"), inputs);
  EXPECT_TRUE(want.ok()) << text << want.status();
  EXPECT_TRUE(Partition(*module, parts, whole)) << text;
  FuncOp partitioned = module->lookupSymbol<FuncOp>("f");
  auto got = reference::EvaluateFunction(partitioned, inputs);
  EXPECT_TRUE(got.ok()) << text << got.status();
  if (!want.ok() || !got.ok()) return -1;
  // Every device returns the same outputs.
  EXPECT_EQ(got->size(), want->size() * static_cast<size_t>(parts)) << text;
  for (size_t i = 0; i < got->size(); ++i) {
    // The partitioned sums have another order and one more rounding.
    EXPECT_EQ(Disagreement((*got)[i], (*want)[i / static_cast<size_t>(parts)], c.op_class, 2), "")
        << c.name << " of " << dtype << " in " << parts << " parts of operand " << split << "\n"
        << text;
  }
  int gathers = 0;
  partitioned.walk([&](ir::AllGatherOp) { ++gathers; });
  return gathers;
}

TEST_F(PartitionTest, EveryOpComputesTheSame) {
  int compared = 0;
  for (const OpCase& c : AllOpCases()) {
    const std::string dtype = DTypesOf(c).front();
    bool copies =
        c.body.find("sinter.copy") != std::string::npos || c.body.find("sinter.clone") != std::string::npos;
    if (copies || c.special_values) continue;
    for (size_t split = 0; split < c.operands.size(); ++split) {
      int gathers = Compare(c, dtype, split == 0 ? 2 : 3, split);
      compared += gathers >= 0;
    }
  }
  std::cout << compared << " compared\n";
  EXPECT_GT(compared, 200);
}

}  // namespace
}  // namespace sinter::numerics
