// MainUpdates: the ops and variables of the main device when it alone updates the variables.
// Ops: those that depend on combined gradients, and those that only they read. Variables: those that no other
// op reads.
//
//   MainUpdates main(functions, shardings);
//   main.runsOnMainAlone(op); main.hasOnMainAlone("weights.momentum");
#ifndef SINTER_PASSES_PARTITION_MAIN_UPDATES_H_
#define SINTER_PASSES_PARTITION_MAIN_UPDATES_H_

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include "sinter/passes/partition/batch_sharding.h"

namespace sinter {

class MainUpdates {
 public:
  // Takes one sharding for each function.
  MainUpdates(llvm::ArrayRef<mlir::func::FuncOp> functions, llvm::ArrayRef<BatchSharding> shardings);

  bool runsOnMainAlone(mlir::Operation* op) const { return ops_.contains(op); }
  bool hasOnMainAlone(llvm::StringRef variable) const {
    return updated_.contains(variable) && !elsewhere_.contains(variable);
  }

 private:
  void findOps(mlir::func::FuncOp function, const BatchSharding& sharding);
  void findVariables(mlir::func::FuncOp function);

  llvm::DenseSet<mlir::Operation*> ops_;
  llvm::DenseSet<mlir::Value> values_;         // Values that only the main device has.
  llvm::StringMap<bool> updated_, elsewhere_;  // Sets of variables.
};

}  // namespace sinter

#endif  // SINTER_PASSES_PARTITION_MAIN_UPDATES_H_
