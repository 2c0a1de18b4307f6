#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/fusion/fusion_domain.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/reshape_chain.h"

namespace sinter {

#define GEN_PASS_DEF_MOVERESHAPES
#include "passes/passes.h.inc"

namespace {

using llvm::ArrayRef;
using mlir::Operation;
using mlir::Value;

bool IsFusible(Operation* op) {
  return llvm::isa<ir::FusibleInterface, ir::ReductionInterface>(op) && !llvm::isa<ir::ReshapeOp>(op);
}

// Moves the reshape before the pointwise ops that feed it.
bool MoveUp(ir::ReshapeOp reshape) {
  Value x = reshape.getX();
  if (IsInMemory(x) || !llvm::any_of(reshape->getUsers(), IsFusible)) return false;
  ArrayRef<int64_t> shape = reshape.getType().getShape();
  if (!CanReshape(x, shape)) return false;
  ir::PlacedBuilder builder(reshape);
  reshape.replaceAllUsesWith(Reshape(builder, x, shape));
  reshape.erase();
  return true;
}

// Moves the reshape after the pointwise op that is its only reader, and returns the new reshape; null if it
// cannot move.
ir::ReshapeOp MoveDown(ir::ReshapeOp reshape) {
  Value x = reshape.getX();
  if (IsInMemory(x) || !x.getDefiningOp() || !IsFusible(x.getDefiningOp()) || !reshape->hasOneUse())
    return nullptr;
  Operation* user = *reshape->user_begin();
  if (!llvm::isa<ir::PointwiseInterface>(user) || user->getNumResults() != 1) return nullptr;
  ArrayRef<int64_t> shape = ir::TypeOf(x).getShape();
  for (Value operand : user->getOperands()) {
    if (operand != reshape.getResult() && !CanReshape(operand, shape)) return nullptr;
  }
  ir::PlacedBuilder builder(user);
  Value moved = CloneInShape(builder, user, shape, [&](Value operand) {
    return operand == reshape.getResult() ? x : Reshape(builder, operand, shape);
  });
  auto below = builder.create<ir::ReshapeOp>(reshape.getLoc(), user->getResult(0).getType(), moved);
  user->getResult(0).replaceAllUsesWith(below);
  user->erase();
  reshape.erase();
  return below;
}

class MoveReshapesPass : public impl::MoveReshapesBase<MoveReshapesPass> {
 public:
  using MoveReshapesBase::MoveReshapesBase;
  void runOnOperation() override {
    // Moving down keeps program order, so several reshapes of one chain meet at its end.
    llvm::SmallVector<ir::ReshapeOp> reshapes;
    getOperation().walk([&](ir::ReshapeOp reshape) {
      if (!ir::IsUnitReshape(reshape)) reshapes.push_back(reshape);
    });
    for (ir::ReshapeOp reshape : reshapes) {
      if (MoveUp(reshape)) continue;
      for (ir::ReshapeOp at = reshape; at; at = MoveDown(at)) {
      }
    }
    // Erases the old ops of moved reshapes.
    for (mlir::Block& block : getOperation().getBody()) {
      for (Operation& op : llvm::make_early_inc_range(llvm::reverse(block))) {
        if (op.use_empty() && mlir::isMemoryEffectFree(&op) && !op.hasTrait<mlir::OpTrait::IsTerminator>())
          op.erase();
      }
    }
  }
};

}  // namespace
}  // namespace sinter
