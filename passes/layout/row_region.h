// What is computed from one large matrix product row by row, so that it can be computed for some rows at a time: the product,
// whatever works on its rows, and the products and sums that contract them away.
//
//   RowRegion region(matmul);
//   if (region.problem().empty()) for (mlir::Operation* op : region.ops()) region.ruleOf(op);    // how it runs on some rows
//
// In training the product is that of logits: the loss of each row, the logits' gradient, and two products that read that.
#ifndef SINTER_PASSES_LAYOUT_ROW_REGION_H_
#define SINTER_PASSES_LAYOUT_ROW_REGION_H_

#include <string>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter {

class RowRegion {
 public:
  // `product` must be of two matrices and have operand 0 by rows.
  explicit RowRegion(ir::MatmulOp product);

  // Why the rows cannot be computed some at a time; empty: they can, and the rest holds.
  const std::string& problem() const { return problem_; }
  int64_t rows() const { return type_.getDimSize(0); }

  // In program order, the product first.
  llvm::ArrayRef<mlir::Operation*> ops() const { return ops_.getArrayRef(); }
  bool contains(mlir::Operation* op) const { return ops_.contains(op); }
  const ir::SplitRule& ruleOf(mlir::Operation* op) const { return rules_.find(op)->second; }
  // Whether the value has at least half as many elements as the product: all of it is to be nowhere.
  bool isLarge(mlir::Value value) const;
  // Results that others read too, in program order: small ones by rows, and sums over all rows.
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

  mlir::Operation* product_;
  mlir::RankedTensorType type_;                 // Of the product.
  llvm::SmallVector<mlir::Operation*> later_;   // The product and what follows it in its block.
  llvm::DenseSet<mlir::Operation*> dependent_;  // Of those, what depends on the product.
  llvm::DenseMap<mlir::Value, int64_t> split_;  // The dimension of the rows.
  llvm::DenseMap<mlir::Operation*, ir::SplitRule> rules_;
  llvm::SetVector<mlir::Operation*> ops_;
  std::string problem_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_LAYOUT_ROW_REGION_H_
