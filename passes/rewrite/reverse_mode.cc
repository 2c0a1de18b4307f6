#include "sinter/passes/rewrite/reverse_mode.h"
#include "sinter/ir/dialect/element_types.h"

#include <cassert>

#include "sinter/ir/program/collective.h"
#include "sinter/passes/rewrite/collective_gradients.h"
#include "sinter/passes/rewrite/scan_edits.h"
#include "sinter/passes/rewrite/scan_gradient.h"
#include "sinter/passes/rewrite/slice_gradients.h"

namespace sinter {

using ir::Expr;
using ir::GraphBuilder;
using mlir::Operation;
using mlir::Value;

namespace {

bool IsFloat(Value value) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  return type && ir::IsComputedFloat(type.getElementType());
}

// Tests the operands of the op, or of all members of its collective.
template <typename Predicate>
bool AnyOperand(Operation* op, Predicate predicate) {
  return llvm::any_of(MembersOf(op),
                      [&](Operation* member) { return llvm::any_of(member->getOperands(), predicate); });
}

}  // namespace

ReverseMode::ReverseMode(Operation* end, mlir::ValueRange xs, mlir::Location wanted_at)
    : end_(end), wanted_at_(wanted_at), builder_(end), xs_(xs) {}

mlir::LogicalResult ReverseMode::run(llvm::ArrayRef<Seed> seeds) {
  llvm::append_range(seeds_, seeds);
  findPath();
  while (decomposeOnPath()) findPath();
  for (Operation* op : path_) {
    if (mlir::failed(checkDifferentiable(op))) return mlir::failure();
  }
  GraphBuilder b(builder_, LocOf(end_));
  for (const Seed& seed : seeds_) {
    if (!active_.contains(seed.value)) continue;
    add(b, seed.value, seed.gradient ? b.wrap(seed.gradient) : b.ones(b.wrap(seed.value)));
  }
  for (Operation* op : llvm::reverse(path_)) {
    if (mlir::failed(propagate(op))) return mlir::failure();
  }
  return mlir::success();
}

Value ReverseMode::gradientOf(Value x) {
  GraphBuilder b(builder_, LocOf(end_));
  return sumOf(b, x);
}

mlir::Location ReverseMode::LocOf(Operation* forward) {
  auto name = mlir::StringAttr::get(forward->getContext(), "gradient");
  return mlir::FusedLoc::get(forward->getContext(), {forward->getLoc()}, name);
}

// Finds the ops, in program order, that compute the loss from the values: gradients flow through them. An
// operand of one member of a collective reaches the results of all members.
void ReverseMode::findPath() {
  active_.clear();
  path_.clear();
  for (Value x : xs_) active_.insert(x);
  mlir::Block* block = end_->getBlock();
  for (Operation& op : llvm::make_range(block->begin(), end_->getIterator())) {
    if (!AnyOperand(&op, [&](Value v) { return active_.contains(v); })) continue;
    for (Value result : op.getResults()) {
      if (IsFloat(result)) active_.insert(result);
    }
  }
  llvm::DenseSet<Value> reaches_loss;
  for (const Seed& seed : seeds_) reaches_loss.insert(seed.value);
  for (Operation& op : llvm::reverse(llvm::make_range(block->begin(), end_->getIterator()))) {
    auto carries = [&](Value v) { return active_.contains(v); };
    auto wanted = [&](Value v) { return carries(v) && reaches_loss.contains(v); };
    bool reached = llvm::any_of(
        MembersOf(&op), [&](Operation* member) { return llvm::any_of(member->getResults(), wanted); });
    if (!reached || !AnyOperand(&op, carries)) continue;
    path_.push_back(&op);
    reaches_loss.insert(op.operand_begin(), op.operand_end());
  }
  std::reverse(path_.begin(), path_.end());
}

bool ReverseMode::decomposeOnPath() {
  bool changed = false;
  for (Operation*& op : path_) {
    auto scan = llvm::dyn_cast<ir::ScanOp>(op);
    if (scan && scan.endsByData() && scan.getTrips() < ir::kUnboundedTrips) {
      const llvm::SmallVector<Value> ends(scan.getResults());
      ir::ScanOp all = GuardTrips(scan);
      for (auto [end, result] : llvm::zip_equal(ends, all.getResults())) replace(end, result);
      op = all;
      changed = true;
      continue;
    }
    auto composite = llvm::dyn_cast<ir::CompositeInterface>(op);
    if (!composite || llvm::isa<ir::DifferentiableInterface>(op)) continue;
    mlir::OpBuilder at(op);
    GraphBuilder b(at, op->getLoc());
    const llvm::SmallVector<Value> values = composite.decompose(b);
    for (auto [result, value] : llvm::zip_equal(op->getResults(), values)) replace(result, value);
    op->replaceAllUsesWith(values);
    op->erase();
    changed = true;
  }
  return changed;
}

// Lets `to` stand for a value that is about to be erased.
void ReverseMode::replace(Value from, Value to) {
  std::replace(xs_.begin(), xs_.end(), from, to);
  for (Seed& seed : seeds_) {
    if (seed.value == from) seed.value = to;
  }
}

mlir::LogicalResult ReverseMode::checkDifferentiable(Operation* op) {
  auto epilogue = llvm::dyn_cast<ir::EpilogueInterface>(op);
  if (epilogue && epilogue.getActivation() != ir::Activation::none) {
    return refuse(
        op->emitOpError() << "applies " << stringifyActivation(epilogue.getActivation())
                          << " to its result and has no gradient; expected the activation as an op of "
                             "its own");
  }
  auto kernel = llvm::dyn_cast<ir::ElementwiseKernelOp>(op);
  if (kernel && !kernel.getGradientAttr()) {
    return refuse(
        op->emitOpError() << "\"" << kernel.getKernelName()
                          << "\" has no gradient; give the kernel one, ElementwiseOptions::gradient, or use "
                             "StopGradient if that is intended");
  }
  if (ir::Collective::Of(op)) {
    std::string why = WhyNoGradient(op);
    return why.empty() ? mlir::success() : refuse(op->emitOpError(why));
  }
  auto scan = llvm::dyn_cast<ir::ScanOp>(op);
  if (scan && scan.endsByData()) {
    return refuse(
        op->emitOpError("has no bound on its trips, and its gradient keeps values of every trip; give it "
                        "WhileOptions{.at_most = n}, or use StopGradient if that is intended"));
  }
  // The ops of a loop are checked when its gradient is built.
  if (llvm::isa<ir::DifferentiableInterface, ir::ScanOp>(op)) return mlir::success();
  return refuse(op->emitOpError("has no gradient; use StopGradient if that is intended"));
}

mlir::LogicalResult ReverseMode::refuse(mlir::InFlightDiagnostic error) {
  error.attachNote(wanted_at_) << "the gradient is wanted here";
  return error;
}

mlir::LogicalResult ReverseMode::propagate(Operation* op) {
  GraphBuilder b(builder_, LocOf(op));
  llvm::SmallVector<Operation*> members = MembersOf(op);
  // The last member is visited first, and the gradients of all results are known there.
  if (op != members.back()) return mlir::success();
  if (auto scan = llvm::dyn_cast<ir::ScanOp>(op)) return propagateLoop(scan, b);
  GradientsOfMembers gradients;
  bool any = false;
  for (Operation* member : members) {
    gradients.emplace_back();
    for (Value result : member->getResults()) {
      Value sum = sumOf(b, result);
      gradients.back().push_back(sum ? b.wrap(sum) : Expr());
      any |= static_cast<bool>(sum);
    }
  }
  if (!any) return mlir::success();
  if (ir::Collective::Of(op)) {
    GradientsOfMembers terms = CollectiveGradient(b, members, std::move(gradients));
    for (auto [member, of_member] : llvm::zip_equal(members, terms)) accumulate(b, member, of_member);
  } else {
    accumulate(b, op, llvm::cast<ir::DifferentiableInterface>(op).buildGradient(b, gradients[0]));
  }
  return mlir::success();
}

mlir::LogicalResult ReverseMode::propagateLoop(ir::ScanOp scan, GraphBuilder& b) {
  llvm::SmallVector<Value> gradients;
  for (Value result : scan.getResults()) gradients.push_back(sumOf(b, result));
  if (llvm::none_of(gradients, [](Value gradient) { return static_cast<bool>(gradient); }))
    return mlir::success();
  ScanGradient gradient(scan, [&](Value operand) { return active_.contains(operand); }, wanted_at_);
  if (mlir::failed(gradient.build(b, gradients))) return mlir::failure();
  // The results of the loop that takes the place of this one.
  for (auto [i, result] : llvm::enumerate(scan.getResults())) {
    const Value now = gradient.loop().getResult(i);
    replace(result, now);
    if (gradients[i]) sums_[now] = gradients[i];
  }
  llvm::SmallVector<Expr> terms;
  for (Value term : gradient.terms()) terms.push_back(term ? b.wrap(term) : Expr());
  accumulate(b, gradient.loop(), terms);
  gradient.replaceLoop();
  return mlir::success();
}

void ReverseMode::accumulate(GraphBuilder& b, Operation* op, llvm::ArrayRef<Expr> terms) {
  for (auto [operand, term] : llvm::zip_equal(op->getOperands(), terms)) {
    if (!term || !active_.contains(operand)) continue;
    assert(term.value.getType() == operand.getType() && "a gradient has its operand's type");
    auto part = llvm::isa<ir::SliceOp>(op) ? term.value.getDefiningOp<ir::PadOp>() : ir::PadOp();
    if (part && IsPlacedPart(part)) {
      parts_[operand].push_back(part);
    } else {
      add(b, operand, term);
    }
  }
}

void ReverseMode::add(GraphBuilder& b, Value operand, Expr term) {
  Value& sum = sums_[operand];
  sum = sum ? b.add(b.wrap(sum), term).value : term.value;
}

// Returns the gradient of a value once all its readers have been visited; null if it has none.
Value ReverseMode::sumOf(GraphBuilder& b, Value value) {
  if (auto parts = parts_.find(value); parts != parts_.end()) {
    for (Expr term : SumOfParts(b, parts->second)) add(b, value, term);
    parts_.erase(parts);
  }
  return sums_.lookup(value);
}

}  // namespace sinter
