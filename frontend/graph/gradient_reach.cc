#include "sinter/frontend/graph/gradient_reach.h"

#include "absl/strings/str_cat.h"
#include "mlir/IR/TypeUtilities.h"
#include "sinter/ir/dialect/element_types.h"
#include "sinter/ir/program/collective.h"
#include "sinter/passes/rewrite/collective_gradients.h"

namespace sinter {

namespace {

bool IsFloatValue(mlir::Value value) {
  return ir::IsComputedFloat(mlir::getElementTypeOrSelf(value.getType()));
}

// For each operand of the op: true if it receives a gradient from the gradients of the wanted results. To
// find out, the function builds the op's gradient in a scratch block. The results stand in for their own
// gradients, which have the same types.
llvm::SmallVector<bool> Receives(mlir::Operation* op, llvm::function_ref<bool(mlir::Value)> is_wanted) {
  llvm::SmallVector<bool> receives;
  for (mlir::Value operand : op->getOperands()) receives.push_back(IsFloatValue(operand));
  auto differentiable = llvm::dyn_cast<ir::DifferentiableInterface>(op);
  // Composites use all of their operands. A kernel or a collective without a gradient is a separate error.
  if (!differentiable || llvm::isa<ir::ElementwiseKernelOp>(op) || ir::Collective::Of(op)) return receives;
  mlir::Block beside;
  mlir::OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&beside);
  ir::GraphBuilder b(builder, op->getLoc());
  llvm::SmallVector<ir::Expr> gradients;
  for (mlir::Value result : op->getResults()) {
    gradients.push_back(is_wanted(result) ? b.wrap(result) : ir::Expr());
  }
  // buildGradient requires at least one gradient.
  if (llvm::none_of(gradients, [](const ir::Expr& g) { return static_cast<bool>(g); })) return receives;
  for (auto [receive, term] : llvm::zip_equal(receives, differentiable.buildGradient(b, gradients))) {
    receive = receive && term;
  }
  return receives;
}

// Returns "ArgMax at model.cc:41".
std::string CallAndLine(mlir::Operation* op) {
  auto call = llvm::dyn_cast<mlir::NameLoc>(op->getLoc());
  auto line = call ? llvm::dyn_cast<mlir::FileLineColLoc>(call.getChildLoc()) : mlir::FileLineColLoc();
  if (!line) return op->getName().getStringRef().str();
  return absl::StrCat(call.getName().str(), " at ", line.getFilename().str(), ":", line.getLine());
}

}  // namespace

GradientReach::GradientReach(mlir::Value loss) : reached_({loss}), used_({loss}) {
  mlir::Operation* last = loss.getDefiningOp();
  if (!last) return;
  auto is_reached = [&](mlir::Value v) { return reached_.contains(v); };
  auto is_used = [&](mlir::Value v) { return used_.contains(v); };
  mlir::Block& block = *last->getBlock();
  for (mlir::Operation& op : llvm::reverse(block)) {
    llvm::SmallVector<mlir::Operation*> members = MembersOf(&op);
    auto any_result = [&](llvm::function_ref<bool(mlir::Value)> is) {
      return llvm::any_of(members, [&](mlir::Operation* m) { return llvm::any_of(m->getResults(), is); });
    };
    if (any_result(is_used)) used_.insert(op.operand_begin(), op.operand_end());
    if (!any_result([&](mlir::Value v) { return IsFloatValue(v) && is_reached(v); })) continue;
    for (auto [operand, receives] : llvm::zip_equal(op.getOperands(), Receives(&op, is_reached))) {
      if (receives) reached_.insert(operand);
    }
  }
}

std::string GradientReach::WhyNot(mlir::Value value) const {
  if (!used_.contains(value)) return "the loss does not depend on it";
  // Follows gradients forwards, to the first op that passes none on.
  llvm::DenseSet<mlir::Value> active = {value};
  for (mlir::Operation& op : *value.getParentBlock()) {
    auto is_used = [&](mlir::Value v) { return used_.contains(v); };
    if (llvm::none_of(op.getResults(), is_used)) continue;
    bool takes = false, passes = false;
    for (auto [operand, receives] :
         llvm::zip_equal(op.getOperands(), Receives(&op, [](mlir::Value v) { return IsFloatValue(v); }))) {
      takes |= active.contains(operand);
      passes |= active.contains(operand) && receives && llvm::any_of(op.getResultTypes(), [](mlir::Type t) {
                  return ir::IsComputedFloat(mlir::getElementTypeOrSelf(t));
                });
    }
    if (takes && !passes) {
      return absl::StrCat("the loss depends on it by ", CallAndLine(&op),
                          ", through which no gradient flows");
    }
    if (passes) active.insert(op.result_begin(), op.result_end());
  }
  return "no gradient flows to it from the loss";
}

}  // namespace sinter
