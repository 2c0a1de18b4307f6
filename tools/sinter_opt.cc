// The program `sinter-opt`: reads IR as text or bytecode, runs passes, prints IR. The lit tests use it.
//
//   sinter-opt model.mlir --canonicalize
//   sinter-opt model.mlir --device=gpu:0 --sinter-fuse     # places the program first, as sinter-compile does
#include <memory>
#include <string>

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "sinter/ir/dialect/dialect.h"
#ifdef SINTER_HAS_PASSES
#include "sinter/codegen/plan/passes.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/passes/passes.h"
#endif

namespace {

llvm::cl::opt<std::string> device_option(
    "device", llvm::cl::value_desc("kind:index"),
    llvm::cl::desc("Runs sinter-propagate-placement before all other passes; its default device"));

// Puts the pass that places before those that are there. A pass manager can only append, so the passes are
// read anew from their text.
mlir::LogicalResult PlaceFirst(mlir::PassManager& passes) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  passes.printAsTextualPipeline(stream);
  const std::string place = "sinter-propagate-placement{device=" + device_option + "}";
  const bool is_alone = passes.empty();
  text.insert(text.find('(') + 1, is_alone ? place : place + ",");
  mlir::FailureOr<mlir::OpPassManager> placed = mlir::parsePassPipeline(text);
  if (mlir::failed(placed)) return mlir::failure();
  static_cast<mlir::OpPassManager&>(passes) = std::move(*placed);
  return mlir::success();
}

mlir::LogicalResult Run(const std::string& input, const std::string& output,
                        mlir::DialectRegistry& registry) {
  const mlir::MlirOptMainConfig parsed = mlir::MlirOptMainConfig::createFromCLOptions();
  mlir::MlirOptMainConfig config = parsed;
  config.setPassPipelineSetupFn([&](mlir::PassManager& passes) {
    if (mlir::failed(parsed.setupPassPipeline(passes))) return mlir::failure();
    return device_option.getNumOccurrences() > 0 ? PlaceFirst(passes) : mlir::success();
  });
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> text = mlir::openInputFile(input, &error);
  std::unique_ptr<llvm::ToolOutputFile> file = text ? mlir::openOutputFile(output, &error) : nullptr;
  if (!file) {
    llvm::errs() << error << "\n";
    return mlir::failure();
  }
  if (mlir::failed(mlir::MlirOptMain(file->os(), std::move(text), registry, config))) return mlir::failure();
  file->keep();
  return mlir::success();
}

}  // namespace

int main(int argc, char** argv) {
  mlir::DialectRegistry registry;
  sinter::ir::RegisterDialects(registry);
  mlir::registerTransformsPasses();
#ifdef SINTER_HAS_PASSES
  sinter::RegisterPasses();
  sinter::codegen::RegisterPasses();
#endif
  const llvm::InitLLVM llvm(argc, argv);
  const auto [input, output] =
      mlir::registerAndParseCLIOptions(argc, argv, "Sinter's optimizer driver\n", registry);
  return mlir::asMainReturnCode(Run(input, output, registry));
}
