// The order of a function's steps that hides exchanges between GPUs behind what needs none of them.
//
//   if (ExchangesOnGpus(steps)) order = OrderForExchanges(order, dependences);
//
// A collective of a GPU runs beside the steps behind it, until one needs its results (runtime/execute/collective_joins.h). So it begins as
// soon as its operands are there, and what waits for it comes when nothing else is left: updates of variables come behind
// backward, those of the oldest exchange first.
#ifndef SINTER_PASSES_PLAN_EXCHANGE_ORDER_H_
#define SINTER_PASSES_PLAN_EXCHANGE_ORDER_H_

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Operation.h"

namespace sinter {

// Steps are named by their number in `steps`.
struct StepDependences {
  llvm::ArrayRef<mlir::Operation*> steps;
  llvm::function_ref<llvm::ArrayRef<unsigned>(unsigned)> before,
      after;  // Which must come before it; behind it.
};

// True if a GPU takes part in a collective among them.
bool ExchangesOnGpus(llvm::ArrayRef<mlir::Operation*> steps);

// Each device's steps in `order`, which names every step, but for those that begin an exchange or wait for one. The devices
// advance together: after k steps of one come k steps of the next, as far as they depend on nothing later.
llvm::SmallVector<mlir::Operation*> OrderForExchanges(llvm::ArrayRef<mlir::Operation*> order,
                                                      const StepDependences& dependences);

}  // namespace sinter

#endif  // SINTER_PASSES_PLAN_EXCHANGE_ORDER_H_
