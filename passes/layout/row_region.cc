#include "sinter/passes/layout/row_region.h"
#include "sinter/ir/dialect/tensor_types.h"

namespace sinter {

using ir::kWhole;
using ir::ShardingRule;
using ir::TypeOf;
using mlir::Operation;
using mlir::Value;

namespace {

std::string OpName(Operation* op) { return op->getName().getStringRef().str(); }

}  // namespace

RowRegion::RowRegion(ir::MatmulOp matmul) : matmul_(matmul), type_(matmul.getType()) {
  for (auto it = matmul->getIterator(), end = matmul->getBlock()->end(); it != end; ++it) {
    if (!it->hasTrait<mlir::OpTrait::IsTerminator>()) later_.push_back(&*it);
  }
  findRules();
  findOps();
  addRowWork();
  check();
}

bool RowRegion::isLarge(Value value) const {
  return TypeOf(value).getNumElements() * 2 >= type_.getNumElements();
}

void RowRegion::findRules() {
  dependent_.insert(matmul_);
  split_[matmul_->getResult(0)] = 0;
  if (auto rule = ir::ShardAlong(matmul_, 0, 0)) rules_.try_emplace(matmul_, *std::move(rule));
  for (Operation* op : llvm::ArrayRef(later_).drop_front()) {
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      if (!depends(operand)) continue;
      dependent_.insert(op);
      auto dim = split_.find(operand);
      if (dim == split_.end() || rules_.contains(op)) continue;
      auto rule = ir::ShardAlong(op, i, dim->second);
      if (!rule || rule->numerator != rule->denominator) continue;
      bool fits = llvm::all_of(llvm::enumerate(rule->operands), [&](auto each) {
        return each.value() == kWhole ||
               TypeOf(op->getOperand(each.index())).getDimSize(each.value()) == rows();
      });
      if (!fits) continue;
      for (auto [result, along] : llvm::zip(op->getResults(), rule->results)) {
        if (along != kWhole) split_[result] = along;
      }
      rules_.try_emplace(op, *std::move(rule));
    }
  }
}

// Finds the ops that read or compute a large value, and the ops between two of them.
void RowRegion::findOps() {
  auto large = [&](Value value) { return depends(value) && isLarge(value); };
  llvm::DenseSet<Operation*> wanted;
  for (Operation* op : llvm::reverse(later_)) {
    if (!dependent_.contains(op)) continue;
    bool touches = llvm::any_of(op->getOperands(), large) || llvm::any_of(op->getResults(), large);
    bool feeds = llvm::any_of(op->getUsers(), [&](Operation* user) { return wanted.contains(user); });
    if (touches || feeds) wanted.insert(op);
  }
  for (Operation* op : later_) {
    if (wanted.contains(op)) ops_.insert(op);
  }
}

// Adds row-by-row work on the region's results, such as each row's loss, so that less must be kept. A matmul
// that contracts a result would make it wide again; such results are joined instead.
void RowRegion::addRowWork() {
  llvm::DenseSet<Operation*> members(ops_.begin(), ops_.end());
  for (Operation* op : later_) {
    auto rule = rules_.find(op);
    if (members.contains(op) || rule == rules_.end() || rule->second.partial) continue;
    if (!llvm::isa<ir::PointwiseInterface>(op)) continue;
    bool ready = llvm::all_of(op->getOperands(), [&](Value operand) {
      if (!depends(operand)) return true;
      Operation* from = operand.getDefiningOp();
      return members.contains(from) && split_.contains(operand) && !llvm::isa<ir::StepInterface>(from);
    });
    if (ready) members.insert(op);
  }
  ops_.clear();
  for (Operation* op : later_) {
    if (members.contains(op)) ops_.insert(op);
  }
}

std::string RowRegion::problemOf(Operation* op) const {
  auto found = rules_.find(op);
  if (found == rules_.end()) return OpName(op) + " needs all rows";
  const ShardingRule& rule = found->second;
  if (rule.only_first >= 0 || (rule.partial && *rule.partial != ir::ReduceKind::sum)) {
    return OpName(op) + " does not add rows up";
  }
  for (auto [operand, dim] : llvm::zip(op->getOperands(), rule.operands)) {
    if (!depends(operand)) continue;
    auto along = split_.find(operand);
    if (along == split_.end() || along->second != dim) return OpName(op) + " needs a sum of all rows";
  }
  for (Value result : op->getResults()) {
    bool leaves = llvm::any_of(result.getUsers(), [&](Operation* user) { return !ops_.contains(user); });
    if (leaves && split_.contains(result) && isLarge(result))
      return "all of the result of " + OpName(op) + " is read";
  }
  bool contracts = op != matmul_ && llvm::isa<ir::StepInterface>(op);
  bool feeds = llvm::any_of(op->getUsers(), [&](Operation* user) { return ops_.contains(user); });
  if (contracts && feeds) return "the result of " + OpName(op) + " is needed for the same rows";
  return "";
}

void RowRegion::check() {
  for (Operation* op : ops_) {
    problem_ = problemOf(op);
    if (!problem_.empty()) return;
  }
}

llvm::SmallVector<Value> RowRegion::results() const {
  llvm::SmallVector<Value> results;
  for (Operation* op : ops_) {
    for (Value result : op->getResults()) {
      if (llvm::any_of(result.getUsers(), [&](Operation* user) { return !ops_.contains(user); })) {
        results.push_back(result);
      }
    }
  }
  return results;
}

}  // namespace sinter
