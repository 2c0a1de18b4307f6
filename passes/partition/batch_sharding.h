// Which values of a function every device computes whole, and which each computes its part of, when the batch is cut
// among devices. Nothing is changed: the pass `partition` asks and rewrites.
//
//   BatchSharding sharding(function, bounds_of_batch, {"mask"});
//   sharding.of(value).IsSplit()           // each device has the part [bounds[r], bounds[r + 1]) along dim
//   sharding.ruleOf(op)                    // how an op runs on parts; null: it runs whole, on all
//   sharding.feedsBatch(value)             // whether anything that is computed in parts depends on it
#ifndef SINTER_PASSES_PARTITION_BATCH_SHARDING_H_
#define SINTER_PASSES_PARTITION_BATCH_SHARDING_H_

#include <optional>
#include <string>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter {

// Where a value's dimension is cut: `bounds` has one number more than there are parts. Whole: no bounds.
struct Sharding {
  int64_t dim = ir::kWhole;
  llvm::SmallVector<int64_t> bounds;

  bool IsSplit() const { return dim != ir::kWhole; }
  friend bool operator==(const Sharding&, const Sharding&) = default;
};

class BatchSharding {
 public:
  // `bounds` cut the batch: dimension 0 of every input of rank 1 or more that is not among `whole_inputs`.
  BatchSharding(mlir::func::FuncOp function, llvm::ArrayRef<int64_t> bounds,
                llvm::ArrayRef<std::string> whole_inputs);

  const Sharding& of(mlir::Value value) const;
  const ir::SplitRule* ruleOf(mlir::Operation* op) const;
  // What the operand must be for its op to run by its rule.
  Sharding wanted(mlir::Operation* op, unsigned operand) const;
  bool feedsBatch(mlir::Value value) const { return feeds_.contains(value); }

 private:
  void visit(mlir::Operation* op);
  bool fits(mlir::Operation* op, const ir::SplitRule& rule, llvm::ArrayRef<int64_t> bounds) const;
  void findFeeds(mlir::func::FuncOp function);

  llvm::DenseMap<mlir::Value, Sharding> shardings_;  // Of values that are split.
  llvm::DenseMap<mlir::Operation*, ir::SplitRule> rules_;
  llvm::DenseMap<mlir::Operation*, llvm::SmallVector<int64_t>>
      bounds_;  // Of the operands of ops with a rule.
  llvm::DenseSet<mlir::Value> feeds_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_PARTITION_BATCH_SHARDING_H_
