#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_GATHERSCATTERS
#include "passes/passes.h.inc"

using ir::Expr;
using llvm::SmallVector;

namespace {

// Most updates of one place.
constexpr int64_t kMostUpdates = 8;
// Most elements that are gathered for an update. Places without updates are gathered too.
constexpr int64_t kMostReads = 4;
// Most indices, and places along the dimension: both become constants.
constexpr int64_t kMostIndices = 1 << 16;

// For each place along the dimension: the numbers of its updates, in order.
using Updates = std::vector<SmallVector<int32_t, 2>>;

// Returns nothing if the indices are not known, or if the scatter is not faster as gathers.
std::optional<Updates> UpdatesOf(ir::ScatterAddOp op) {
  auto constant = op.getIndices().getDefiningOp<ir::ConstantOp>();
  auto indices = constant ? llvm::dyn_cast<mlir::DenseIntElementsAttr>(constant.getValue())
                          : mlir::DenseIntElementsAttr();
  if (!indices || indices.getType().getRank() != 1) return std::nullopt;
  const int64_t count = indices.getNumElements(), places = op.getType().getDimSize(op.getDim());
  if (count == 0 || std::max(count, places) > kMostIndices || op.getType().getNumElements() == 0)
    return std::nullopt;
  Updates updates(places);
  int32_t number = 0;
  size_t most = 0;
  for (const llvm::APInt& index : indices.getValues<llvm::APInt>()) {
    const int64_t place = index.getSExtValue();
    if (place >= 0 && place < places) {
      updates[place].push_back(number);
      most = std::max(most, updates[place].size());
    }
    ++number;
  }
  const auto reads = static_cast<int64_t>(most) * places;
  if (most > kMostUpdates || reads > kMostReads * count) return std::nullopt;
  return updates;
}

Expr Constant(ir::GraphBuilder& b, mlir::DenseElementsAttr values) {
  return b.wrap(b.builder().create<ir::ConstantOp>(b.loc(), values));
}

// x + the first update of each place + its second one and so on. Types of 16 bits are added in f32.
Expr Gathered(ir::GraphBuilder& b, ir::ScatterAddOp op, const Updates& updates) {
  const mlir::Type element = op.getType().getElementType();
  const bool is_low = llvm::isa<mlir::FloatType>(element) && element.getIntOrFloatBitWidth() <= 16;
  const mlir::Type sum_type = is_low ? b.builder().getF32Type() : element;
  const auto places = static_cast<int64_t>(updates.size()), dim = static_cast<int64_t>(op.getDim());
  const auto index_type = mlir::RankedTensorType::get({places}, b.builder().getI32Type());
  const auto truth_type = mlir::RankedTensorType::get({places}, b.builder().getI1Type());
  Expr sum = b.cast(b.wrap(op.getX()), sum_type);
  for (size_t k = 0;; ++k) {
    SmallVector<int32_t> numbers;
    SmallVector<bool> exist;
    for (const auto& own : updates) {
      numbers.push_back(k < own.size() ? own[k] : 0);
      exist.push_back(k < own.size());
    }
    if (llvm::none_of(exist, [](bool exists) { return exists; })) break;
    const Expr read = b.wrap(b.builder().create<ir::GatherOp>(
        b.loc(), op.getType(), op.getUpdates(),
        Constant(b, mlir::DenseElementsAttr::get(index_type, llvm::ArrayRef(numbers))).value, dim));
    Expr update = b.cast(read, sum_type);
    if (!llvm::all_of(exist, [](bool exists) { return exists; })) {
      const Expr truth = Constant(b, mlir::DenseElementsAttr::get(truth_type, llvm::ArrayRef(exist)));
      update = b.select(b.broadcastAlong(truth, update, {dim}), update, b.zeros(update));
    }
    sum = sum + update;
  }
  return b.cast(sum, element);
}

class GatherScattersPass : public impl::GatherScattersBase<GatherScattersPass> {
 public:
  using GatherScattersBase::GatherScattersBase;

  void runOnOperation() override {
    SmallVector<ir::ScatterAddOp> ops;
    getOperation().walk([&](ir::ScatterAddOp op) { ops.push_back(op); });
    for (ir::ScatterAddOp op : ops) {
      if (!ir::TargetModel::Of(op.getOperation()).recomputes_cheap_values) continue;
      const std::optional<Updates> updates = UpdatesOf(op);
      if (!updates) continue;
      ir::PlacedBuilder at(op, ir::ConstantPlaces::kSet);
      ir::GraphBuilder b(at, op.getLoc());
      op.getResult().replaceAllUsesWith(Gathered(b, op, *updates).value);
      op.erase();
    }
  }
};

}  // namespace
}  // namespace sinter
