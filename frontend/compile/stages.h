// The stages of the compiler, in order: each adds its passes. For Sinter's own sources.
//
//   for (const Stage& stage : Pipeline()) stage.add(manager, options);
//
// Each stage is named after its pass, and every pass is a stage, so that no rewrite is hidden.
#ifndef SINTER_FRONTEND_COMPILE_STAGES_H_
#define SINTER_FRONTEND_COMPILE_STAGES_H_

#include <functional>
#include <string>
#include <vector>

#include "sinter/frontend/compile/compile.h"

namespace mlir {
class OpPassManager;
}

namespace sinter {

struct Stage {
  std::string name;
  std::function<void(mlir::OpPassManager&, const CompileOptions&)> add;
  // The report field for the stage's remarks; null drops them.
  std::vector<std::string> CompileReport::* remarks = nullptr;
  bool explains_ranks = false;  // The remarks say what every rank has or computes whole.
  bool simplifies = false;      // AddSimplify follows, unless the module is as it was after the last one.
};

// Adds the passes that fold and drop ops.
void AddSimplify(mlir::OpPassManager& manager);

// Returns the stages on tensors, then those on the plan.
std::vector<Stage> Pipeline();

}  // namespace sinter

#endif  // SINTER_FRONTEND_COMPILE_STAGES_H_
