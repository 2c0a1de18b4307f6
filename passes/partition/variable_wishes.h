// VariableWishes: the parts in which new values of variables are wanted, and what they are computed from.
//
//   VariableWishes wishes(function, mesh, cuts);
//   wishes.stored(gradient)        // [768 data, 3072]: ZeRO stores the slots in these parts; null: no wish.
//   wishes.worked(gradient)        // [50304 tensor, 768]: the ranks work with these parts of the variable.
//   wishes.terms(new_sum)          // [768, 3072] partial sum data: the variable is kept as terms.
//
// A new value is wanted in the parts of its variable, and so are the values from which ops compute it whose
// loops are all parallel. A new value of terms is wanted as terms, and so are the operands in which the op
// that computes it is linear.
#ifndef SINTER_PASSES_PARTITION_VARIABLE_WISHES_H_
#define SINTER_PASSES_PARTITION_VARIABLE_WISHES_H_

#include "llvm/ADT/DenseMap.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "sinter/ir/dialect/sharding.h"
#include "sinter/passes/partition/variable_cuts.h"

namespace sinter {

class VariableWishes {
 public:
  VariableWishes(mlir::func::FuncOp function, ir::MeshAttr mesh, const VariableCuts& cuts);

  // The cuts for storage alone, and those of which the ranks work with their parts. Null if there are none.
  const ir::Sharding* stored(mlir::Value value) const { return find(stored_, value); }
  const ir::Sharding* worked(mlir::Value value) const { return find(worked_, value); }
  // Null if the value is not wanted as terms.
  const ir::Sharding* terms(mlir::Value value) const { return find(terms_, value); }

 private:
  using Wishes = llvm::DenseMap<mlir::Value, ir::Sharding>;

  void wish(Wishes& wishes, mlir::func::FuncOp function,
            llvm::function_ref<bool(llvm::StringRef variable, mlir::StringAttr axis)> keeps);
  void wishOperands(Wishes& wishes, mlir::Operation* op);
  void wishTerms(mlir::func::FuncOp function);
  void wishTermsOf(mlir::Operation* op);
  static const ir::Sharding* find(const Wishes& wishes, mlir::Value value) {
    auto found = wishes.find(value);
    return found == wishes.end() ? nullptr : &found->second;
  }

  ir::MeshAttr mesh_;
  const VariableCuts& cuts_;
  Wishes stored_, worked_, terms_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_PARTITION_VARIABLE_WISHES_H_
