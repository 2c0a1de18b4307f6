// Random graphs give the same results before and after every pass of the upper half of the pipeline.
#include <cstdlib>

#include "gtest/gtest.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "sinter/ir/dialect/dialect.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/passes/passes.h"
#include "sinter/tests/numerics/comparison.h"
#include "sinter/tests/numerics/random_graph.h"
#include "sinter/tests/reference/reference.h"

namespace sinter::numerics {
namespace {

using mlir::func::FuncOp;
using reference::Value;

struct Stage {
  const char* name;
  std::unique_ptr<mlir::Pass> pass;
};

std::vector<Stage> Stages() {
  std::vector<Stage> stages;
  auto add = [&](const char* name, std::unique_ptr<mlir::Pass> pass) {
    stages.push_back({name, std::move(pass)});
  };
  add("canonicalize", mlir::createCanonicalizerPass());
  add("cse", mlir::createCSEPass());
  add("fold-transposes", createFoldTransposes());
  add("decompose", createDecompose());
  add("concat-along-first", createConcatAlongFirst());
  add("canonicalize", mlir::createCanonicalizerPass());
  add("fold-constants", createFoldConstants());
  add("cse", mlir::createCSEPass());
  add("assign-layouts", createAssignLayouts());
  add("canonicalize", mlir::createCanonicalizerPass());
  add("fuse-epilogue", createFuseEpilogue());
  add("fuse-scatter-add", createFuseScatterAdd());
  add("refine-dims", createRefineDims());
  add("move-reshapes", createMoveReshapes());
  add("cse", mlir::createCSEPass());
  add("fuse", createFuse());
  return stages;
}

std::string Print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

TEST(PassGraphTest, EveryPassKeepsTheMeaning) {
  mlir::DialectRegistry registry;
  ir::RegisterDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  int failures = 0;
  // SINTER_RANDOM_GRAPHS=10000 tests more graphs.
  const char* count = std::getenv("SINTER_RANDOM_GRAPHS");
  uint64_t graphs = count ? std::strtoull(count, nullptr, 10) : 400;
  for (uint64_t seed = 0; seed < graphs && failures < 4; ++seed) {
    RandomGraph graph = MakeRandomGraph(seed, /*gradients=*/seed % 2 == 1, /*ops=*/seed % 8 == 7 ? 60 : 20);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(graph.text, &context);
    ASSERT_TRUE(module) << "seed " << seed << "\n" << graph.text;
    mlir::PassManager differentiate(&context);
    differentiate.addNestedPass<FuncOp>(createDifferentiate());
    ASSERT_TRUE(mlir::succeeded(differentiate.run(*module))) << "seed " << seed << "\n" << graph.text;
    auto want =
        reference::EvaluateFunction(module->lookupSymbol<FuncOp>("f"), graph.inputs, {.keep_double = true});
    ASSERT_TRUE(want.ok()) << want.status();
    for (Stage& stage : Stages()) {
      std::string before = Print(*module);
      mlir::PassManager manager(&context);
      manager.addNestedPass<FuncOp>(std::move(stage.pass));
      ASSERT_TRUE(mlir::succeeded(manager.run(*module))) << stage.name << ", seed " << seed << "\n" << before;
      auto got =
          reference::EvaluateFunction(module->lookupSymbol<FuncOp>("f"), graph.inputs, {.keep_double = true});
      ASSERT_TRUE(got.ok()) << got.status();
      std::string wrong;
      for (size_t i = 0; i < want->size(); ++i) {
        // Compared as double whatever the type, because only constants have been rounded.
        std::string difference = Disagreement((*got)[i], (*want)[i], OpClass::kTranscendental);
        if (!difference.empty()) wrong += "result " + std::to_string(i) + ", " + difference + "\n";
      }
      EXPECT_EQ(wrong, "") << stage.name << " changed the meaning, seed " << seed << "\nbefore:\n"
                           << before << "\nafter:\n"
                           << Print(*module);
      if (!wrong.empty()) {
        ++failures;
        break;
      }
    }
  }
}

}  // namespace
}  // namespace sinter::numerics
