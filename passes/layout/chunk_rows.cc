#include <algorithm>

#include "llvm/Support/MathExtras.h"
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

// For each operand, the dimension that corresponds to the result's `dim`; kWhole if the operand does not
// depend on it. nullopt if an operand's reads are not known.
std::optional<llvm::SmallVector<int64_t>> OperandDims(ir::FusibleInterface op, int64_t dim) {
  llvm::SmallVector<int64_t> dims;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    mlir::AffineMap map = op.getOperandMap(i);
    if (!map) return std::nullopt;
    int64_t found = kWhole;
    for (auto [d, expr] : llvm::enumerate(map.getResults())) {
      if (!expr.isFunctionOfDim(dim)) continue;
      bool same = expr == mlir::getAffineDimExpr(dim, map.getContext()) && found == kWhole &&
                  TypeOf(op->getOperand(i)).getDimSize(d) == TypeOf(op->getResult(0)).getDimSize(dim);
      if (!same) return std::nullopt;
      found = static_cast<int64_t>(d);
    }
    dims.push_back(found);
  }
  return dims;
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
  Operation* cloneFor(Operation* op, mlir::ValueRange operands, unsigned result, int64_t dim);
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
    Operation* clone = cloneFor(op, operands, 0, rule.results[0]);
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      if (i > 0) clone->getResult(i).setType(Resized(TypeOf(result), rule.results[i], end() - begin()));
      parts_[{result, rule.results[i]}] = clone->getResult(i);
      rows_[result].push_back(clone->getResult(i));
    }
  }
}

Operation* ChunkedRows::cloneFor(Operation* op, mlir::ValueRange operands, unsigned result, int64_t dim) {
  Operation* clone = builder_.clone(*op);
  clone->setOperands(operands);
  clone->getResult(result).setType(Resized(TypeOf(op->getResult(result)), dim, end() - begin()));
  if (auto slice = llvm::dyn_cast<ir::SliceOp>(clone)) {
    llvm::SmallVector<int64_t> starts(slice.getStarts()), limits(slice.getLimits());
    starts[dim] = 0;
    limits[dim] = end() - begin();
    slice.setStarts(starts);
    slice.setLimits(limits);
  }
  return clone;
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
  if (!op || op->getNumResults() != 1) return {};
  if (auto constant = llvm::dyn_cast<ir::ConstantOp>(op)) {
    auto splat = llvm::dyn_cast<mlir::SplatElementsAttr>(constant.getValue());
    RankedTensorType type = Resized(TypeOf(value), dim, end() - begin());
    return splat ? Value(builder_.create<ir::ConstantOp>(op->getLoc(), splat.resizeSplat(type))) : Value();
  }
  auto iota = llvm::dyn_cast<ir::IotaOp>(op);
  bool moves = llvm::isa<ir::SliceOp, ir::ReverseOp, ir::ConcatOp, ir::PadOp>(op);
  auto fusible = llvm::dyn_cast<ir::FusibleInterface>(op);
  if (!fusible || moves || (iota && static_cast<int64_t>(iota.getDim()) == dim)) return {};
  auto dims = OperandDims(fusible, dim);
  if (!dims) return {};
  llvm::SmallVector<Value> operands;
  for (auto [operand, along] : llvm::zip(op->getOperands(), *dims)) {
    operands.push_back(along == kWhole ? operand : part(operand, along));
  }
  return cloneFor(op, operands, 0, dim)->getResult(0);
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
