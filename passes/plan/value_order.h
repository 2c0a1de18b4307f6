// ValueOrder: the order of a plan.function's steps that the values alone require, for any memory layout.
// A reader comes after the writer of a value; a writer of bytes comes after their other readers and writers.
//
//   ValueOrder order(function);
//   if (order.comesAfter(later, earlier)) ...   // By index in StepsOf(function).
//
// A device that runs steps side by side keeps this order, plus the order that shared memory requires.
#ifndef SINTER_PASSES_PLAN_VALUE_ORDER_H_
#define SINTER_PASSES_PLAN_VALUE_ORDER_H_

#include "llvm/ADT/BitVector.h"
#include "sinter/passes/plan/plan_steps.h"

namespace sinter {

class ValueOrder {
 public:
  explicit ValueOrder(plan_ir::FunctionOp function);

  // True if `later` must come after `earlier`, directly or through other steps.
  bool comesAfter(int64_t later, int64_t earlier) const { return before_[later].test(earlier); }

 private:
  llvm::SmallVector<llvm::BitVector> before_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_PLAN_VALUE_ORDER_H_
