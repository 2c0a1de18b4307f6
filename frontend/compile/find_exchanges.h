// Finds the exchanges between ranks in a program, for CompileReport::exchanges.
//
//   report.exchanges = FindExchanges(module);          // After the pass `localise`.
#ifndef SINTER_FRONTEND_COMPILE_FIND_EXCHANGES_H_
#define SINTER_FRONTEND_COMPILE_FIND_EXCHANGES_H_

#include <vector>

#include "mlir/IR/BuiltinOps.h"
#include "sinter/frontend/compile/exchanges.h"

namespace sinter {

// In program order. Those of the first variant stand for a function with variants.
std::vector<Exchange> FindExchanges(mlir::ModuleOp module);

}  // namespace sinter

#endif  // SINTER_FRONTEND_COMPILE_FIND_EXCHANGES_H_
