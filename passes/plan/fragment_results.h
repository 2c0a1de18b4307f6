// The results of a loop's body that go to several places: the next carry and a stack.
//
//   SeparateResults(fragment);     // A kernel then writes each place itself; nothing is copied.
#ifndef SINTER_PASSES_PLAN_FRAGMENT_RESULTS_H_
#define SINTER_PASSES_PLAN_FRAGMENT_RESULTS_H_

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {

// Gives a fusion one more result for each further time that the function returns one of its results.
void SeparateResults(mlir::func::FuncOp fragment);

}  // namespace sinter

#endif  // SINTER_PASSES_PLAN_FRAGMENT_RESULTS_H_
