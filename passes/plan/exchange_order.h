// Orders a function's steps so that independent work hides exchanges between GPUs.
//
//   if (ExchangesOnGpus(steps)) order = OrderForExchanges(order, dependences, /*gathers_ahead=*/2);
//   const double seconds = TimesInOrder(order, dependences, {seconds_of_step}).seconds;
//
// A GPU collective runs asynchronously beside later steps until one needs its results
// (runtime/execute/collective_waits.h). So it starts as soon as its operands are ready, and steps that wait
// for it run when nothing else is left: updates of variables come after the backward pass, those of the
// oldest exchange first. A gather takes memory until it is read: few run ahead of their readers, in the order
// of these.
#ifndef SINTER_PASSES_PLAN_EXCHANGE_ORDER_H_
#define SINTER_PASSES_PLAN_EXCHANGE_ORDER_H_

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Operation.h"

namespace sinter {

// Steps are named by their index in `steps`. An op may stand for several steps, which are its parts, if it is
// no member of a collective of several ops.
struct StepDependences {
  llvm::ArrayRef<mlir::Operation*> steps;
  llvm::function_ref<llvm::ArrayRef<unsigned>(unsigned)> before,
      after;  // Indices of the steps that must come before a step, and after it.
};

struct StepCosts {
  llvm::function_ref<double(unsigned step)> seconds = nullptr;
  double beside_exchange = 1;  // Speed of a step beside an exchange, as a part of its speed alone.
};

// True if a GPU takes part in a collective among the steps.
bool ExchangesOnGpus(llvm::ArrayRef<mlir::Operation*> steps);

// True if some step is an all_gather.
bool HasGathers(llvm::ArrayRef<mlir::Operation*> steps);

// Keeps each device's steps in `order` (which names every step), except steps that start an exchange or wait
// for one. A gather starts early unless so many others have no reader yet: each holds what it gathers. The
// devices advance together: k steps of one device are followed by k steps of the next, as far as dependences
// allow. With costs, a step no longer waits for an exchange that has ended by then.
llvm::SmallVector<unsigned> OrderForExchanges(llvm::ArrayRef<unsigned> order,
                                              const StepDependences& dependences, unsigned gathers_ahead,
                                              const StepCosts& costs = {});

struct OrderTimes {
  double seconds = 0;  // Until all steps have ended.
  // By step: for an exchange, the time that steps wait for it while nothing else runs on the device.
  llvm::SmallVector<double> exposed;
};

// Returns the times of this order, where members of a collective are adjacent. A device runs its steps one
// after the other, and its exchanges one after the other beside them; a step waits for the exchanges that it
// depends on.
OrderTimes TimesInOrder(llvm::ArrayRef<unsigned> order, const StepDependences& dependences,
                        const StepCosts& costs);

}  // namespace sinter

#endif  // SINTER_PASSES_PLAN_EXCHANGE_ORDER_H_
