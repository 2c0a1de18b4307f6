// Finds results of a plan.function's steps that can be recomputed later from values that are still available.
//
//   StepUses uses(function);
//   std::optional<Rematerialisation> again = uses.findRematerialisation(alloc, /*peak=*/t);
//   plan_ir::CallOp call = uses.insert(*again);  // `uses` is invalid afterwards.
//
// Or inside a step that reads the inputs anyway; `uses` stays valid:
//
//   std::optional<Rematerialisation> beside = uses.findFor(alloc, /*peak=*/t, /*host=*/h);
//   if (beside && uses.fits(*beside)) uses.insertInto(*beside);
#ifndef SINTER_PASSES_PLAN_REMATERIALISATION_H_
#define SINTER_PASSES_PLAN_REMATERIALISATION_H_

#include <optional>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "sinter/passes/plan/plan_steps.h"

namespace sinter {

struct Rematerialisation {
  mlir::Value alloc;     // The value that is not kept.
  plan_ir::CallOp call;  // The call that computed it.
  unsigned output = 0;   // Its result number in the call.
  int64_t before = 0;    // The step that needs it next; it is recomputed before this step.
  // The values of the call's body that the recomputation reads, and their buffers.
  llvm::MapVector<mlir::Value, mlir::Value> inputs;
  // Bytes freed at the peak; bytes read and written by the recomputation.
  int64_t saved_bytes = 0, moved_bytes = 0;
  bool reduces = false;  // True if the recomputation has reductions.
};

class StepUses {
 public:
  explicit StepUses(plan_ir::FunctionOp function);

  // Returns nullopt if the step `peak` itself uses the value, if no later step does, or if recomputing it
  // takes more than fused loops over values that are still available then.
  std::optional<Rematerialisation> findRematerialisation(mlir::Value alloc, int64_t peak) const;
  // The same at the step `host`, whoever reads the value in between.
  std::optional<Rematerialisation> findFor(mlir::Value alloc, int64_t peak, int64_t host) const;
  // Makes later readers read the recomputed value.
  plan_ir::CallOp insert(const Rematerialisation& again);
  // True if the generated kernel at the step again.before can store the value too: in the loop that it has,
  // without further reductions, and still overwriting the inputs that it may overwrite now.
  bool fits(const Rematerialisation& again) const;
  // Lets that kernel store the value. Readers after `peak` read it there, so they must come after it.
  plan_ir::CallOp insertInto(const Rematerialisation& again, int64_t peak);

  llvm::ArrayRef<mlir::Operation*> steps() const { return steps_; }
  // Returns the steps that read or write the memory, ascending.
  llvm::ArrayRef<int64_t> usesOf(mlir::Value root) const;

 private:
  bool isThere(mlir::Value buffer, int64_t since, int64_t until) const;
  bool isWritten(mlir::Value root, int64_t since, int64_t until) const;
  bool collectInputs(mlir::Value value, int64_t since, Rematerialisation& again,
                     llvm::DenseSet<mlir::Value>& seen) const;
  void buildBody(const Rematerialisation& again, plan_ir::CallOp clone);
  mlir::Value allocLike(mlir::Value alloc) const;
  // Makes the steps from `first` on use the memory `other` instead.
  void replaceUses(mlir::Value root, mlir::Value other, int64_t first);

  llvm::SmallVector<mlir::Operation*> steps_;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int64_t>> uses_, writes_;  // By root buffer, ascending.
  llvm::SmallVector<mlir::Value> written_variables_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_PLAN_REMATERIALISATION_H_
