// Sorts the ops of a block so that every value is computed before it is read.
#ifndef SINTER_PASSES_TOPOLOGICAL_ORDER_H_
#define SINTER_PASSES_TOPOLOGICAL_ORDER_H_

#include "llvm/ADT/DenseMap.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

namespace sinter {

// The next op is always the ready one with the lowest `rank`. The terminator, if any, stays last. The values
// must have no cycles.
void SortTopologically(mlir::Block& block, const llvm::DenseMap<mlir::Operation*, unsigned>& rank);

}  // namespace sinter

#endif  // SINTER_PASSES_TOPOLOGICAL_ORDER_H_
