// What a step of a plan.function has computed and can be computed again later, from values that are there anyway.
//
//   StepUses uses(function);
//   std::optional<Recompute> again = uses.findRecompute(alloc, /*peak=*/t);   // Not alive from its last use before step t on
//   plan_ir::CallOp call = uses.insert(*again);                               // `uses` is no longer true now
#ifndef SINTER_PASSES_PLAN_RECOMPUTE_H_
#define SINTER_PASSES_PLAN_RECOMPUTE_H_

#include <optional>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "sinter/passes/plan/plan_steps.h"

namespace sinter {

struct Recompute {
  mlir::Value alloc;     // What is not kept.
  plan_ir::CallOp call;  // What computed it.
  unsigned output = 0;   // As which of its results.
  int64_t before = 0;    // The step that needs it next: it is computed again in front of it.
  // Which values of the call's body are read for that, and from where.
  llvm::MapVector<mlir::Value, mlir::Value> inputs;
  int64_t saved_bytes = 0, moved_bytes = 0;  // Of memory at the peak; read and written to compute it again.
};

class StepUses {
 public:
  explicit StepUses(plan_ir::FunctionOp function);

  // Nothing when the step `peak` itself uses it, when nobody does later, or when it takes more than fused loops over what is
  // still there when it is needed next.
  std::optional<Recompute> findRecompute(mlir::Value alloc, int64_t peak) const;
  // Later readers read what is computed again.
  plan_ir::CallOp insert(const Recompute& again);

 private:
  bool isThere(mlir::Value buffer, int64_t since, int64_t until) const;
  bool isWritten(mlir::Value root, int64_t since, int64_t until) const;
  bool collectInputs(mlir::Value value, int64_t since, Recompute& again,
                     llvm::DenseSet<mlir::Value>& seen) const;
  void buildBody(const Recompute& again, plan_ir::CallOp clone);

  llvm::SmallVector<mlir::Operation*> steps_;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int64_t>> uses_, writes_;  // Of roots, ascending.
  llvm::SmallVector<mlir::Value> written_variables_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_PLAN_RECOMPUTE_H_
