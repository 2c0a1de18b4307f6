// The values that the gradient of a loss reaches: the loss depends on them through ops that have a gradient.
// The builder checks this while a graph is built, so that a gradient that could only be zero is an error at
// the user's line. Each op's own gradient decides.
//
//   GradientReach reach(loss);
//   if (!reach.Reaches(x)) call.Fail(reach.WhyNot(x));
#ifndef SINTER_FRONTEND_GRAPH_GRADIENT_REACH_H_
#define SINTER_FRONTEND_GRAPH_GRADIENT_REACH_H_

#include <string>

#include "sinter/frontend/graph/graph_state.h"

namespace sinter {

class GradientReach {
 public:
  // `loss` is a value that the function has computed so far.
  explicit GradientReach(mlir::Value loss);

  bool Reaches(mlir::Value value) const { return reached_.contains(value); }
  // Why the gradient does not reach `value`, as the rest of a sentence that begins with the value.
  std::string WhyNot(mlir::Value value) const;

 private:
  llvm::DenseSet<mlir::Value> reached_;
  llvm::DenseSet<mlir::Value> used_;  // Values that the loss is computed from, with or without a gradient.
};

}  // namespace sinter

#endif  // SINTER_FRONTEND_GRAPH_GRADIENT_REACH_H_
