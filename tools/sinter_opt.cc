// The program `sinter-opt`: reads IR as text or bytecode, runs passes, prints IR. The lit tests use it.
//
//   sinter-opt model.mlir --canonicalize
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "sinter/ir/dialect/dialect.h"
#ifdef SINTER_HAS_PASSES
#include "sinter/ir/register_dialects.h"
#include "sinter/passes/passes.h"
#endif

int main(int argc, char** argv) {
  mlir::DialectRegistry registry;
  sinter::ir::RegisterDialects(registry);
  mlir::registerTransformsPasses();
#ifdef SINTER_HAS_PASSES
  sinter::RegisterPasses();
#endif
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Sinter's optimizer driver\n", registry));
}
