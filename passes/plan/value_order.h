// Which steps of a plan.function come after which, wherever their values lie: what reads a value after what writes it, and what
// writes a buffer after whoever else reads or writes those bytes of it.
//
//   ValueOrder order(function);
//   if (order.comesAfter(later, earlier)) ...   // By index in StepsOf(function).
//
// A device that runs steps side by side keeps this order, and what shared memory adds to it.
#ifndef SINTER_PASSES_PLAN_VALUE_ORDER_H_
#define SINTER_PASSES_PLAN_VALUE_ORDER_H_

#include "llvm/ADT/BitVector.h"
#include "sinter/passes/plan/plan_steps.h"

namespace sinter {

class ValueOrder {
 public:
  explicit ValueOrder(plan_ir::FunctionOp function);

  // Directly or by way of others.
  bool comesAfter(int64_t later, int64_t earlier) const { return before_[later].test(earlier); }

 private:
  llvm::SmallVector<llvm::BitVector> before_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_PLAN_VALUE_ORDER_H_
