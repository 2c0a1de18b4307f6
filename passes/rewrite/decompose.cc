#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/library/attention_shape.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_DECOMPOSE
#include "passes/passes.h.inc"

namespace {

using mlir::Operation;
using mlir::Value;

// x, or what it is a cast of to a wider type and back.
Value Unwidened(Value x) {
  auto narrow = x.getDefiningOp<ir::CastOp>();
  auto wide = narrow ? narrow.getX().getDefiningOp<ir::CastOp>() : ir::CastOp();
  if (!wide || wide.getX().getType() != x.getType()) return x;
  return ir::IsWideningCast(x.getType(), wide.getType()) ? wide.getX() : x;
}

// The tensor of which x is a transpose of heads and positions; null if there is none.
Value ByHead(Value x) {
  auto transpose = x.getDefiningOp<ir::TransposeOp>();
  const bool swaps = transpose && transpose.getPermutation() == llvm::ArrayRef<int64_t>({0, 2, 1, 3});
  return swaps ? Unwidened(transpose.getX()) : Value();
}

// True if the op is a cast or a transpose that nothing but the attention reads, directly or through others.
bool FeedsAlone(Operation* op, Operation* attention) {
  if (!llvm::isa<ir::CastOp, ir::TransposeOp>(op)) return false;
  return llvm::all_of(op->getUsers(),
                      [&](Operation* user) { return user == attention || FeedsAlone(user, attention); });
}

// The slice by which x is some adjacent heads of a tensor [B, T, HT, D]; null if there is none.
ir::SliceOp SliceOfHeads(Value x) {
  auto slice = x.getDefiningOp<ir::SliceOp>();
  if (!slice) return {};
  const llvm::ArrayRef<int64_t> whole = slice.getX().getType().getShape();
  for (int64_t i = 0; i < 4; ++i) {
    const bool is_whole = slice.getStarts()[i] == 0 && slice.getLimits()[i] == whole[i];
    if (slice.getStrides()[i] != 1 || (i != 2 && !is_whole)) return {};
  }
  return slice;
}

// The row [B, 1, HN, D] of which a cache [B, HK, S, D] takes some heads, from `first` on, at a position.
struct NewRow {
  ir::ScatterOp scatter;
  Value row;
  int64_t first = 0;
};

// Returns the row that `cache` takes before the attention, its only change; nullopt if there is none.
std::optional<NewRow> NewRowOf(Value cache, ir::AttentionOp attention, ir::GraphBuilder& b) {
  auto scatter = cache.getDefiningOp<ir::ScatterOp>();
  if (!scatter || scatter.getKind() != ir::ScatterKind::set || scatter.getDim() != 2 ||
      ir::TypeOf(scatter.getIndices()).getShape() != llvm::ArrayRef<int64_t>({1}) ||
      scatter->getBlock() != attention->getBlock()) {
    return std::nullopt;
  }
  // The new cache comes into being at the attention: nothing else may read it before.
  for (Operation* user : scatter->getUsers()) {
    const bool is_own = FeedsAlone(user, attention);
    if (!is_own && (user->getBlock() != attention->getBlock() || user->isBeforeInBlock(attention))) {
      return std::nullopt;
    }
  }
  Value update = scatter.getUpdates();
  auto narrowed = update.getDefiningOp<ir::CastOp>();
  const Value turned = ByHead(narrowed ? narrowed.getX() : update);
  NewRow row = {scatter, {}, 0};
  const mlir::Type element = ir::TypeOf(update).getElementType();
  if (!turned) {
    const llvm::ArrayRef<int64_t> shape = ir::TypeOf(update).getShape();
    row.row = b.reshape(b.wrap(update), {shape[0], 1, shape[1], shape[3]}).value;
    return row;
  }
  auto widened = turned.getDefiningOp<ir::CastOp>();
  const bool is_plain = widened && ir::TypeOf(widened.getX()).getElementType() == element &&
                        ir::IsWideningCast(element, widened.getType());
  row.row = is_plain ? widened.getX() : b.cast(b.wrap(turned), element).value;
  if (ir::SliceOp slice = SliceOfHeads(row.row)) {
    row.row = slice.getX();
    row.first = slice.getStarts()[2];
  }
  return row;
}

// Makes the attention one of few queries, which also writes the caches if they take one position.
void MakeFewQueries(ir::AttentionOp op, ir::GraphBuilder& b) {
  llvm::SmallVector<Value> inputs(op.getInputs());
  const int64_t heads = op.getResult().getType().getDimSize(2);
  int64_t first = 0;
  if (ir::SliceOp slice = SliceOfHeads(inputs[0])) {
    inputs[0] = slice.getX();
    first = slice.getStarts()[2];
  }
  const Value keys = ByHead(inputs[1]), values = ByHead(inputs[2]);
  const bool by_head = keys && values;
  if (by_head) inputs[1] = keys, inputs[2] = values;
  std::optional<NewRow> key, value;
  if (by_head && keys != values) key = NewRowOf(keys, op, b), value = NewRowOf(values, op, b);
  llvm::SmallVector<Value> rows;
  llvm::SmallVector<mlir::Type> caches;
  Value position;
  if (key && value && key->scatter.getIndices() == value->scatter.getIndices()) {
    rows = {key->row, value->row}, position = key->scatter.getIndices();
    caches = {keys.getType(), values.getType()};
    inputs[1] = key->scatter.getX(), inputs[2] = value->scatter.getX();
  }
  auto few = b.builder().create<ir::FewQueriesAttentionOp>(
      b.loc(), op.getResult().getType(), caches, inputs, op.getBias(), rows, position, op.getScale(),
      static_cast<uint64_t>(heads), static_cast<uint64_t>(first), static_cast<uint64_t>(key ? key->first : 0),
      static_cast<uint64_t>(value ? value->first : 0), by_head, op.getCausal(), op.getWindow());
  op.getResult().replaceAllUsesWith(few.getResult());
  if (rows.empty()) return;
  for (auto [scatter, cache] :
       {std::pair(key->scatter, few.getCaches()[0]), std::pair(value->scatter, few.getCaches()[1])}) {
    mlir::Value(scatter.getResult()).replaceUsesWithIf(cache, [&](mlir::OpOperand& use) {
      return use.getOwner()->getBlock() != few->getBlock() || few->isBeforeInBlock(use.getOwner());
    });
  }
}

class DecomposePass : public impl::DecomposeBase<DecomposePass> {
 public:
  using DecomposeBase::DecomposeBase;

  // Decompositions may use composites themselves, so this repeats until none is left.
  void runOnOperation() override {
    ir::DeviceAttr unplaced = ir::DeviceAttr::parse(&getContext(), device.getValue());
    if (!unplaced) {
      getOperation().emitError() << "\"" << device.getValue()
                                 << "\" is no device; expected one such as gpu:0";
      return signalPassFailure();
    }
    for (;;) {
      llvm::SmallVector<ir::CompositeInterface> composites;
      getOperation().walk([&](ir::CompositeInterface op) {
        if (!staysWhole(op, unplaced)) composites.push_back(op);
      });
      if (composites.empty()) break;
      for (ir::CompositeInterface op : composites) {
        ir::PlacedBuilder at(op);
        ir::GraphBuilder b(at, op->getLoc());
        if (auto attention = llvm::dyn_cast<ir::AttentionOp>(*op);
            attention && hasFewQueries(attention, unplaced)) {
          MakeFewQueries(attention, b);
        } else {
          op->replaceAllUsesWith(op.decompose(b));
        }
        op->erase();
      }
    }
  }

 private:
  // Returns why the target's library cannot compute the attention; empty if it can.
  std::string againstWhole(const ir::TargetModel& target, mlir::ValueRange inputs, double scale) {
    const ir::AttentionShape shape = ir::AttentionShape::Of(inputs);
    std::string reason = target.libraries->againstAttention(shape, scale);
    if (!reason.empty()) return reason;
    if (shape.width > widestHead) {
      return "its heads have a width of " + std::to_string(shape.width) +
             ", and some GPUs of the plan take at most " + std::to_string(widestHead);
    }
    return shape.batch == 0 ? "the batch is empty" : "";
  }

  static const ir::TargetModel& targetOf(Operation* op, ir::DeviceAttr unplaced) {
    const ir::DeviceAttr place = ir::DeviceOf(op);
    return ir::TargetModel::Of(place ? place : unplaced);
  }

  // True if the attention becomes one of few queries. A program of several ranks keeps its heads apart.
  static bool hasFewQueries(ir::AttentionOp op, ir::DeviceAttr unplaced) {
    const ir::AttentionShape shape = ir::AttentionShape::Of(op.getInputs());
    return !shape.packed && !ir::MeshOf(op) && (!op.getStats() || op.getStats().use_empty()) &&
           targetOf(op, unplaced).libraries->againstFewQueries(shape).empty();
  }

  bool staysWhole(Operation* op, ir::DeviceAttr unplaced) {
    const ir::TargetModel& target = targetOf(op, unplaced);
    if (auto few = llvm::dyn_cast<ir::FewQueriesAttentionOp>(op)) {
      const auto shape =
          ir::AttentionShape::OfFew(few.getInputs(), static_cast<int64_t>(few.getHeads()), few.getByHead());
      return target.libraries->againstFewQueries(shape).empty();
    }
    if (auto product = llvm::dyn_cast<ir::QuantizedMatmulOp>(op)) {
      return product.getX().getType().getDimSize(0) <= target.libraries->mostQuantizedRows(product);
    }
    if (auto product = llvm::dyn_cast<ir::ScaledMatmulOp>(op)) {
      const bool has_scales = product.getScaleA().getType().getRank() == 0 ? float8 : float8Rows;
      return has_scales && target.libraries->againstScaledMatmul(product).empty();
    }
    if (!llvm::isa<ir::AttentionOp, ir::AttentionGradOp>(op)) return false;
    auto forward = llvm::dyn_cast<ir::AttentionOp>(op);
    if (!target.computes_attention || (forward && hasFewQueries(forward, unplaced))) return false;
    auto backward = llvm::dyn_cast<ir::AttentionGradOp>(op);
    std::string reason =
        forward ? againstWhole(target, forward.getInputs(), forward.getScale().convertToDouble())
                : againstWhole(target, backward.getInputs(), backward.getScale().convertToDouble());
    if (reason.empty()) {
      if (hopper) op->setAttr(ir::kHopperAttr, mlir::UnitAttr::get(&getContext()));
      return true;
    }
    if (report) {
      op->emitRemark() << "'" << op->getName() << "' is decomposed, its scores in memory: " << reason;
    }
    return false;
  }
};

}  // namespace
}  // namespace sinter
