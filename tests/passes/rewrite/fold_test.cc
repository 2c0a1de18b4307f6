// Compares constant folding by the ops' scalar bodies with the reference, also on special values.
#include <algorithm>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/passes/passes.h"
#include "sinter/tests/numerics/comparison.h"
#include "sinter/tests/numerics/op_cases.h"
#include "sinter/tests/reference/reference.h"

namespace sinter::numerics {
namespace {

using reference::Value;

mlir::DenseElementsAttr AttributeOf(const Value& value, mlir::RankedTensorType type) {
  mlir::Type element = type.getElementType();
  llvm::SmallVector<mlir::Attribute> elements;
  for (double x : value.reals) elements.push_back(mlir::FloatAttr::get(element, x));
  for (int64_t x : value.ints) {
    elements.push_back(
        mlir::IntegerAttr::get(element, llvm::APInt(element.getIntOrFloatBitWidth(), x, true)));
  }
  return mlir::DenseElementsAttr::get(type, elements);
}

// Replaces the function's arguments by constants.
void Fix(mlir::func::FuncOp function, const std::vector<Value>& inputs) {
  mlir::OpBuilder b(function.getBody());
  for (auto [argument, value] : llvm::zip_equal(function.getArguments(), inputs)) {
    auto attribute = AttributeOf(value, llvm::cast<mlir::RankedTensorType>(argument.getType()));
    argument.replaceAllUsesWith(b.create<ir::ConstantOp>(function.getLoc(), attribute));
  }
}

bool AllConstant(mlir::func::FuncOp function) {
  return llvm::all_of(function.getBody().front().getTerminator()->getOperands(),
                      [](mlir::Value v) { return v.getDefiningOp<ir::ConstantOp>() != nullptr; });
}

// True if the op is a reduction, also one of several ops, of at least one element. Empty reductions are not
// folded.
bool IsReductionOfSomething(const OpCase& c, const std::vector<Value>& inputs) {
  static const std::set<std::string> kReductions = {"sum",    "prod",   "max",  "min",       "any", "all",
                                                    "argmax", "argmin", "mean", "logsumexp", "norm"};
  static const std::string kBefore = "%r = sinter.";
  std::string op = c.body.substr(std::min(kBefore.size(), c.body.size()));
  return kReductions.count(op.substr(0, op.find(' '))) != 0 && inputs[0].size() > 0;
}

TEST(FoldTest, AgreesWithTheReference) {
  mlir::DialectRegistry registry;
  ir::RegisterDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  // One manager for all: each would collect the patterns of all dialects again.
  mlir::PassManager manager(&context);
  manager.addNestedPass<mlir::func::FuncOp>(createDecompose());
  manager.addNestedPass<mlir::func::FuncOp>(mlir::createCanonicalizerPass());
  manager.addNestedPass<mlir::func::FuncOp>(createFoldConstants());
  int folded = 0, compared = 0;
  size_t number = 0;
  for (const OpCase& c : AllOpCases()) {
    for (const std::string& dtype : DTypesInTurn(c, number++)) {
      std::vector<Value> inputs = MakeOperands(c, dtype, 5);
      if (std::any_of(inputs.begin(), inputs.end(), [](const Value& v) { return v.size() > 1024; })) continue;
      std::string text = FunctionText(c, dtype, "f");
      auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
      ASSERT_TRUE(module) << text;
      auto function = module->lookupSymbol<mlir::func::FuncOp>("f");
      auto want = reference::EvaluateFunction(function, inputs);
      ASSERT_TRUE(want.ok()) << text << want.status();
      Fix(function, inputs);
      ASSERT_TRUE(mlir::succeeded(manager.run(*module))) << text;
      auto got = reference::EvaluateFunction(function, inputs);
      ASSERT_TRUE(got.ok()) << text << got.status();
      for (size_t i = 0; i < want->size(); ++i) {
        EXPECT_EQ(Disagreement((*got)[i], (*want)[i], c.op_class), "") << c.name << "\n" << text;
      }
      folded += AllConstant(function);
      EXPECT_TRUE(AllConstant(function) || !IsReductionOfSomething(c, inputs)) << c.name << " of " << dtype;
      ++compared;
    }
  }
  EXPECT_GT(folded, compared / 2) << "of " << compared;
}

}  // namespace
}  // namespace sinter::numerics
