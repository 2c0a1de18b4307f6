// Adds the dialects of Sinter, and the upstream ones that they use, to a registry.
//
//   mlir::DialectRegistry registry;
//   sinter::ir::RegisterDialects(registry);
//   mlir::MLIRContext context(registry);
#ifndef SINTER_IR_REGISTER_DIALECTS_H_
#define SINTER_IR_REGISTER_DIALECTS_H_

#include "mlir/IR/DialectRegistry.h"

namespace sinter::ir {

// Adds `sinter`, `plan`, and the dialects that they build on.
void RegisterDialects(mlir::DialectRegistry& registry);

}  // namespace sinter::ir

#endif  // SINTER_IR_REGISTER_DIALECTS_H_
