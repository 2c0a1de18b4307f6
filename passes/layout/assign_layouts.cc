#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/passes/layout/image_groups.h"
#include "sinter/passes/layout/image_order.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "passes/passes.h.inc"

namespace {

using ir::TypeOf;
using llvm::SmallVector;
using mlir::Operation;
using mlir::RankedTensorType;
using mlir::Value;

class Relayout {
 public:
  Relayout(mlir::func::FuncOp function, const ImageOrder& order) : function_(function), order_(order) {}

  // Moves the values of these groups, whose image ops are in the user's layout, to the new order.
  void run(llvm::ArrayRef<ImageGroup> groups) {
    for (const ImageGroup& group : groups) changed_.insert(group.values.begin(), group.values.end());
    SmallVector<Operation*> marked;
    for (Operation& op : function_.getBody().front()) {
      if (llvm::any_of(tied(&op), [&](Value v) { return changed_.contains(v); })) marked.push_back(&op);
    }
    for (Operation* op : marked) rewrite(op);
    if (!marked.empty()) simplifyTransposes();
  }

 private:
  SmallVector<Value> tied(Operation* op) const { return TiedBy(op, order_); }

  // Returns `value` in the new order: the converted op's result, else a transpose after its definition.
  Value inNewOrder(Value value) {
    Value& result = new_order_[value];
    if (!result) {
      ir::PlacedBuilder builder(value);
      result = order_.fromUser(builder, value);
    }
    return result;
  }

  void rewrite(Operation* op) {
    ir::PlacedBuilder builder(op);
    SmallVector<Value> images = tied(op);
    auto is_image = [&](Value v) { return llvm::is_contained(images, v); };
    Operation* copy = builder.clone(*op);
    for (mlir::OpOperand& operand : copy->getOpOperands()) {
      if (is_image(op->getOperand(operand.getOperandNumber()))) operand.set(inNewOrder(operand.get()));
    }
    for (auto [from, to] : llvm::zip_equal(op->getResults(), copy->getResults())) {
      if (is_image(from)) to.setType(order_.typeOf(TypeOf(from)));
    }
    if (IsImageOp(copy)) {
      llvm::cast<ir::ImageOpInterface>(copy).setLayout(order_.layout());
    } else {
      order_.adapt(copy);
    }
    for (auto [from, to] : llvm::zip_equal(op->getResults(), copy->getResults())) {
      Value users = to;
      if (is_image(from)) {
        users = order_.toUser(builder, to);
        new_order_[users] = to;
      } else if (llvm::isa<ir::ReductionInterface>(op)) {
        users = order_.reducedToUser(builder, op, to);
      }
      from.replaceAllUsesWith(users);
    }
    op->erase();
  }

  // Composes consecutive transposes, which cancels them between two ops in the new order. Transposes that
  // move no element become reshapes.
  void simplifyTransposes() {
    SmallVector<ir::TransposeOp> transposes;
    function_.walk([&](ir::TransposeOp op) { transposes.push_back(op); });
    for (ir::TransposeOp op : transposes) {
      if (auto inner = op.getX().getDefiningOp<ir::TransposeOp>()) {
        SmallVector<int64_t> joined;
        for (int64_t d : op.getPermutation()) joined.push_back(inner.getPermutation()[d]);
        op.setPermutation(joined);
        op.getXMutable().assign(inner.getX());
      }
      if (llvm::is_sorted(op.getPermutation())) op.replaceAllUsesWith(op.getX());
    }
    for (ir::TransposeOp op : transposes) {
      if (!movesNothing(op)) continue;
      ir::PlacedBuilder builder(op);
      op.replaceAllUsesWith(builder.create<ir::ReshapeOp>(op.getLoc(), op.getType(), op.getX()).getResult());
    }
    for (Operation& op : llvm::make_early_inc_range(llvm::reverse(function_.getBody().front()))) {
      if (llvm::isa<ir::TransposeOp, ir::ReshapeOp>(op) && op.use_empty()) op.erase();
    }
  }

  static bool movesNothing(ir::TransposeOp op) {
    SmallVector<int64_t> moved;
    for (int64_t d : op.getPermutation()) {
      if (TypeOf(op.getX()).getDimSize(d) != 1) moved.push_back(d);
    }
    return llvm::is_sorted(moved);
  }

  mlir::func::FuncOp function_;
  ImageOrder order_;
  llvm::DenseSet<Value> changed_;           // Values of the groups.
  llvm::DenseMap<Value, Value> new_order_;  // From a value in the user's order to the value in the new order.
};

// Returns why the image op cannot or should not be in layout nchw16n; empty if it can.
std::string AgainstBlocks(Operation* op) {
  const ir::TargetModel& target = ir::TargetModel::Of(op);
  if (!target.has_blocked_images) return "it runs on a GPU";
  // Larger weights do not stay in cache together with the images of a block.
  const int64_t most_weights = target.cached_bytes / static_cast<int64_t>(sizeof(float));
  Value weights = WeightsOf(op);
  for (mlir::ValueRange values : {mlir::ValueRange(op->getOperands()), mlir::ValueRange(op->getResults())}) {
    for (Value value : values) {
      RankedTensorType type = TypeOf(value);
      if (type.getRank() != 4 || type.getElementType().isInteger(8)) continue;  // A bias; positions.
      if (!type.getElementType().isF32()) return "its images are not of f32";
      if (value == weights) {
        if (type.getNumElements() > most_weights) return "its weights are larger than 1 MiB";
      } else if (type.getNumElements() == 0) {
        return "its images are empty";
      } else if (type.getDimSize(0) % ImageOrder::kBlock != 0) {
        return "its batch is " + std::to_string(type.getDimSize(0)) + ", not a multiple of 16";
      }
    }
  }
  return llvm::cast<ir::ImageOpInterface>(op).getGroups() == 1 ? "" : "it has groups";
}

class AssignLayoutsPass : public impl::AssignLayoutsBase<AssignLayoutsPass> {
 public:
  using AssignLayoutsBase::AssignLayoutsBase;

  void runOnOperation() override {
    std::optional<ir::ImageLayout> known = ir::symbolizeImageLayout(layout);
    if (!known && layout != "auto") {
      getOperation().emitError() << "there is no layout '" << layout
                                 << "'; expected auto, nchw, nhwc or nchw16n";
      return signalPassFailure();
    }
    if (getOperation().isDeclaration()) return;
    if (known == ir::ImageLayout::nchw16n && mlir::failed(checkBlocks())) return signalPassFailure();
    const bool weighs = !known && weighsLayouts();
    const ir::ImageLayout chosen = known ? *known : weighs ? ir::ImageLayout::nhwc : choose();
    if (chosen == ir::ImageLayout::nchw) return;
    const ImageOrder order(chosen);
    SmallVector<ImageGroup> groups = ImageGroupsOf(getOperation(), order);
    if (weighs)
      llvm::erase_if(groups, [&](const ImageGroup& group) {
        return FasterLayout(group, order) == ir::ImageLayout::nchw;
      });
    Relayout(getOperation(), order).run(groups);
  }

 private:
  // True if the image ops are on devices that compute in nchw and in nhwc, each at its own speed.
  bool weighsLayouts() {
    for (Operation& op : getOperation().getBody().front()) {
      if (!IsImageOp(&op)) continue;
      const ir::TargetModel& target = ir::TargetModel::Of(&op);
      return target.low_precision_layout.has_value() && target.f32_layout.has_value();
    }
    return false;
  }

  // On a CPU: nchw16n if all image ops can be in it and one is a convolution, whose arithmetic pays for the
  // transposes.
  ir::ImageLayout choose() {
    bool convolves = false, fits = true;
    for (Operation& op : getOperation().getBody().front()) {
      if (!IsImageOp(&op)) continue;
      convolves |= static_cast<bool>(WeightsOf(&op));
      fits = fits && AgainstBlocks(&op).empty();
    }
    return convolves && fits ? ir::ImageLayout::nchw16n : ir::ImageLayout::nhwc;
  }

  mlir::LogicalResult checkBlocks() {
    for (Operation& op : getOperation().getBody().front()) {
      if (!IsImageOp(&op)) continue;
      std::string reason = AgainstBlocks(&op);
      if (reason.empty()) continue;
      return op.emitOpError() << "cannot be in layout nchw16n: " << reason << "; choose auto or nhwc";
    }
    return mlir::success();
  }
};

}  // namespace
}  // namespace sinter
