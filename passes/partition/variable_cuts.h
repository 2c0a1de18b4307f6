// VariableCuts: the parts in which the ranks hold the variables of a program, as pass `cut-variables` chose
// them.
//
//   VariableCuts cuts(module);
//   cuts.of("block0.mlp.in.weight")            // #sinter.sharding<[768, 3072 tensor]>; null: whole.
//   cuts.isStored("adam/m/weight", data)       // True: `data` cuts it for storage alone.
#ifndef SINTER_PASSES_PARTITION_VARIABLE_CUTS_H_
#define SINTER_PASSES_PARTITION_VARIABLE_CUTS_H_

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "sinter/ir/dialect/sharding.h"

namespace sinter {

class VariableCuts {
 public:
  explicit VariableCuts(mlir::ModuleOp module);

  // Null if every rank has the whole variable.
  ir::ShardingAttr of(llvm::StringRef variable) const { return shardings_.lookup(variable); }
  bool isStored(llvm::StringRef variable, mlir::StringAttr axis) const;

 private:
  llvm::StringMap<ir::ShardingAttr> shardings_;
  llvm::StringMap<mlir::ArrayAttr> stored_;
};

// The variable that argument or result `i` of the function is; empty if it is none.
llvm::StringRef VariableOfArgument(mlir::func::FuncOp function, unsigned i);
llvm::StringRef VariableOfResult(mlir::func::FuncOp function, unsigned i);

}  // namespace sinter

#endif  // SINTER_PASSES_PARTITION_VARIABLE_CUTS_H_
