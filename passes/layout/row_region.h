// RowRegion: the ops that can be computed a chunk of rows at a time, starting from one large matmul.
// They are the matmul, the ops that work on its rows, and the matmuls and sums that contract the rows.
//
//   RowRegion region(matmul);
//   if (region.problem().empty()) for (mlir::Operation* op : region.ops()) region.ruleOf(op);
//
// In training, the matmul gives the logits; the ops are each row's loss, the logits' gradient, and two
// matmuls that read it.
#ifndef SINTER_PASSES_LAYOUT_ROW_REGION_H_
#define SINTER_PASSES_LAYOUT_ROW_REGION_H_

#include <string>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/sharding_rule.h"

namespace sinter {

class RowRegion {
 public:
  // `matmul` must multiply two matrices, with the rows of the result in operand 0 (no transpose_a).
  explicit RowRegion(ir::MatmulOp matmul);

  // Why the rows cannot be computed in chunks. The other members are valid only if it is empty.
  const std::string& problem() const { return problem_; }
  int64_t rows() const { return type_.getDimSize(0); }

  // In program order, the matmul first.
  llvm::ArrayRef<mlir::Operation*> ops() const { return ops_.getArrayRef(); }
  bool contains(mlir::Operation* op) const { return ops_.contains(op); }
  const ir::ShardingRule& ruleOf(mlir::Operation* op) const { return rules_.find(op)->second; }
  // True if the value has at least half as many elements as the matmul's result. No such value may be whole
  // in memory.
  bool isLarge(mlir::Value value) const;
  // Results with readers outside the region, in program order: small ones by rows, and sums over all rows.
  llvm::SmallVector<mlir::Value> results() const;

 private:
  void findRules();
  void findOps();
  void addRowWork();
  void check();
  bool depends(mlir::Value value) const {
    return value.getDefiningOp() && dependent_.contains(value.getDefiningOp());
  }
  std::string problemOf(mlir::Operation* op) const;

  mlir::Operation* matmul_;
  mlir::RankedTensorType type_;                 // Type of the matmul's result.
  llvm::SmallVector<mlir::Operation*> later_;   // The matmul and the later ops of its block.
  llvm::DenseSet<mlir::Operation*> dependent_;  // Those of `later_` that depend on the matmul.
  llvm::DenseMap<mlir::Value, int64_t> split_;  // For each value: the dimension of the rows.
  llvm::DenseMap<mlir::Operation*, ir::ShardingRule> rules_;
  llvm::SetVector<mlir::Operation*> ops_;
  std::string problem_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_LAYOUT_ROW_REGION_H_
