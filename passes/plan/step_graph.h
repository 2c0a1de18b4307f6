// StepGraph: the order that the steps of a plan.function must keep.
//
//   StepGraph graph(StepsOf(function));
//   for (unsigned before : graph.before(step)) ...    // By index in the list of steps.
//
// A step comes after those whose values it reads, and after those that read or write what it overwrites.
// Steps that access different bytes of one memory are independent. A new value of a variable comes after the
// readers of the old one, if that makes no cycle, so that it can be computed in place.
#ifndef SINTER_PASSES_PLAN_STEP_GRAPH_H_
#define SINTER_PASSES_PLAN_STEP_GRAPH_H_

#include <cstdint>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Operation.h"

namespace sinter {

class StepGraph {
 public:
  // With `exchanges_in_order`, exchanges come in the order of their channels. Variants of a function, which
  // are ordered one by one, then meet them in the same order.
  explicit StepGraph(llvm::ArrayRef<mlir::Operation*> steps, bool exchanges_in_order = false);

  llvm::ArrayRef<unsigned> before(unsigned step) const { return before_[step]; }
  llvm::ArrayRef<unsigned> after(unsigned step) const { return after_[step]; }

 private:
  class MemoryKeys;
  // The bytes of a memory that a step accesses.
  struct Access {
    Access(unsigned s, mlir::Value buffer);
    unsigned step;
    int64_t begin, end;
  };
  using Accesses = llvm::DenseMap<mlir::Value, llvm::SmallVector<Access>>;

  void keepExchangesInOrder(llvm::ArrayRef<mlir::Operation*> steps);
  void addEdges(llvm::ArrayRef<Access> from, const Access& to);
  void addEdge(unsigned from, unsigned to);
  bool reaches(unsigned from, unsigned to) const;
  void preferReadersOfOldValues(llvm::ArrayRef<mlir::Operation*> steps, MemoryKeys& keys, Accesses& writers,
                                Accesses& readers);

  llvm::DenseSet<std::pair<unsigned, unsigned>> edges_;
  bool leads_back_ = false;  // True if some edge goes to an earlier step.
  llvm::SmallVector<llvm::SmallVector<unsigned>> before_, after_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_PLAN_STEP_GRAPH_H_
