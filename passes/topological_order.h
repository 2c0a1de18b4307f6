// Puts the ops of a block in an order in which every value is computed before it is read.
#ifndef SINTER_PASSES_TOPOLOGICAL_ORDER_H_
#define SINTER_PASSES_TOPOLOGICAL_ORDER_H_

#include "llvm/ADT/DenseMap.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

namespace sinter {

// Of the ops that may come next, the one of lowest `rank` does. The terminator, if any, stays last. Values
// must not depend on themselves.
void SortTopologically(mlir::Block& block, const llvm::DenseMap<mlir::Operation*, unsigned>& rank);

}  // namespace sinter

#endif  // SINTER_PASSES_TOPOLOGICAL_ORDER_H_
