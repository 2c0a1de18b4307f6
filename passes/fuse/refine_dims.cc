#include "llvm/ADT/MapVector.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/passes/fuse/loop_dims.h"
#include "sinter/passes/fuse/refined_op.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_REFINEDIMS
#include "passes/passes.h.inc"

namespace {

using ir::ShapeOf;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Operation;
using mlir::Value;

class Refinement {
 public:
  explicit Refinement(mlir::Block& block) : block_(block), dims_(block) {}

  void run() {
    llvm::DenseSet<Operation*> absorbed;
    for (Operation& op : block_) {
      auto reshape = llvm::dyn_cast<ir::ReshapeOp>(op);
      if (reshape && dims_.mayAbsorb(reshape) && dims_.absorb(reshape)) absorbed.insert(&op);
    }
    dims_.alignReaders(block_);
    SmallVector<Operation*> old;
    for (Operation& op : block_) old.push_back(&op);
    for (Operation* op : old) {
      if (absorbed.contains(op) || (LoopDims::isRefinable(op) && changes(op))) rewrite(op);
    }
    replaceOtherUses();
    eraseDead(old);
  }

 private:
  SmallVector<int64_t> shapeOf(ArrayRef<DimFactors::Dim> dims) const { return dims_.factors().factors(dims); }

  bool changes(Operation* op) const {
    auto differs = [&](Value value, ArrayRef<DimFactors::Dim> dims) {
      return ShapeOf(value) != ArrayRef<int64_t>(shapeOf(dims));
    };
    return differs(op->getResult(0), dims_.of(op->getResult(0))) ||
           llvm::any_of(op->getOpOperands(), [&](mlir::OpOperand& operand) {
             return differs(operand.get(), dims_.of(operand)) || refined_.contains(operand.get());
           });
  }

  // Returns the operand with its factors.
  Value refined(mlir::OpBuilder& builder, mlir::OpOperand& operand) {
    if (auto known = refined_.find(operand.get()); known != refined_.end()) return known->second;
    const SmallVector<int64_t> shape = shapeOf(dims_.of(operand));
    if (ShapeOf(operand.get()) == ArrayRef<int64_t>(shape)) return operand.get();
    return ViewOf(builder, operand.get(), shape);
  }

  void rewrite(Operation* op) {
    ir::PlacedBuilder builder(op);
    SmallVector<Value> operands;
    for (mlir::OpOperand& operand : op->getOpOperands()) operands.push_back(refined(builder, operand));
    Value& result = refined_[op->getResult(0)];
    if (!llvm::isa<ir::ReshapeOp>(op)) {
      result = BuildRefined(builder, op, operands, dims_);
      return;
    }
    // Only dimensions of size 1 that are pinned still differ.
    result = ViewOf(builder, operands[0], shapeOf(dims_.of(op->getResult(0))));
  }

  // Gives ops that were not rewritten the values in their old shapes.
  void replaceOtherUses() {
    for (auto& [value, result] : refined_) {
      Value in_old_shape;
      for (mlir::OpOperand& use : llvm::make_early_inc_range(value.getUses())) {
        Operation* user = use.getOwner();
        if (user->getNumResults() == 1 && refined_.contains(user->getResult(0))) continue;
        if (llvm::isa<ir::ReshapeOp>(user)) {
          use.set(result);
          continue;
        }
        if (!in_old_shape) {
          ir::PlacedBuilder builder(value.getDefiningOp());
          builder.setInsertionPointAfterValue(result);
          in_old_shape = result.getType() == value.getType()
                             ? result
                             : builder.create<ir::ReshapeOp>(value.getLoc(), value.getType(), result);
        }
        use.set(in_old_shape);
      }
    }
  }

  static void eraseDead(ArrayRef<Operation*> old) {
    for (Operation* op : llvm::reverse(old)) {
      if (op->use_empty() && mlir::isMemoryEffectFree(op) && !op->hasTrait<mlir::OpTrait::IsTerminator>())
        op->erase();
    }
  }

  mlir::Block& block_;
  LoopDims dims_;
  llvm::MapVector<Value, Value> refined_;  // By the value in its old shape.
};

class RefineDimsPass : public impl::RefineDimsBase<RefineDimsPass> {
 public:
  using RefineDimsBase::RefineDimsBase;
  void runOnOperation() override {
    if (!getOperation().isExternal()) Refinement(getOperation().getBody().front()).run();
  }
};

}  // namespace
}  // namespace sinter
