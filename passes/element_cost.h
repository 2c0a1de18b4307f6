// ElementCost: the cost of computing one element of an op, derived from the op's own scalar body.
//
//   ElementCost costs;
//   if (costs.of(op) <= 2) ...   // Cheaper to recompute than to store and load.
#ifndef SINTER_PASSES_ELEMENT_COST_H_
#define SINTER_PASSES_ELEMENT_COST_H_

#include "llvm/ADT/DenseMap.h"
#include "mlir/IR/Operation.h"

namespace sinter {

class ElementCost {
 public:
  // Unit: additions. Arithmetic costs 1, division and square root 4, other functions of `math` 12. Index
  // arithmetic costs nothing, reductions cost 1. The cost is cached while the op lives.
  int64_t of(mlir::Operation* op);

 private:
  llvm::DenseMap<mlir::Operation*, int64_t> known_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_ELEMENT_COST_H_
