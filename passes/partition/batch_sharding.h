// Which values each device computes whole, and which only in part, when the batch is split among devices.
// This analysis changes nothing; the pass `partition` uses it to rewrite the function.
//
//   BatchSharding sharding(function, bounds_of_batch, {"mask"});
//   sharding.of(value).IsSplit()  // True: device r has the part [bounds[r], bounds[r + 1]) along dim.
//   sharding.ruleOf(op)                    // How an op runs on parts; null: every device runs the whole op.
//   sharding.feedsBatch(value)             // True if a value computed in parts depends on it.
#ifndef SINTER_PASSES_PARTITION_BATCH_SHARDING_H_
#define SINTER_PASSES_PARTITION_BATCH_SHARDING_H_

#include <optional>
#include <string>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/sharding_rule.h"

namespace sinter {

// The split of a value: dimension and `bounds`, one more than there are parts. A whole value has no bounds.
struct SplitBatch {
  int64_t dim = ir::kWhole;
  llvm::SmallVector<int64_t> bounds;

  bool IsSplit() const { return dim != ir::kWhole; }
  friend bool operator==(const SplitBatch&, const SplitBatch&) = default;
};

class BatchSharding {
 public:
  // `bounds` split the batch: dimension 0 of every input of rank 1 or more that `whole_inputs` does not name.
  BatchSharding(mlir::func::FuncOp function, llvm::ArrayRef<int64_t> bounds,
                llvm::ArrayRef<std::string> whole_inputs);

  const SplitBatch& of(mlir::Value value) const;
  const ir::ShardingRule* ruleOf(mlir::Operation* op) const;
  // The sharding that the operand needs for its op to run by its rule.
  SplitBatch wanted(mlir::Operation* op, unsigned operand) const;
  bool feedsBatch(mlir::Value value) const { return feeds_.contains(value); }

 private:
  void visit(mlir::Operation* op);
  bool fits(mlir::Operation* op, const ir::ShardingRule& rule, llvm::ArrayRef<int64_t> bounds) const;
  void findFeeds(mlir::func::FuncOp function);

  llvm::DenseMap<mlir::Value, SplitBatch> shardings_;  // Only values that are split.
  llvm::DenseMap<mlir::Operation*, ir::ShardingRule> rules_;
  llvm::DenseMap<mlir::Operation*, llvm::SmallVector<int64_t>>
      bounds_;  // Bounds of the operands, for ops with a rule.
  llvm::DenseSet<mlir::Value> feeds_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_PARTITION_BATCH_SHARDING_H_
