#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/reshape_chain.h"

namespace sinter {

#define GEN_PASS_DEF_DROPUNITDIMS
#include "passes/passes.h.inc"

namespace {

using ir::ShapeOf;
using ir::TypeOf;
using llvm::ArrayRef;
using mlir::Operation;
using mlir::RankedTensorType;
using mlir::Value;

bool HasUnit(Value value) { return !ShapeOf(value).empty() && ShapeOf(value).front() == 1; }
RankedTensorType WithoutUnit(Value value) { return TypeOf(value).clone(ShapeOf(value).drop_front()); }

// Returns x if `value` is a reshape of x that adds a leading dimension of size 1; else null.
Value BareValue(Value value) {
  auto reshape = value.getDefiningOp<ir::ReshapeOp>();
  return reshape && HasUnit(value) && reshape.getX().getType() == WithoutUnit(value) ? Value(reshape.getX())
                                                                                     : Value();
}

// Renumbers the dimensions after the first for the shape without the first.
llvm::SmallVector<int64_t> OneLess(ArrayRef<int64_t> dims) {
  llvm::SmallVector<int64_t> less;
  for (int64_t d : dims) {
    if (d > 0) less.push_back(d - 1);
  }
  return less;
}

class UnitDims {
 public:
  void run(mlir::Block& block) {
    for (Operation& op : llvm::make_early_inc_range(block.without_terminator())) visit(&op);
    for (Operation& op : llvm::make_early_inc_range(llvm::reverse(block))) {
      const bool is_dead = op.use_empty() && mlir::isMemoryEffectFree(&op);
      if (is_dead && !op.hasTrait<mlir::OpTrait::IsTerminator>()) op.erase();
    }
  }

 private:
  void visit(Operation* op) {
    const bool reads_unit =
        llvm::any_of(op->getOperands(), [](Value operand) { return static_cast<bool>(BareValue(operand)); });
    if (!reads_unit) return;
    if (auto reshape = llvm::dyn_cast<ir::ReshapeOp>(op)) return visitReshape(reshape);
    if (auto sum = llvm::dyn_cast<ir::SumOp>(op)) return visitSum(sum);
    if (llvm::isa<ir::PointwiseInterface>(op) && op->getNumResults() == 1) visitPointwise(op);
  }

  void visitReshape(ir::ReshapeOp op) {
    Value bare = BareValue(op.getX());
    if (bare.getType() == op.getType()) {
      op.replaceAllUsesWith(bare);
      op.erase();
    } else {
      op.getXMutable().assign(bare);
    }
  }

  void visitSum(ir::SumOp op) {
    ir::PlacedBuilder builder(op);
    Value sum = BareValue(op.getX());
    const bool keeps_unit = !llvm::is_contained(op.getDims(), 0);
    RankedTensorType type = keeps_unit ? WithoutUnit(op) : op.getType();
    if (llvm::SmallVector<int64_t> dims = OneLess(op.getDims()); !dims.empty()) {
      sum = builder.create<ir::SumOp>(op.getLoc(), type, sum, dims);
    }
    if (keeps_unit) sum = withUnit(builder, sum, op);
    op.replaceAllUsesWith(sum);
    op.erase();
  }

  void visitPointwise(Operation* op) {
    ir::PlacedBuilder builder(op);
    Value result = CloneInShape(builder, op, ShapeOf(op->getResult(0)).drop_front(),
                                [&](Value operand) { return bare(builder, operand, op); });
    op->getResult(0).replaceAllUsesWith(withUnit(builder, result, op));
    op->erase();
  }

  // Returns `operand` of `reader` without its unit dimension.
  Value bare(mlir::OpBuilder& builder, Value operand, Operation* reader) {
    if (Value known = BareValue(operand)) return known;
    const RankedTensorType type = WithoutUnit(operand);
    if (auto constant = operand.getDefiningOp<ir::ConstantOp>()) {
      if (auto splat = llvm::dyn_cast<mlir::SplatElementsAttr>(constant.getValue())) {
        return builder.create<ir::ConstantOp>(constant.getLoc(), splat.resizeSplat(type));
      }
    }
    if (auto broadcast = operand.getDefiningOp<ir::BroadcastOp>(); broadcast && isOrdered(broadcast)) {
      Value x = broadcast.getX();
      if (llvm::is_contained(broadcast.getDims(), 0)) x = bare(builder, x, broadcast);
      return builder.create<ir::BroadcastOp>(broadcast.getLoc(), type, x, OneLess(broadcast.getDims()));
    }
    return builder.create<ir::ReshapeOp>(reader->getLoc(), type, operand);
  }

  // True if the operand dimension that becomes the unit dimension, if any, is its first.
  static bool isOrdered(ir::BroadcastOp op) {
    return !llvm::is_contained(op.getDims(), 0) || op.getDims().front() == 0;
  }

  Value withUnit(mlir::OpBuilder& builder, Value x, Operation* like) {
    return builder.create<ir::ReshapeOp>(like->getLoc(), like->getResult(0).getType(), x);
  }
};

class DropUnitDimsPass : public impl::DropUnitDimsBase<DropUnitDimsPass> {
 public:
  using DropUnitDimsBase::DropUnitDimsBase;
  void runOnOperation() override {
    if (!getOperation().isExternal()) UnitDims().run(getOperation().getBody().front());
  }
};

}  // namespace
}  // namespace sinter
