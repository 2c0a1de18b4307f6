// ShardingWishes: how new values of variables are wished for, and the values from which pointwise ops compute
// them (pass `shard`).
//
//   const ShardingWishes wishes(function, mesh, cuts);
//   wishes.partsOf(gradient)           // The parts of a slot that is cut for storage alone; null: no wish.
//   wishes.termsOf(new_sum)            // The sharding of a variable that is kept as terms; null: no wish.
#ifndef SINTER_PASSES_PARTITION_SHARDING_WISHES_H_
#define SINTER_PASSES_PARTITION_SHARDING_WISHES_H_

#include "llvm/ADT/DenseMap.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "sinter/ir/dialect/sharding.h"
#include "sinter/passes/partition/variable_cuts.h"

namespace sinter {

class ShardingWishes {
 public:
  ShardingWishes(mlir::func::FuncOp function, ir::MeshAttr mesh, const VariableCuts& cuts);

  // Null if there is no wish.
  const ir::Sharding* partsOf(mlir::Value value) const { return find(parts_, value); }
  const ir::Sharding* termsOf(mlir::Value value) const { return find(terms_, value); }

 private:
  using Wishes = llvm::DenseMap<mlir::Value, ir::Sharding>;

  void wishParts(mlir::Operation* op);
  void wishTerms(mlir::Operation* op);
  static const ir::Sharding* find(const Wishes& wishes, mlir::Value value) {
    auto found = wishes.find(value);
    return found == wishes.end() ? nullptr : &found->second;
  }

  ir::MeshAttr mesh_;
  Wishes parts_, terms_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_PARTITION_SHARDING_WISHES_H_
