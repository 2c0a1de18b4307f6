#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/rewrite/scan_edits.h"
#include "sinter/passes/rewrite/trip_batch.h"

namespace sinter {

#define GEN_PASS_DEF_SPLITLOOPS
#include "passes/passes.h.inc"

namespace {

using ir::Expr;
using ir::GraphBuilder;
using mlir::Operation;
using mlir::Value;

class Splitter {
 public:
  explicit Splitter(ir::ScanOp scan) : scan_(scan) {}

  void run() {
    if (scan_.getTrips() < 2) return;
    hoistInvariants();
    if (scan_.getGuarded()) return;
    moveBefore();
    moveBehind();
  }

 private:
  // A product that only adds to a carry, or that is only stacked.
  struct Behind {
    ir::MatmulOp product;
    int64_t carry = -1, stack = -1;
  };

  void findDependences();
  void hoistInvariants();
  void moveBefore();
  void moveBehind();
  int64_t sumOf(Value term) const;
  std::optional<Behind> behind(ir::MatmulOp product) const;
  void rebuild(llvm::ArrayRef<Behind> products);
  Value productOfAll(GraphBuilder& b, const Behind& behind, Value a, Value g, mlir::RankedTensorType type);

  ir::ScanOp scan_;
  llvm::DenseSet<Value> from_carries_;
};

void Splitter::findDependences() {
  from_carries_.clear();
  for (mlir::BlockArgument carry : scan_.carryArguments()) from_carries_.insert(carry);
  for (Operation& op : scan_.block().without_terminator()) {
    if (llvm::any_of(op.getOperands(), [&](Value v) { return from_carries_.contains(v); }))
      from_carries_.insert(op.result_begin(), op.result_end());
  }
}

// Hoists what depends on invariants alone, which is the same in all trips, unless it is larger than
// what it is computed from: casts and transposes of weights, and products of them.
void Splitter::hoistInvariants() {
  llvm::DenseSet<Value> same;
  for (mlir::BlockArgument invariant : scan_.invariantArguments()) same.insert(invariant);
  for (Operation& op : llvm::make_early_inc_range(scan_.block().without_terminator())) {
    const bool is_same = op.getNumOperands() > 0 && op.getNumResults() == 1 && op.getNumRegions() == 0 &&
                         mlir::isPure(&op) &&
                         llvm::all_of(op.getOperands(), [&](Value v) { return same.contains(v); });
    if (!is_same) continue;
    int64_t bytes = 0;
    for (Value operand : op.getOperands()) bytes += ir::NumBytes(operand);
    if (ir::NumBytes(op.getResult(0)) > bytes) continue;
    ir::PlacedBuilder at(scan_);
    mlir::IRMapping outside;
    for (Value operand : op.getOperands()) {
      outside.map(operand, scan_->getOperand(llvm::cast<mlir::BlockArgument>(operand).getArgNumber() - 1));
    }
    scan_.getInvariantsMutable().append(at.clone(op, outside)->getResult(0));
    mlir::BlockArgument argument = scan_.block().addArgument(op.getResult(0).getType(), op.getLoc());
    op.getResult(0).replaceAllUsesWith(argument);
    same.insert(argument);
    op.erase();
  }
}

// Products of slices and invariants are one product for all trips.
void Splitter::moveBefore() {
  findDependences();
  for (auto product : llvm::to_vector(scan_.block().getOps<ir::MatmulOp>())) {
    if (from_carries_.contains(product.getResult())) continue;
    ir::PlacedBuilder at(scan_);
    GraphBuilder b(at, product.getLoc());
    TripBatch batch(scan_, b);
    if (!batch.canBuild(product.getResult())) continue;
    const TripBatch::Outer outer = batch.build(product.getResult());
    const unsigned carries = scan_.getCarries().size(), slices = scan_.getSlices().size();
    mlir::Block& block = scan_.block();
    mlir::BlockArgument argument;
    if (outer.is_stack) {
      scan_.getSlicesMutable().append(outer.value);
      argument = block.insertArgument(1 + carries + slices, product.getType(), product.getLoc());
    } else {
      scan_.getInvariantsMutable().append(outer.value);
      argument = block.addArgument(product.getType(), product.getLoc());
    }
    product.getResult().replaceAllUsesWith(argument);
    product.erase();
  }
}

// Returns the carry to which each trip adds the term, and that nothing else reads; -1 if there is none.
int64_t Splitter::sumOf(Value term) const {
  if (!term.hasOneUse()) return -1;
  auto add = llvm::dyn_cast<ir::AddOp>(*term.user_begin());
  if (!add || !add->hasOneUse() || !llvm::isa<ir::YieldOp>(*add->user_begin())) return -1;
  auto scan = const_cast<ir::ScanOp&>(scan_);
  const int64_t place = add->use_begin()->getOperandNumber();
  if (place >= static_cast<int64_t>(scan.getCarries().size())) return -1;
  const Value carry = scan.carryArguments()[place];
  const bool adds_to_it = add.getOperand(0) == carry || add.getOperand(1) == carry;
  return adds_to_it && carry.hasOneUse() ? place : -1;
}

std::optional<Splitter::Behind> Splitter::behind(ir::MatmulOp product) const {
  if (product.getBias() || product.getAddend() || product.getScale() ||
      product.getActivation() != ir::Activation::none || !product->hasOneUse()) {
    return std::nullopt;
  }
  auto scan = const_cast<ir::ScanOp&>(scan_);
  Operation* user = *product->user_begin();
  if (llvm::isa<ir::YieldOp>(user)) {
    const int64_t place = product->use_begin()->getOperandNumber();
    const int64_t stack = place - static_cast<int64_t>(scan.getCarries().size());
    // For all trips, the rows of one operand meet the same other operand.
    const bool is_row_by_row = !product.getTransposeA() && ir::ShapeOf(product.getA()).size() == 2 &&
                               llvm::is_contained(scan.invariantArguments(), product.getB());
    if (stack < 0 || !is_row_by_row) return std::nullopt;
    return Behind{product, -1, stack};
  }
  // The sum over trips and rows is one product if both have the rows first.
  const bool is_by_rows =
      product.getTransposeA() && !product.getTransposeB() && ir::ShapeOf(product.getA()).size() == 2;
  Value term = product.getResult();
  if (llvm::isa<ir::CastOp>(user)) term = user->getResult(0);
  const int64_t carry = sumOf(term);
  if (!is_by_rows || carry < 0) return std::nullopt;
  return Behind{product, carry, -1};
}

void Splitter::moveBehind() {
  llvm::SmallVector<Behind> products;
  for (auto product : scan_.block().getOps<ir::MatmulOp>()) {
    if (std::optional<Behind> found = behind(product)) products.push_back(*found);
  }
  if (!products.empty()) rebuild(products);
}

Value Splitter::productOfAll(GraphBuilder& b, const Behind& behind, Value a, Value g,
                             mlir::RankedTensorType type) {
  auto flat = [&](Value stack) {
    llvm::ArrayRef<int64_t> shape = ir::ShapeOf(stack);
    llvm::SmallVector<int64_t> rows = {shape[0] * shape[1]};
    llvm::append_range(rows, shape.drop_front(2));
    return b.reshape(b.wrap(stack), rows).value;
  };
  ir::MatmulOp product = behind.product;
  if (behind.stack < 0) {
    return b.builder().create<ir::MatmulOp>(b.loc(), type, flat(a), flat(g), Value(), true, false,
                                            ir::Activation::none, product.getMath());
  }
  const Value rows = flat(a);
  auto flat_type = type.clone({type.getShape()[0] * type.getShape()[1], type.getShape()[2]});
  Value all =
      b.builder().create<ir::MatmulOp>(b.loc(), flat_type, rows, g, Value(), false, product.getTransposeB(),
                                       ir::Activation::none, product.getMath());
  return b.reshape(b.wrap(all), type.getShape()).value;
}

// Builds the loop without the products, which stacks what they read, and the products behind it.
void Splitter::rebuild(llvm::ArrayRef<Behind> products) {
  const size_t carries = scan_.getCarries().size();
  llvm::SmallVector<Value> yields(scan_.yield().getValues());
  llvm::SmallVector<mlir::Type> types(scan_.getResultTypes());
  llvm::DenseMap<Value, size_t> stack_at;  // Places of new stacks among `yields`.
  ir::PlacedBuilder at(scan_);
  GraphBuilder before(at, scan_.getLoc());
  TripBatch batch(scan_, before);
  llvm::DenseMap<Value, Value> built;
  auto stack = [&](Value value) {
    if (built.contains(value)) return;
    if (batch.canBuild(value)) {
      built[value] = batch.build(value).value;
      return;
    }
    if (!stack_at.try_emplace(value, yields.size()).second) return;
    for (size_t i = carries; i < yields.size(); ++i) {
      if (yields[i] == value) {
        stack_at[value] = i;
        return;
      }
    }
    yields.push_back(value);
    types.push_back(ir::ScanOp::stackType(value.getType(), scan_.getTrips()));
  };
  for (const Behind& behind : products) {
    ir::MatmulOp product = behind.product;
    stack(product.getA());
    stack(product.getB());
  }
  auto loop = at.create<ir::ScanOp>(scan_.getLoc(), types, scan_.getTripsAttr(), scan_.getReverseAttr(),
                                    scan_.getGuardedAttr(), scan_.getCarries(), scan_.getSlices(),
                                    scan_.getInvariants());
  loop->setDiscardableAttrs(scan_->getDiscardableAttrDictionary());
  scan_.yield().getValuesMutable().assign(yields);
  loop.getBody().takeBody(scan_.getBody());
  scan_.replaceAllUsesWith(loop.getResults().take_front(scan_.getNumResults()));
  scan_.erase();
  scan_ = loop;
  auto outside = [&](Value value) -> Value {
    if (auto found = stack_at.find(value); found != stack_at.end()) return loop.getResult(found->second);
    return built.lookup(value);
  };
  llvm::BitVector is_gone(loop.getNumResults());
  ir::PlacedBuilder behind_loop(loop);
  behind_loop.setInsertionPointAfter(loop);
  for (const Behind& behind : products) {
    ir::MatmulOp product = behind.product;
    GraphBuilder b(behind_loop, product.getLoc());
    const size_t place = behind.carry >= 0 ? behind.carry : carries + behind.stack;
    Value result = loop.getResult(place);
    Value all = productOfAll(b, behind, outside(product.getA()), outside(product.getB()), ir::TypeOf(result));
    if (behind.carry >= 0) all = (b.wrap(loop.getCarries()[behind.carry]) + b.wrap(all)).value;
    result.replaceAllUsesWith(all);
    is_gone.set(place);
  }
  DropResults(loop, is_gone);
}

class SplitLoopsPass : public impl::SplitLoopsBase<SplitLoopsPass> {
 public:
  using SplitLoopsBase::SplitLoopsBase;

  void runOnOperation() override {
    llvm::SmallVector<ir::ScanOp> scans;
    getOperation().walk<mlir::WalkOrder::PostOrder>([&](ir::ScanOp scan) { scans.push_back(scan); });
    for (ir::ScanOp scan : scans) Splitter(scan).run();
  }
};

}  // namespace
}  // namespace sinter
