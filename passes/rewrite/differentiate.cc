#include <cassert>

#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/program/collective.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/rewrite/collective_gradients.h"
#include "sinter/passes/rewrite/slice_gradients.h"

namespace sinter {

#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/passes.h.inc"

namespace {

using ir::Expr;
using ir::GraphBuilder;
using mlir::Operation;
using mlir::Value;

bool IsFloat(Value value) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  return type && llvm::isa<mlir::FloatType>(type.getElementType());
}

// Replaces one sinter.gradients by ops that compute the gradients, from the ops between its values and its
// loss.
class ReverseMode {
 public:
  explicit ReverseMode(ir::GradientsOp gradients) : gradients_(gradients), builder_(gradients) {}

  mlir::LogicalResult run() {
    findPath();
    while (decomposeOnPath()) findPath();
    for (Operation* op : path_) {
      if (mlir::failed(checkDifferentiable(op))) return mlir::failure();
    }
    seed();
    for (Operation* op : llvm::reverse(path_)) propagate(op);
    replace();
    return mlir::success();
  }

 private:
  // Finds the ops, in program order, that compute the loss from the values: gradients flow through them. An
  // operand of one member of a collective reaches the results of all members.
  void findPath() {
    active_.clear();
    path_.clear();
    for (Value x : gradients_.getXs()) active_.insert(x);
    mlir::Block* block = gradients_->getBlock();
    for (Operation& op : llvm::make_range(block->begin(), gradients_->getIterator())) {
      if (!anyOperand(&op, [&](Value v) { return active_.contains(v); })) continue;
      for (Value result : op.getResults()) {
        if (IsFloat(result)) active_.insert(result);
      }
    }
    llvm::DenseSet<Value> reaches_loss = {gradients_.getLoss()};
    for (Operation& op : llvm::reverse(llvm::make_range(block->begin(), gradients_->getIterator()))) {
      auto carries = [&](Value v) { return active_.contains(v); };
      auto wanted = [&](Value v) { return carries(v) && reaches_loss.contains(v); };
      bool reached = llvm::any_of(
          MembersOf(&op), [&](Operation* member) { return llvm::any_of(member->getResults(), wanted); });
      if (!reached || !anyOperand(&op, carries)) continue;
      path_.push_back(&op);
      reaches_loss.insert(op.operand_begin(), op.operand_end());
    }
    std::reverse(path_.begin(), path_.end());
  }

  // Tests the operands of the op, or of all members of its collective.
  template <typename Predicate>
  static bool anyOperand(Operation* op, Predicate predicate) {
    return llvm::any_of(MembersOf(op),
                        [&](Operation* member) { return llvm::any_of(member->getOperands(), predicate); });
  }

  bool decomposeOnPath() {
    bool changed = false;
    for (Operation* op : path_) {
      auto composite = llvm::dyn_cast<ir::CompositeInterface>(op);
      if (!composite || llvm::isa<ir::DifferentiableInterface>(op)) continue;
      mlir::OpBuilder at(op);
      GraphBuilder b(at, op->getLoc());
      op->replaceAllUsesWith(composite.decompose(b));
      op->erase();
      changed = true;
    }
    return changed;
  }

  mlir::LogicalResult checkDifferentiable(Operation* op) {
    auto epilogue = llvm::dyn_cast<ir::EpilogueInterface>(op);
    if (epilogue && epilogue.getActivation() != ir::Activation::none) {
      return refuse(op->emitOpError()
                    << "applies " << stringifyActivation(epilogue.getActivation())
                    << " to its result and has no gradient; expected the activation as an op of "
                       "its own");
    }
    auto kernel = llvm::dyn_cast<ir::ElementwiseKernelOp>(op);
    if (kernel && !kernel.getGradientAttr()) {
      return refuse(op->emitOpError()
                    << "\"" << kernel.getKernelName()
                    << "\" has no gradient; give the kernel one, ElementwiseOptions::gradient, or use "
                       "stop_gradient if that is intended");
    }
    if (ir::Collective::Of(op)) {
      std::string why = WhyNoGradient(op);
      return why.empty() ? mlir::success() : refuse(op->emitOpError(why));
    }
    if (llvm::isa<ir::DifferentiableInterface>(op)) return mlir::success();
    return refuse(op->emitOpError("has no gradient; use stop_gradient if that is intended"));
  }

  mlir::LogicalResult refuse(mlir::InFlightDiagnostic error) {
    error.attachNote(gradients_.getLoc()) << "the gradient is wanted here";
    return error;
  }

  void seed() {
    GraphBuilder b(builder_, gradientLoc(gradients_));
    Value loss = gradients_.getLoss();
    if (active_.contains(loss)) sums_[loss] = b.ones(b.wrap(loss)).value;
  }

  void propagate(Operation* op) {
    GraphBuilder b(builder_, gradientLoc(op));
    llvm::SmallVector<Operation*> members = MembersOf(op);
    // The last member is visited first, and the gradients of all results are known there.
    if (op != members.back()) return;
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
    if (!any) return;
    if (ir::Collective::Of(op)) {
      GradientsOfMembers terms = CollectiveGradient(b, members, std::move(gradients));
      for (auto [member, of_member] : llvm::zip_equal(members, terms)) accumulate(b, member, of_member);
    } else {
      accumulate(b, op, llvm::cast<ir::DifferentiableInterface>(op).buildGradient(b, gradients[0]));
    }
  }

  void accumulate(GraphBuilder& b, Operation* op, llvm::ArrayRef<Expr> terms) {
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

  void add(GraphBuilder& b, Value operand, Expr term) {
    Value& sum = sums_[operand];
    sum = sum ? b.add(b.wrap(sum), term).value : term.value;
  }

  // Returns the gradient of a value once all its readers have been visited; null if it has none.
  Value sumOf(GraphBuilder& b, Value value) {
    if (auto parts = parts_.find(value); parts != parts_.end()) {
      for (Expr term : SumOfParts(b, parts->second)) add(b, value, term);
      parts_.erase(parts);
    }
    return sums_.lookup(value);
  }

  void replace() {
    GraphBuilder b(builder_, gradientLoc(gradients_));
    for (auto [x, gradient] : llvm::zip_equal(gradients_.getXs(), gradients_.getGradients())) {
      Value sum = sumOf(b, x);
      gradient.replaceAllUsesWith(sum ? sum : b.zeros(b.wrap(x)).value);
    }
    gradients_.erase();
  }

  static mlir::Location gradientLoc(Operation* forward) {
    auto name = mlir::StringAttr::get(forward->getContext(), "gradient");
    return mlir::FusedLoc::get(forward->getContext(), {forward->getLoc()}, name);
  }

  ir::GradientsOp gradients_;
  mlir::OpBuilder builder_;
  llvm::DenseSet<Value> active_;        // Floating-point values that depend on the xs.
  llvm::SmallVector<Operation*> path_;  // In program order.
  llvm::DenseMap<Value, Value> sums_;   // The gradient of the loss with respect to a value, so far.
  llvm::DenseMap<Value, llvm::SmallVector<ir::PadOp>> parts_;  // Additional terms, from slices of a value.
};

class DifferentiatePass : public impl::DifferentiateBase<DifferentiatePass> {
 public:
  using DifferentiateBase::DifferentiateBase;

  // In program order, so that a gradient of a gradient sees the inner one expanded.
  void runOnOperation() override {
    llvm::SmallVector<ir::GradientsOp> all;
    getOperation().walk([&](ir::GradientsOp op) { all.push_back(op); });
    for (ir::GradientsOp op : all) {
      if (mlir::failed(ReverseMode(op).run())) return signalPassFailure();
    }
    // Kernels need no gradient any more. Private functions keep theirs: other gradients are built from them
    // until unused.
    if (getOperation().isPrivate()) return;
    getOperation().walk([](ir::ElementwiseKernelOp kernel) { kernel.removeGradientAttr(); });
  }
};

}  // namespace
}  // namespace sinter
