#include "sinter/passes/rewrite/scan_gradient.h"
#include "sinter/ir/dialect/element_types.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/passes/rewrite/reverse_mode.h"

namespace sinter {

using ir::Expr;
using ir::GraphBuilder;
using mlir::Operation;
using mlir::Value;

namespace {

bool HasFloats(Value value) { return ir::IsComputedFloat(ir::TypeOf(value).getElementType()); }

// True for ops that the gradient's kernels compute again where they read the result.
bool IsCheap(Operation* op) {
  return op->getNumOperands() == 0 || llvm::isa<ir::FusibleInterface, ir::ReshapeOp>(op);
}

// Composites without a gradient of their own are decomposed before their results can be stacked.
void DecomposeComposites(mlir::Block& block) {
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation& op : llvm::make_early_inc_range(block)) {
      auto composite = llvm::dyn_cast<ir::CompositeInterface>(&op);
      if (!composite || llvm::isa<ir::DifferentiableInterface>(&op)) continue;
      mlir::OpBuilder at(&op);
      GraphBuilder b(at, op.getLoc());
      op.replaceAllUsesWith(composite.decompose(b));
      op.erase();
      changed = true;
    }
  }
}

// Sums over trips of narrow types are taken in f32.
mlir::RankedTensorType SumType(Value value) {
  mlir::RankedTensorType type = ir::TypeOf(value);
  const bool is_narrow = type.getElementTypeBitWidth() < 32;
  return is_narrow ? type.clone(mlir::Float32Type::get(type.getContext())) : type;
}

// Takes [begin, end) along the first dimension.
Expr Part(GraphBuilder& b, Expr x, int64_t begin, int64_t end) {
  llvm::SmallVector<int64_t> starts(x.shape().size(), 0), limits(x.shape()), strides(x.shape().size(), 1);
  starts[0] = begin, limits[0] = end;
  return b.slice(x, starts, limits, strides);
}

}  // namespace

ScanGradient::ScanGradient(ir::ScanOp scan, llvm::function_ref<bool(Value)> is_active,
                           mlir::Location wanted_at)
    : scan_(scan), wanted_at_(wanted_at) {
  DecomposeComposites(scan_.block());
  findActive(is_active);
}

// A carry is active if its start is, or if a trip makes it so.
void ScanGradient::findActive(llvm::function_ref<bool(Value)> is_active) {
  mlir::Block& block = scan_.block();
  for (auto [argument, operand] : llvm::zip_equal(block.getArguments().drop_front(1), scan_->getOperands())) {
    if (HasFloats(argument) && is_active(operand)) active_.insert(argument);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation& op : block.without_terminator()) {
      if (llvm::none_of(op.getOperands(), [&](Value v) { return active_.contains(v); })) continue;
      for (Value result : op.getResults()) {
        if (HasFloats(result)) active_.insert(result);
      }
    }
    for (auto [argument, next] : llvm::zip_equal(scan_.carryArguments(), scan_.nextCarries())) {
      if (active_.contains(next) && active_.insert(argument).second) changed = true;
    }
  }
}

mlir::LogicalResult ScanGradient::build(GraphBuilder& b, llvm::ArrayRef<Value> gradients) {
  cloneBody(gradients);
  if (mlir::failed(differentiateBody(gradients))) return mlir::failure();
  keepResults();
  for (mlir::BlockArgument carry : scan_.carryArguments()) {
    const Value clone = to_gradient_.lookup(Value(carry));
    if (isRead(clone)) stack(scan_.nextCarries()[carry.getArgNumber() - 1]);
  }
  for (auto& [result, argument] : kept_) stack(result);
  buildLoop();
  buildGradientLoop(b, gradients);
  return mlir::success();
}

void ScanGradient::cloneBody(llvm::ArrayRef<Value> gradients) {
  for (mlir::BlockArgument argument : scan_.block().getArguments()) {
    to_gradient_.map(Value(argument), body_.addArgument(argument.getType(), argument.getLoc()));
  }
  for (mlir::BlockArgument carry : scan_.carryArguments()) {
    if (active_.contains(carry)) of_last_[carry] = body_.addArgument(carry.getType(), carry.getLoc());
  }
  for (auto [value, gradient] :
       llvm::zip_equal(scan_.stacked(), gradients.drop_front(scan_.getCarries().size()))) {
    if (!gradient || !active_.contains(value) || of_stacked_.contains(gradient)) continue;
    of_stacked_[gradient] = body_.addArgument(value.getType(), value.getLoc());
  }
  mlir::OpBuilder at(scan_.getContext());
  at.setInsertionPointToEnd(&body_);
  for (Operation& op : scan_.block().without_terminator()) {
    Operation* clone = at.clone(op, to_gradient_);
    if (!llvm::isa<ir::ScanOp>(op)) clones_.push_back({&op, clone});
  }
  at.create<ir::YieldOp>(scan_.getLoc(), mlir::ValueRange());
}

mlir::LogicalResult ScanGradient::differentiateBody(llvm::ArrayRef<Value> gradients) {
  auto end = llvm::cast<ir::YieldOp>(body_.getTerminator());
  llvm::SmallVector<Value> xs;
  llvm::SmallVector<mlir::BlockArgument> arguments;
  for (mlir::BlockArgument argument : scan_.block().getArguments()) {
    if (!active_.contains(argument)) continue;
    arguments.push_back(argument);
    xs.push_back(to_gradient_.lookup(Value(argument)));
  }
  llvm::SmallVector<ReverseMode::Seed> seeds;
  for (auto [carry, next] : llvm::zip_equal(scan_.carryArguments(), scan_.nextCarries())) {
    if (of_last_.contains(carry)) seeds.push_back({to_gradient_.lookup(next), of_last_[carry]});
  }
  for (auto [value, gradient] :
       llvm::zip_equal(scan_.stacked(), gradients.drop_front(scan_.getCarries().size()))) {
    if (gradient && active_.contains(value))
      seeds.push_back({to_gradient_.lookup(value), of_stacked_[gradient]});
  }
  ReverseMode reverse(end, xs, wanted_at_);
  if (mlir::failed(reverse.run(seeds))) return mlir::failure();
  for (auto [argument, x] : llvm::zip_equal(arguments, xs)) {
    if (Value gradient = reverse.gradientOf(x)) of_argument_[argument] = gradient;
  }
  return mlir::success();
}

// Results that are stacked take the place of the ops that computed them, from the last op to the first, so
// that what only they needed goes too.
void ScanGradient::keepResults() {
  llvm::DenseSet<Value> used;
  for (auto& [argument, gradient] : of_argument_) used.insert(gradient);
  llvm::DenseMap<Operation*, Operation*> original;
  for (auto [op, clone] : clones_) original[clone] = op;
  llvm::SmallVector<Operation*> ops;
  for (Operation& op : body_.without_terminator()) ops.push_back(&op);
  for (Operation* op : llvm::reverse(ops)) {
    const bool is_gradient = llvm::any_of(op->getResults(), [&](Value v) { return used.contains(v); });
    if (!is_gradient && mlir::isOpTriviallyDead(op)) {
      op->erase();
      continue;
    }
    Operation* forward = original.lookup(op);
    if (!forward || IsCheap(forward)) continue;
    for (auto [result, clone] : llvm::zip_equal(forward->getResults(), op->getResults())) {
      if (clone.use_empty() && !used.contains(clone)) continue;
      mlir::BlockArgument kept = body_.addArgument(result.getType(), result.getLoc());
      kept_[result] = kept;
      clone.replaceAllUsesWith(kept);
      for (auto& [argument, gradient] : of_argument_) {
        if (gradient == clone) gradient = kept;
      }
    }
    op->erase();
  }
}

// True if an op of the gradient's body reads the argument, or if it is itself a gradient.
bool ScanGradient::isRead(Value argument) {
  return !argument.use_empty() || llvm::any_of(of_argument_, [&](auto& of) { return of.second == argument; });
}

// Lets loop() stack the value, if the loop does not do so anyway.
void ScanGradient::stack(Value value) {
  if (!llvm::is_contained(scan_.stacked(), value) && !llvm::is_contained(stacked_, value))
    stacked_.push_back(value);
}

void ScanGradient::buildLoop() {
  mlir::OpBuilder at(scan_);
  ir::YieldOp yield = scan_.yield();
  llvm::SmallVector<mlir::Type> types(scan_.getResultTypes());
  const int64_t trips = scan_.getTrips();
  for (Value value : stacked_) types.push_back(ir::ScanOp::stackType(value.getType(), trips));
  yield.getValuesMutable().append(stacked_);
  loop_ = at.create<ir::ScanOp>(scan_.getLoc(), types, scan_.getTripsAttr(), scan_.getReverseAttr(),
                                scan_.getGuardedAttr(), scan_.getCarries(), scan_.getSlices(),
                                scan_.getInvariants());
  loop_->setDiscardableAttrs(scan_->getDiscardableAttrDictionary());
  loop_.getBody().takeBody(scan_.getBody());
}

// The carry that each trip got: those that the trips yield, shifted by one trip.
Value ScanGradient::carriesBefore(GraphBuilder& b, size_t carry) {
  const Value next = loop_.nextCarries()[carry];
  const auto found = llvm::find(loop_.stacked(), next);
  const Expr stack = b.wrap(loop_.stacks()[found - loop_.stacked().begin()]);
  const int64_t trips = loop_.getTrips();
  llvm::SmallVector<int64_t> shape(stack.shape());
  if (trips == 0) return stack.value;
  shape[0] = 1;
  const Expr first = b.reshape(b.wrap(loop_.getCarries()[carry]), shape);
  if (trips == 1) return first.value;
  return loop_.getReverse() ? b.concat({Part(b, stack, 1, trips), first}, 0).value
                            : b.concat({first, Part(b, stack, 0, trips - 1)}, 0).value;
}

// Finds what the gradient's loop carries and stacks, and the operand for each argument that its body reads.
void ScanGradient::collectOperands(GraphBuilder& b, llvm::ArrayRef<Value> gradients, Operands& parts) {
  const size_t carries = loop_.getCarries().size(), slices = loop_.getSlices().size();
  mlir::OpBuilder at(body_.getTerminator());
  GraphBuilder inner(at, ReverseMode::LocOf(loop_));
  if (loop_.getGuarded()) {
    // The gradient has a trip if the loop had one.
    assert(!loop_.endsByData() && "GuardTrips comes first");
    const Value flag = loop_.getCarries()[0];
    const mlir::BlockArgument guard = body_.addArgument(flag.getType(), flag.getLoc());
    parts.carries.push_back({guard, flag});
    parts.next.push_back(guard);
  }
  for (auto [i, argument, operand] :
       llvm::enumerate(loop_.block().getArguments().drop_front(1), loop_->getOperands())) {
    const Value clone = to_gradient_.lookup(Value(argument));
    const auto as_argument = llvm::cast<mlir::BlockArgument>(clone);
    const Value gradient = of_argument_.lookup(argument);
    const bool is_carry = i < carries, is_slice = !is_carry && i < carries + slices;
    parts.places.push_back({});
    if (is_carry && of_last_.contains(argument)) {
      const Value last = gradients[i] ? gradients[i] : b.zeros(b.wrap(operand)).value;
      parts.places.back().carry = parts.next.size();
      parts.carries.push_back({of_last_[argument], last});
      parts.next.push_back(gradient ? gradient : inner.zeros(inner.wrap(clone)).value);
    } else if (is_slice && gradient) {
      parts.places.back().stack = parts.stacked.size();
      parts.stacked.push_back(gradient);
    } else if (!is_carry && gradient) {
      mlir::RankedTensorType type = SumType(operand);
      mlir::BlockArgument sum = body_.addArgument(type, argument.getLoc());
      parts.places.back().carry = parts.next.size();
      parts.carries.push_back({sum, b.full(type.getShape(), type.getElementType(), 0).value});
      const Expr wide = inner.cast(inner.wrap(gradient), type.getElementType());
      parts.next.push_back((inner.wrap(sum) + wide).value);
    }
    if (!isRead(clone)) continue;
    if (is_carry) {
      parts.slices.push_back({as_argument, carriesBefore(b, i)});
    } else {
      (is_slice ? parts.slices : parts.invariants).push_back({as_argument, operand});
    }
  }
  for (auto& [gradient, argument] : of_stacked_) parts.slices.push_back({argument, gradient});
  for (auto [value, stack] : llvm::zip_equal(loop_.stacked(), loop_.stacks())) {
    auto found = kept_.find(value);
    if (found == kept_.end()) continue;
    parts.slices.push_back({found->second, stack});
    kept_.erase(found);
  }
}

void ScanGradient::buildGradientLoop(GraphBuilder& b, llvm::ArrayRef<Value> gradients) {
  Operands parts;
  collectOperands(b, gradients, parts);
  const int64_t trips = loop_.getTrips();
  llvm::SmallVector<mlir::Type> types;
  for (Value value : parts.next) types.push_back(value.getType());
  for (Value value : parts.stacked) types.push_back(ir::ScanOp::stackType(value.getType(), trips));
  auto operands = [](llvm::ArrayRef<Argument> arguments) {
    return llvm::map_to_vector(arguments, [](const Argument& argument) { return argument.second; });
  };
  auto back = b.builder().create<ir::ScanOp>(b.loc(), types, trips, !loop_.getReverse(), loop_.getGuarded(),
                                             operands(parts.carries), operands(parts.slices),
                                             operands(parts.invariants));
  mlir::Block& block = back.getBody().emplaceBlock();
  Value trip = to_gradient_.lookup(Value(loop_.trip()));
  trip.replaceAllUsesWith(block.addArgument(trip.getType(), trip.getLoc()));
  llvm::SmallVector<Value> yields = parts.next;
  llvm::append_range(yields, parts.stacked);
  for (const auto* list : {&parts.carries, &parts.slices, &parts.invariants}) {
    for (const Argument& argument : *list) {
      const mlir::BlockArgument placed = block.addArgument(argument.first.getType(), argument.first.getLoc());
      Value(argument.first).replaceAllUsesWith(placed);
      std::replace(yields.begin(), yields.end(), Value(argument.first), Value(placed));
    }
  }
  body_.getTerminator()->erase();
  block.getOperations().splice(block.end(), body_.getOperations());
  mlir::OpBuilder::atBlockEnd(&block).create<ir::YieldOp>(loop_.getLoc(), yields);
  for (auto [place, operand] : llvm::zip_equal(parts.places, loop_->getOperands())) {
    Value term;
    if (place.carry)
      term = b.cast(b.wrap(back.getResult(*place.carry)), ir::TypeOf(operand).getElementType()).value;
    if (place.stack) term = back.stacks()[*place.stack];
    terms_.push_back(term);
  }
}

void ScanGradient::replaceLoop() {
  scan_.replaceAllUsesWith(loop_.getResults().take_front(scan_.getNumResults()));
  scan_.erase();
}

}  // namespace sinter
