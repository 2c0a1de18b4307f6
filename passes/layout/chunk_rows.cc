#include <algorithm>

#include "llvm/Support/MathExtras.h"
#include "sinter/ir/dialect/local_op.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/fusion/fusion_domain.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/passes/layout/row_region.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/topological_order.h"

namespace sinter {

#define GEN_PASS_DEF_CHUNKROWS
#include "passes/passes.h.inc"

namespace {

using ir::kWhole;
using ir::Resized;
using ir::TypeOf;
using mlir::Operation;
using mlir::RankedTensorType;
using mlir::Value;

// Chunks have a multiple of this many rows: whole tiles of the matmuls.
constexpr int64_t kRowTile = 128;

// The dimension of a value that the factor runs along; kWhole if there is none. nullopt if it shares the
// dimension with other factors.
std::optional<int64_t> DimOf(const ir::ValueFactors& value, unsigned factor) {
  for (auto [d, dim] : llvm::enumerate(value)) {
    if (!llvm::is_contained(dim, factor)) continue;
    return dim.size() == 1 ? std::optional(static_cast<int64_t>(d)) : std::nullopt;
  }
  return kWhole;
}

// Rewrites one region.
class ChunkedRows {
 public:
  ChunkedRows(const RowRegion& region, llvm::ArrayRef<int64_t> bounds)
      : region_(region), bounds_(bounds), builder_(region.ops().front()) {
    builder_.setInsertionPoint(region.ops().back());
  }

  void run();

 private:
  void runChunk();
  Value part(Value value, int64_t dim);
  Value computedPart(Value value, int64_t dim);
  Value sliceOf(Value value, int64_t dim);
  llvm::SmallVector<Value> onPart(Operation* op, mlir::ValueRange operands, unsigned factor);
  void accumulate(Operation* op, llvm::ArrayRef<Value> operands);
  Value whole(Value result);

  template <typename Op, typename... Args>
  Value make(mlir::Location loc, Args&&... args) {
    return builder_.create<Op>(loc, std::forward<Args>(args)...)->getResult(0);
  }
  int64_t begin() const { return bounds_[chunk_]; }
  int64_t end() const { return bounds_[chunk_ + 1]; }

  const RowRegion& region_;
  llvm::SmallVector<int64_t> bounds_;
  ir::PlacedBuilder builder_;
  size_t chunk_ = 0;
  llvm::DenseMap<std::pair<Value, int64_t>, Value> parts_;  // Parts in this chunk.
  // For results by rows: the parts of all chunks so far.
  llvm::DenseMap<Value, llvm::SmallVector<Value>> rows_;
  llvm::DenseMap<Value, llvm::SmallVector<Value>> parts_of_sums_;
  llvm::DenseMap<Value, Value> sums_;  // For sums over rows: the sum so far.
};

void ChunkedRows::run() {
  for (chunk_ = 0; chunk_ + 1 < bounds_.size(); ++chunk_) runChunk();
  for (Value result : region_.results()) {
    Value made = whole(result);
    result.replaceUsesWithIf(made, [&](mlir::OpOperand& use) { return !region_.contains(use.getOwner()); });
  }
  llvm::SmallVector<Operation*> old(region_.ops());
  for (Operation* op : llvm::reverse(old)) op->erase();
}

void ChunkedRows::runChunk() {
  parts_.clear();
  for (Operation* op : region_.ops()) {
    const ir::ShardingRule& rule = region_.ruleOf(op);
    llvm::SmallVector<Value> operands;
    for (auto [operand, dim] : llvm::zip(op->getOperands(), rule.operands)) {
      operands.push_back(dim == kWhole ? operand : part(operand, dim));
    }
    if (rule.partial) {
      accumulate(op, operands);
      continue;
    }
    const llvm::SmallVector<Value> made = onPart(op, operands, rule.factor);
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      parts_[{result, rule.results[i]}] = made[i];
      rows_[result].push_back(made[i]);
    }
  }
}

// Builds an op on this chunk of one of its factors.
llvm::SmallVector<Value> ChunkedRows::onPart(Operation* op, mlir::ValueRange operands, unsigned factor) {
  const ir::FactorRule rule = ir::FactorsOf(op);
  llvm::SmallVector<ir::FactorPart> parts = ir::WholeParts(rule);
  parts[factor] = {end() - begin(), builder_.getI64IntegerAttr(begin())};
  return ir::BuildOnPart(builder_, op, operands, rule, parts);
}

// Returns the rows of this chunk of a value, along `dim`.
Value ChunkedRows::part(Value value, int64_t dim) {
  if (Value made = parts_.lookup({value, dim})) return made;
  Value made = region_.isLarge(value) ? computedPart(value, dim) : Value();
  if (!made) made = sliceOf(value, dim);
  return parts_[{value, dim}] = made;
}

// Computes only this chunk's rows of a large value that does not depend on the matmul, such as a mask of the
// labels. Null if that is not possible.
Value ChunkedRows::computedPart(Value value, int64_t dim) {
  Operation* op = value.getDefiningOp();
  if (!op || op->getNumResults() != 1 || !llvm::isa<ir::FusibleInterface>(op)) return {};
  if (llvm::isa<ir::SliceOp, ir::ReverseOp, ir::ConcatOp, ir::PadOp>(op)) return {};
  const ir::FactorRule rule = ir::FactorsOf(op);
  const auto& along = rule.results[0][dim];
  if (along.size() != 1 || rule.factors[along[0]].kind != ir::FactorKind::kParallel) return {};
  llvm::SmallVector<Value> operands;
  for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands)) {
    const std::optional<int64_t> cut = DimOf(dims, along[0]);
    if (!cut) return {};
    operands.push_back(*cut == kWhole ? operand : part(operand, *cut));
  }
  return onPart(op, operands, along[0])[0];
}

Value ChunkedRows::sliceOf(Value value, int64_t dim) {
  RankedTensorType type = TypeOf(value);
  llvm::SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()), strides(type.getRank(), 1);
  starts[dim] = begin();
  limits[dim] = end();
  return make<ir::SliceOp>(value.getLoc(), Resized(type, dim, end() - begin()), value, starts, limits,
                           strides);
}

// Adds this chunk's part of a sum to the earlier parts, at least in f32.
void ChunkedRows::accumulate(Operation* op, llvm::ArrayRef<Value> operands) {
  Value result = op->getResult(0), &sum = sums_[result];
  RankedTensorType type = TypeOf(result);
  auto wide = type.getElementTypeBitWidth() < 32 && llvm::isa<mlir::FloatType>(type.getElementType())
                  ? RankedTensorType::get(type.getShape(), builder_.getF32Type())
                  : type;
  // A GPU's library adds to the sum while it stores the matmul's result.
  auto matmul = llvm::dyn_cast<ir::MatmulOp>(op);
  if (matmul && ir::TargetModel::Of(op).matmul_adds) {
    sum = make<ir::MatmulOp>(op->getLoc(), wide, operands[0], operands[1], Value(), sum, matmul.getScale(),
                             matmul.getTransposeA(), matmul.getTransposeB(), ir::Activation::none,
                             matmul.getMath());
    return;
  }
  Operation* clone = builder_.clone(*op);
  clone->setOperands(operands);
  Value more = clone->getResult(0);
  if (wide != type) more = make<ir::CastOp>(op->getLoc(), wide, more);
  if (matmul) {
    sum = sum ? make<ir::AddOp>(op->getLoc(), wide, sum, more) : more;
    return;
  }
  // These parts are summed at the end: separate additions would fuse into one kernel that reads all chunks.
  llvm::SmallVector<int64_t> shape = {1};
  llvm::append_range(shape, wide.getShape());
  parts_of_sums_[result].push_back(
      make<ir::ReshapeOp>(op->getLoc(), RankedTensorType::get(shape, wide.getElementType()), more));
}

// Returns the value that readers outside the region use for a result.
Value ChunkedRows::whole(Value result) {
  mlir::Location loc = result.getLoc();
  if (auto found = parts_of_sums_.find(result); found != parts_of_sums_.end()) {
    RankedTensorType part = TypeOf(found->second[0]);
    int64_t count = found->second.size();
    Value all = make<ir::ConcatOp>(loc, Resized(part, 0, count), found->second, int64_t{0});
    auto type = RankedTensorType::get(part.getShape().drop_front(), part.getElementType());
    sums_[result] = make<ir::SumOp>(loc, type, all, llvm::ArrayRef<int64_t>{0});
  }
  if (Value sum = sums_.lookup(result)) {
    if (sum.getType() == result.getType()) return sum;
    // Readers that cast the result to f32 get the unrounded sum.
    for (Operation* user : llvm::make_early_inc_range(result.getUsers())) {
      auto cast = llvm::dyn_cast<ir::CastOp>(user);
      if (!cast || cast.getType() != sum.getType()) continue;
      cast.getResult().replaceAllUsesWith(sum);
      cast.erase();
    }
    return make<ir::CastOp>(loc, result.getType(), sum);
  }
  int64_t dim =
      region_.ruleOf(result.getDefiningOp()).results[llvm::cast<mlir::OpResult>(result).getResultNumber()];
  return make<ir::ConcatOp>(loc, result.getType(), rows_[result], dim);
}

class ChunkRowsPass : public impl::ChunkRowsBase<ChunkRowsPass> {
 public:
  using ChunkRowsBase::ChunkRowsBase;
  void runOnOperation() override {
    if (getOperation().isExternal() || bytes <= 0) return;
    mlir::Block& block = getOperation().getBody().front();
    llvm::SmallVector<ir::MatmulOp> matmuls;
    for (auto matmul : block.getOps<ir::MatmulOp>()) matmuls.push_back(matmul);
    llvm::DenseSet<Operation*> erased;
    for (ir::MatmulOp matmul : matmuls) {
      if (!erased.contains(matmul)) chunk(matmul, erased);
    }
    if (erased.empty()) return;
    llvm::DenseMap<Operation*, unsigned> rank;
    for (Operation& op : block) rank[&op] = rank.size();
    SortTopologically(block, rank);
  }

 private:
  void chunk(ir::MatmulOp matmul, llvm::DenseSet<Operation*>& erased) {
    RankedTensorType type = matmul.getType();
    int64_t large = plan_ir::TensorBytes(type);
    if (large <= bytes || type.getRank() != 2 || matmul.getTransposeA() || matmul.getAddend()) return;
    int64_t rows = type.getDimSize(0), chunks = llvm::divideCeil(large, bytes);
    int64_t each = llvm::alignTo(std::max<int64_t>(llvm::divideCeil(rows, chunks), min_rows), kRowTile);
    if (each >= rows) return;
    RowRegion region(matmul);
    auto remark = [&] { return mlir::emitRemark(matmul.getLoc()); };
    if (!region.problem().empty()) {
      if (report)
        remark() << "computes all of " << type << ", " << large << " bytes, at once: " << region.problem();
      return;
    }
    llvm::SmallVector<int64_t> bounds;
    for (int64_t row = 0; row < rows; row += each) bounds.push_back(row);
    bounds.push_back(rows);
    if (report) {
      remark() << "computes " << type << ", " << large << " bytes, in " << bounds.size() - 1 << " chunks of "
               << each << " rows";
    }
    erased.insert(region.ops().begin(), region.ops().end());
    ChunkedRows(region, bounds).run();
  }
};

}  // namespace
}  // namespace sinter
