// Fuzzes the text form of programs: any bytes parse and verify, or give diagnostics.
//
// The parser is MLIR's. Sinter's own parts are the types, the op formats and the verifiers.
#include <cstddef>
#include <cstdint>

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "sinter/ir/dialect/dialect.h"
#include "sinter/ir/parse_program.h"
#include "sinter/ir/register_dialects.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static mlir::MLIRContext* context = [] {
    mlir::DialectRegistry registry;
    sinter::ir::RegisterDialects(registry);
    auto* made = new mlir::MLIRContext(registry, mlir::MLIRContext::Threading::DISABLED);
    made->loadAllAvailableDialects();
    return made;
  }();
  mlir::ScopedDiagnosticHandler quiet(context, [](mlir::Diagnostic&) { return mlir::success(); });
  mlir::OwningOpRef<mlir::ModuleOp> module = sinter::ir::ParseProgram(
      llvm::StringRef(reinterpret_cast<const char*>(data), size), "fuzzed.mlir", context);
  return 0;
}
