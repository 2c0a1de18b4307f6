// Compares every decomposed composite with the reference's result for the whole op.
#include "gtest/gtest.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "sinter/ir/dialect/dialect.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/passes/passes.h"
#include "sinter/tests/numerics/comparison.h"
#include "sinter/tests/numerics/op_cases.h"
#include "sinter/tests/reference/reference.h"

namespace sinter::numerics {
namespace {

using reference::Value;

// The most elements of an operand. Decompositions do not depend on sizes, and larger cases take minutes with
// sanitizers.
constexpr int64_t kMostElements = 60'000;

TEST(DecompositionTest, EqualsTheCompositeItself) {
  mlir::DialectRegistry registry;
  ir::RegisterDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  mlir::PassManager manager(&context);
  manager.addNestedPass<mlir::func::FuncOp>(createDecompose());
  int compared = 0;
  size_t number = 0;
  for (const OpCase& c : AllOpCases()) {
    for (const std::string& dtype : DTypesInTurn(c, number++)) {
      std::string text = FunctionText(c, dtype, "f");
      auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
      ASSERT_TRUE(module) << text;
      auto function = module->lookupSymbol<mlir::func::FuncOp>("f");
      bool is_composite = false;
      function.walk([&](ir::CompositeInterface) { is_composite = true; });
      if (!is_composite) continue;
      std::vector<Value> inputs = MakeOperands(c, dtype, 3);
      if (llvm::any_of(inputs, [](const Value& input) { return input.size() > kMostElements; })) continue;
      auto whole = reference::EvaluateFunction(function, inputs);
      ASSERT_TRUE(whole.ok()) << text << whole.status();
      ASSERT_TRUE(mlir::succeeded(manager.run(*module))) << text;
      auto parts = reference::EvaluateFunction(function, inputs);
      ASSERT_TRUE(parts.ok()) << text << parts.status();
      for (size_t i = 0; i < whole->size(); ++i) {
        EXPECT_EQ(Disagreement((*parts)[i], (*whole)[i], c.op_class), "") << c.name << "\n" << text;
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, 200);
}

}  // namespace
}  // namespace sinter::numerics
