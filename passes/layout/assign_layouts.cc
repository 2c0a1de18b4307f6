#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/passes/input_parts.h"
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

// True for ops on images that are still in the user's layout.
bool IsImageOp(Operation* op) {
  auto image = llvm::dyn_cast<ir::ImageOpInterface>(op);
  return image && image.getLayout() == ir::ImageLayout::nchw;
}

Value WeightsOf(Operation* op) {
  auto image = llvm::dyn_cast<ir::ImageOpInterface>(op);
  return image ? image.getWeights() : Value();
}

bool IsSplat(ir::ConstantOp op) {
  auto values = llvm::dyn_cast<mlir::DenseElementsAttr>(op.getValue());
  return values && values.isSplat();
}

// Returns the operands and results of `op` that must share one order. Empty if the op has no images or
// depends on their order (a reshape, a random op, a user's transpose).
SmallVector<Value> TiedBy(Operation* op, const ImageOrder& order) {
  SmallVector<Value> tied;
  // Each device gets its part of an input in the user's order, and converts only that part.
  auto copy = llvm::dyn_cast<ir::CopyOp>(op);
  if (IsInputPart(op) || (copy && copy.getCause() == ir::CopyCause::input)) return tied;
  if (!order.canExpress(op)) return tied;
  auto add_images = [&](mlir::ValueRange values) {
    for (Value value : values) {
      if (TypeOf(value).getRank() == 4 && value != WeightsOf(op)) tied.push_back(value);
    }
  };
  bool moves_all = llvm::isa<ir::PointwiseInterface, ir::PadOp, ir::SliceOp, ir::ConcatOp, ir::ReverseOp,
                             ir::CopyOp, ir::CloneOp>(op);
  bool makes = llvm::isa<ir::BroadcastOp, ir::IotaOp>(op) ||
               (llvm::isa<ir::ConstantOp>(op) && IsSplat(llvm::cast<ir::ConstantOp>(op)));
  if (IsImageOp(op) || moves_all) {
    add_images(op->getOperands());
    add_images(op->getResults());
  } else if (makes) {
    add_images(op->getResults());
  } else if (llvm::isa<ir::ReductionInterface>(op)) {
    add_images(op->getOperands());
  }
  return tied;
}

class Relayout {
 public:
  Relayout(mlir::func::FuncOp function, ir::ImageLayout layout) : function_(function), order_(layout) {}

  void run() {
    mark();
    SmallVector<Operation*> marked;
    for (Operation& op : function_.getBody().front()) {
      if (llvm::any_of(tied(&op), [&](Value v) { return changed_.contains(v); })) marked.push_back(&op);
    }
    for (Operation* op : marked) rewrite(op);
    if (!marked.empty()) simplifyTransposes();
  }

 private:
  SmallVector<Value> tied(Operation* op) const { return TiedBy(op, order_); }

  // Marks all values whose order follows the image ops'.
  void mark() {
    SmallVector<Operation*> work;
    for (Operation& op : function_.getBody().front()) {
      if (IsImageOp(&op)) work.push_back(&op);
    }
    while (!work.empty()) {
      for (Value value : tied(work.pop_back_val())) {
        if (!changed_.insert(value).second) continue;
        if (Operation* producer = value.getDefiningOp()) reach(producer, value, work);
        for (Operation* user : value.getUsers()) reach(user, value, work);
      }
    }
  }
  void reach(Operation* op, Value value, SmallVector<Operation*>& work) {
    if (llvm::is_contained(tied(op), value)) work.push_back(op);
  }

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
  llvm::DenseSet<Value> changed_;           // Values whose order follows the image ops'.
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
    ir::ImageLayout chosen = known ? *known : choose();
    if (known == ir::ImageLayout::nchw16n && mlir::failed(checkBlocks())) return signalPassFailure();
    if (chosen != ir::ImageLayout::nchw) Relayout(getOperation(), chosen).run();
  }

 private:
  // On a CPU: nchw16n if all image ops can be in it and one is a convolution, whose arithmetic pays for the
  // transposes.
  ir::ImageLayout choose() {
    bool convolves = false, fits = true;
    for (Operation& op : getOperation().getBody().front()) {
      if (!IsImageOp(&op)) continue;
      convolves |= static_cast<bool>(WeightsOf(&op));
      fits = fits && AgainstBlocks(&op).empty();
      const ir::TargetModel& target = ir::TargetModel::Of(&op);
      const bool is_low_precision = TypeOf(op.getOperand(0)).getElementTypeBitWidth() == 16;
      if (auto layout = is_low_precision ? target.low_precision_layout : target.f32_layout) return *layout;
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
