#include "sinter/ir/ops.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "passes/passes.h.inc"

namespace {

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Operation;
using mlir::RankedTensorType;
using mlir::Value;

// Dimension i of the new order is dimension kToNhwc[i] of the old; dimension d of the old is kNewPlace[d] of
// the new.
constexpr int64_t kToNhwc[] = {0, 2, 3, 1};
constexpr int64_t kNewPlace[] = {0, 3, 1, 2};

RankedTensorType TypeOf(Value value) { return llvm::cast<RankedTensorType>(value.getType()); }

SmallVector<int64_t> Permuted(ArrayRef<int64_t> by_dimension) {
  SmallVector<int64_t> result;
  for (int64_t d : kToNhwc) result.push_back(by_dimension[d]);
  return result;
}
SmallVector<int64_t> NewPlaces(ArrayRef<int64_t> dims) {
  SmallVector<int64_t> result;
  for (int64_t d : dims) result.push_back(kNewPlace[d]);
  return result;
}
RankedTensorType Permuted(RankedTensorType type) {
  return RankedTensorType::get(Permuted(type.getShape()), type.getElementType());
}

// Convolutions, their gradients and pools: the ops that have a layout, and only while it is the user's.
bool IsImageOp(Operation* op) {
  auto has_name = [](mlir::StringAttr name) { return name == "layout"; };
  if (!llvm::isa<ir::LibraryInterface>(op) || llvm::none_of(op->getName().getAttributeNames(), has_name))
    return false;
  auto layout = op->getAttrOfType<ir::ImageLayoutAttr>("layout");
  return !layout || layout.getValue() == ir::ImageLayout::nchw;
}

Value WeightsOf(Operation* op) {
  return llvm::TypeSwitch<Operation*, Value>(op)
      .Case<ir::Conv2dOp, ir::Conv2dInputGradOp>([](auto conv) { return conv.getWeights(); })
      .Case([](ir::Conv2dWeightGradOp conv) { return conv.getResult(); })
      .Default(Value());
}

bool IsSplat(ir::ConstantOp op) {
  auto values = llvm::dyn_cast<mlir::DenseElementsAttr>(op.getValue());
  return values && values.isSplat();
}

// The operands and results of `op` that must all be in one order, so that changing one means changing all.
// None when the op does not carry images or depends on their order (a reshape, a random op, a user's
// transpose).
SmallVector<Value> Tied(Operation* op) {
  SmallVector<Value> tied;
  auto add_images = [&](mlir::ValueRange values) {
    for (Value value : values) {
      if (TypeOf(value).getRank() == 4 && value != WeightsOf(op)) tied.push_back(value);
    }
  };
  bool moves_all = llvm::isa<ir::PointwiseInterface, ir::PadOp, ir::SliceOp, ir::ConcatOp, ir::ReverseOp>(op);
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
  explicit Relayout(mlir::func::FuncOp function) : function_(function) {}

  void run() {
    mark();
    SmallVector<Operation*> marked;
    for (Operation& op : function_.getBody().front()) {
      if (llvm::any_of(Tied(&op), [&](Value v) { return changed_.contains(v); })) marked.push_back(&op);
    }
    for (Operation* op : marked) rewrite(op);
    if (!marked.empty()) simplifyTransposes();
  }

 private:
  // Spreads from the image ops over everything whose order follows theirs.
  void mark() {
    SmallVector<Operation*> work;
    for (Operation& op : function_.getBody().front()) {
      if (IsImageOp(&op)) work.push_back(&op);
    }
    while (!work.empty()) {
      for (Value value : Tied(work.pop_back_val())) {
        if (!changed_.insert(value).second) continue;
        if (Operation* producer = value.getDefiningOp()) reach(producer, value, work);
        for (Operation* user : value.getUsers()) reach(user, value, work);
      }
    }
  }
  void reach(Operation* op, Value value, SmallVector<Operation*>& work) {
    if (llvm::is_contained(Tied(op), value)) work.push_back(op);
  }

  // `value` in the new order: from the op that made it, else by a transpose beside its definition.
  Value inNewOrder(Value value) {
    Value& result = new_order_[value];
    if (!result) {
      mlir::OpBuilder builder(function_.getContext());
      builder.setInsertionPointAfterValue(value);
      result = transpose(builder, value, kToNhwc);
    }
    return result;
  }

  static Value transpose(mlir::OpBuilder& builder, Value value, ArrayRef<int64_t> permutation) {
    ir::GraphBuilder b(builder, value.getLoc());
    return b.transpose(b.wrap(value), permutation).value;
  }

  void rewrite(Operation* op) {
    mlir::OpBuilder builder(op);
    SmallVector<Value> tied = Tied(op);
    auto is_tied = [&](Value v) { return llvm::is_contained(tied, v); };
    Operation* copy = builder.clone(*op);
    for (mlir::OpOperand& operand : copy->getOpOperands()) {
      if (is_tied(op->getOperand(operand.getOperandNumber()))) operand.set(inNewOrder(operand.get()));
    }
    for (auto [from, to] : llvm::zip_equal(op->getResults(), copy->getResults())) {
      if (is_tied(from)) to.setType(Permuted(TypeOf(from)));
    }
    adapt(copy);
    for (auto [from, to] : llvm::zip_equal(op->getResults(), copy->getResults())) {
      Value old_order = is_tied(from) ? transpose(builder, to, kNewPlace) : reorderReduced(builder, op, to);
      if (is_tied(from)) new_order_[old_order] = to;
      from.replaceAllUsesWith(old_order);
    }
    op->erase();
  }

  // Attributes that name dimensions follow them to their new places.
  static void adapt(Operation* op) {
    mlir::Builder builder(op->getContext());
    if (IsImageOp(op)) {
      op->setAttr("layout", ir::ImageLayoutAttr::get(op->getContext(), ir::ImageLayout::nhwc));
      return;
    }
    llvm::TypeSwitch<Operation*>(op)
        .Case([](ir::PadOp pad) {
          pad.setLow(Permuted(pad.getLow()));
          pad.setHigh(Permuted(pad.getHigh()));
          pad.setInterior(Permuted(pad.getInterior()));
        })
        .Case([](ir::SliceOp slice) {
          slice.setStarts(Permuted(slice.getStarts()));
          slice.setLimits(Permuted(slice.getLimits()));
          slice.setStrides(Permuted(slice.getStrides()));
        })
        .Case<ir::ConcatOp, ir::IotaOp>([](auto along) { along.setDim(kNewPlace[along.getDim()]); })
        .Case<ir::ReverseOp, ir::BroadcastOp>([](auto along) { along.setDims(NewPlaces(along.getDims())); })
        .Case([](ir::ConstantOp constant) {
          auto values = llvm::cast<mlir::DenseElementsAttr>(constant.getValue());
          constant.setValueAttr(values.resizeSplat(constant.getType()));
        })
        .Case([&](ir::ReductionInterface reduction) {
          SmallVector<int64_t> dims = NewPlaces(reduction.getReducedDims());
          llvm::sort(dims);
          if (op->hasAttr("dim")) {
            op->setAttr("dim", builder.getI64IntegerAttr(dims[0]));
          } else {
            op->setAttr("dims", builder.getDenseI64ArrayAttr(dims));
          }
        });
  }

  // The result of a reduction has the remaining dimensions in the new order; other results are as they were.
  static Value reorderReduced(mlir::OpBuilder& builder, Operation* old, Value result) {
    auto reduction = llvm::dyn_cast<ir::ReductionInterface>(old);
    if (!reduction) return result;
    SmallVector<int64_t> kept_old, kept_new, permutation;
    for (int64_t d = 0; d < 4; ++d) {
      if (!llvm::is_contained(reduction.getReducedDims(), d)) kept_old.push_back(d);
      if (!llvm::is_contained(reduction.getReducedDims(), kToNhwc[d])) kept_new.push_back(kToNhwc[d]);
    }
    if (kept_old == kept_new) return result;  // The usual case.
    for (int64_t d : kept_old) permutation.push_back(llvm::find(kept_new, d) - kept_new.begin());
    SmallVector<int64_t> shape;
    for (int64_t d : kept_new) shape.push_back(TypeOf(old->getOperand(0)).getDimSize(d));
    result.setType(RankedTensorType::get(shape, TypeOf(result).getElementType()));
    return transpose(builder, result, permutation);
  }

  // Joins transposes of transposes, which cancels what two neighbours in the new order had between them, and
  // turns those that move no element into reshapes.
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
    for (ir::TransposeOp op : llvm::reverse(transposes)) {
      if (op.use_empty()) {
        op.erase();
      } else if (movesNothing(op)) {
        mlir::OpBuilder builder(op);
        op.replaceAllUsesWith(
            builder.create<ir::ReshapeOp>(op.getLoc(), op.getType(), op.getX()).getResult());
        op.erase();
      }
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
  llvm::DenseSet<Value> changed_;           // Values whose order follows the image ops'.
  llvm::DenseMap<Value, Value> new_order_;  // A value in the user's order to the same in the new one.
};

class AssignLayoutsPass : public impl::AssignLayoutsBase<AssignLayoutsPass> {
 public:
  using AssignLayoutsBase::AssignLayoutsBase;

  void runOnOperation() override {
    if (layout != "nchw" && layout != "nhwc") {
      getOperation().emitError() << "there is no layout '" << layout << "'; expected nhwc or nchw";
      return signalPassFailure();
    }
    if (layout == "nhwc" && !getOperation().isDeclaration()) Relayout(getOperation()).run();
  }
};

}  // namespace
}  // namespace sinter
