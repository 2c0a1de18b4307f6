#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/IR/IRMapping.h"
#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_SEGMENTSCANS
#include "passes/passes.h.inc"

namespace {

using ir::Expr;
using ir::GraphBuilder;
using mlir::Operation;
using mlir::Value;

// Adds the loops that a gradient passes on its way from the loss to the `xs`, except those that end by data.
void CollectOnPath(ir::GradientsOp gradients, llvm::SetVector<ir::ScanOp>& loops) {
  mlir::Block* block = gradients->getBlock();
  llvm::DenseSet<Operation*> leads_to_loss;
  llvm::SmallVector<Value> stack = {gradients.getLoss()};
  while (!stack.empty()) {
    Operation* op = stack.pop_back_val().getDefiningOp();
    if (op && leads_to_loss.insert(op).second) llvm::append_range(stack, op->getOperands());
  }
  llvm::DenseSet<Value> from_xs(gradients.getXs().begin(), gradients.getXs().end());
  for (Operation& op : *block) {
    if (llvm::none_of(op.getOperands(), [&](Value operand) { return from_xs.contains(operand); })) continue;
    from_xs.insert(op.result_begin(), op.result_end());
    auto scan = llvm::dyn_cast<ir::ScanOp>(op);
    if (scan && !scan.getGuarded() && leads_to_loss.contains(&op)) loops.insert(scan);
  }
}

// Cuts one loop into segments.
class Cutter {
 public:
  Cutter(ir::ScanOp scan, int64_t each) : scan_(scan), each_(each), at_(scan), b_(at_, scan.getLoc()) {}

  void run() {
    const int64_t trips = static_cast<int64_t>(scan_.getTrips()), whole = trips / each_;
    llvm::SmallVector<Part> parts = {{0, whole, each_}};
    if (trips % each_ != 0) parts.push_back({whole * each_, 1, trips % each_});
    llvm::SmallVector<llvm::SmallVector<Value>> results(parts.size());
    llvm::SmallVector<Value> carries(scan_.getCarries());
    for (size_t n = 0; n < parts.size(); ++n) {
      const size_t i = scan_.getReverse() ? parts.size() - 1 - n : n;
      results[i] = build(parts[i], carries);
      carries.assign(results[i].begin(), results[i].begin() + carries.size());
    }
    for (size_t r = 0; r < scan_.getNumResults(); ++r) {
      Value result = r < carries.size() ? carries[r] : results[0][r];
      if (r >= carries.size() && parts.size() > 1)
        result = b_.concat({b_.wrap(results[0][r]), b_.wrap(results[1][r])}, 0).value;
      scan_.getResult(r).replaceAllUsesWith(result);
    }
    scan_.erase();
  }

 private:
  // Trips `begin` to `begin + segments * length`.
  struct Part {
    int64_t begin, segments, length;
  };

  // Returns the last carries and the stacks of the part's trips.
  llvm::SmallVector<Value> build(const Part& part, mlir::ValueRange carries);
  // Builds the loop over the trips of a segment in the body of the loop over segments.
  ir::ScanOp buildSegment(mlir::OpBuilder& at, const Part& part, ir::ScanOp outer);
  // Creates a loop with the results' types, a block with arguments, and no ops in it.
  ir::ScanOp create(mlir::OpBuilder& at, int64_t trips, llvm::ArrayRef<mlir::Type> stacks,
                    mlir::ValueRange carries, mlir::ValueRange slices, mlir::ValueRange invariants);

  ir::ScanOp scan_;
  int64_t each_;
  ir::PlacedBuilder at_;
  GraphBuilder b_;
};

// Returns the types of the stacks of `trips` values of these types.
llvm::SmallVector<mlir::Type> StackTypes(mlir::TypeRange types, int64_t trips) {
  return llvm::map_to_vector(
      types, [&](mlir::Type type) -> mlir::Type { return ir::ScanOp::stackType(type, trips); });
}

ir::ScanOp Cutter::create(mlir::OpBuilder& at, int64_t trips, llvm::ArrayRef<mlir::Type> stacks,
                          mlir::ValueRange carries, mlir::ValueRange slices, mlir::ValueRange invariants) {
  llvm::SmallVector<mlir::Type> types(carries.getTypes());
  llvm::append_range(types, stacks);
  return at.create<ir::ScanOp>(scan_.getLoc(), types, at.getI64IntegerAttr(trips), scan_.getReverseAttr(),
                               mlir::UnitAttr(), carries, slices, invariants);
}

ir::ScanOp Cutter::buildSegment(mlir::OpBuilder& at, const Part& part, ir::ScanOp outer) {
  const llvm::SmallVector<Value> carries(outer.carryArguments()), slices(outer.sliceArguments());
  llvm::SmallVector<Value> invariants(outer.invariantArguments());
  const bool counts = !scan_.trip().use_empty();
  if (counts) invariants.push_back(outer.trip());
  ir::ScanOp inner = create(at, part.length, StackTypes(scan_.stacked().getTypes(), part.length), carries,
                            slices, invariants);
  mlir::IRMapping mapping;
  scan_.getBody().cloneInto(&inner.getBody(), mapping);
  if (!counts) return inner;
  mlir::BlockArgument segment = inner.block().addArgument(inner.trip().getType(), scan_.getLoc());
  mlir::OpBuilder first = mlir::OpBuilder::atBlockBegin(&inner.block());
  GraphBuilder b(first, scan_.getLoc());
  const Expr begin = b.wrap(segment) * static_cast<double>(part.length) + static_cast<double>(part.begin);
  const Expr trip = begin + b.wrap(inner.trip());
  inner.trip().replaceUsesWithIf(
      trip.value, [&](mlir::OpOperand& use) { return use.getOwner() != trip.value.getDefiningOp(); });
  return inner;
}

llvm::SmallVector<Value> Cutter::build(const Part& part, mlir::ValueRange carries) {
  // [T, ...] as [segments, length, ...], and back.
  const int64_t trips = part.segments * part.length;
  llvm::SmallVector<Value> slices;
  for (Value slice : scan_.getSlices()) {
    Expr x = b_.wrap(slice);
    llvm::SmallVector<int64_t> starts(x.shape().size(), 0), limits(x.shape()), ones(x.shape().size(), 1);
    starts[0] = part.begin, limits[0] = part.begin + trips;
    if (trips != x.shape()[0]) x = b_.slice(x, starts, limits, ones);
    llvm::SmallVector<int64_t> cut = {part.segments, part.length};
    llvm::append_range(cut, x.shape().drop_front());
    slices.push_back(b_.reshape(x, cut).value);
  }
  const auto types = StackTypes(StackTypes(scan_.stacked().getTypes(), part.length), part.segments);
  ir::ScanOp outer = create(at_, part.segments, types, carries, slices, scan_.getInvariants());
  outer->setDiscardableAttrs(scan_->getDiscardableAttrDictionary());
  mlir::Block& block = outer.getBody().emplaceBlock();
  auto add = [&](mlir::Type type) { block.addArgument(type, scan_.getLoc()); };
  add(scan_.trip().getType());
  for (Value carry : carries) add(carry.getType());
  for (Value slice : slices)
    add(llvm::cast<mlir::RankedTensorType>(b_.wrap(slice).type().clone(b_.wrap(slice).shape().drop_front())));
  for (Value invariant : scan_.getInvariants()) add(invariant.getType());
  mlir::OpBuilder inside = mlir::OpBuilder::atBlockEnd(&block);
  ir::ScanOp inner = buildSegment(inside, part, outer);
  inside.create<ir::YieldOp>(scan_.getLoc(), inner.getResults());
  llvm::SmallVector<Value> results(outer.getResults());
  for (Value& stack : llvm::MutableArrayRef(results).drop_front(carries.size())) {
    llvm::SmallVector<int64_t> joined = {trips};
    llvm::append_range(joined, ir::ShapeOf(stack).drop_front(2));
    stack = b_.reshape(b_.wrap(stack), joined).value;
  }
  return results;
}

class SegmentScansPass : public impl::SegmentScansBase<SegmentScansPass> {
 public:
  using SegmentScansBase::SegmentScansBase;

  void runOnOperation() override {
    if (segments < 2) return;
    llvm::SetVector<ir::ScanOp> loops;
    getOperation().walk([&](ir::GradientsOp gradients) { CollectOnPath(gradients, loops); });
    for (ir::ScanOp scan : loops) {
      const int64_t trips = static_cast<int64_t>(scan.getTrips());
      const int64_t each = (trips + segments - 1) / segments;
      if (each >= trips) continue;
      if (report) {
        mlir::emitRemark(scan.getLoc())
            << "keeps carries every " << each << " of " << trips
            << " trips, and computes the trips between them again for the gradient";
      }
      Cutter(scan, each).run();
    }
  }
};

}  // namespace
}  // namespace sinter
