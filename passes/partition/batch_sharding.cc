#include "sinter/passes/partition/batch_sharding.h"
#include "sinter/ir/dialect/tensor_types.h"

namespace sinter {

using ir::kWhole;
using ir::ShapeOf;
using ir::ShardingRule;
using mlir::Operation;
using mlir::Value;

namespace {

// Returns the bounds of an op's results; nullopt if a bound would not be an integer.
std::optional<llvm::SmallVector<int64_t>> ResultBounds(const ShardingRule& rule,
                                                       llvm::ArrayRef<int64_t> bounds) {
  llvm::SmallVector<int64_t> result;
  for (int64_t bound : bounds) {
    if (bound * rule.numerator % rule.denominator != 0) return std::nullopt;
    result.push_back(bound * rule.numerator / rule.denominator);
  }
  return result;
}

}  // namespace

BatchSharding::BatchSharding(mlir::func::FuncOp function, llvm::ArrayRef<int64_t> bounds,
                             llvm::ArrayRef<std::string> whole_inputs) {
  for (mlir::BlockArgument argument : function.getArguments()) {
    auto name = function.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), ir::kInputAttr);
    if (!name || ShapeOf(argument).empty() || llvm::is_contained(whole_inputs, name.getValue())) continue;
    shardings_[argument] = {0, llvm::SmallVector<int64_t>(bounds)};
  }
  for (Operation& op : function.getBody().front().without_terminator()) visit(&op);
  findFeeds(function);
}

const SplitBatch& BatchSharding::of(Value value) const {
  static const SplitBatch whole;
  auto found = shardings_.find(value);
  return found == shardings_.end() ? whole : found->second;
}

const ShardingRule* BatchSharding::ruleOf(Operation* op) const {
  auto found = rules_.find(op);
  return found == rules_.end() ? nullptr : &found->second;
}

SplitBatch BatchSharding::wanted(Operation* op, unsigned operand) const {
  const ShardingRule* rule = ruleOf(op);
  if (!rule || rule->operands[operand] == kWhole) return {};
  return {rule->operands[operand], bounds_.at(op)};
}

// True if no operand is split where the rule needs all of it, along another dimension, or at other bounds.
bool BatchSharding::fits(Operation* op, const ShardingRule& rule, llvm::ArrayRef<int64_t> bounds) const {
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    const SplitBatch& sharding = of(operand);
    int64_t dim = rule.operands[i];
    if (dim != kWhole && ShapeOf(operand)[dim] != bounds.back()) return false;
    if (sharding.IsSplit() && (sharding.dim != dim || llvm::ArrayRef(sharding.bounds) != bounds))
      return false;
  }
  return ResultBounds(rule, bounds).has_value();
}

void BatchSharding::visit(Operation* op) {
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    const SplitBatch& sharding = of(operand);
    if (!sharding.IsSplit()) continue;
    llvm::SmallVector<int64_t> bounds = sharding.bounds;
    std::optional<ShardingRule> rule = ir::ShardAlong(op, i, sharding.dim);
    if (!rule || !fits(op, *rule, bounds)) continue;
    llvm::SmallVector<int64_t> result_bounds = *ResultBounds(*rule, bounds);
    for (auto [r, result] : llvm::enumerate(op->getResults())) {
      if (rule->results[r] != kWhole) shardings_[result] = {rule->results[r], result_bounds};
    }
    bounds_[op] = std::move(bounds);
    rules_.try_emplace(op, *std::move(rule));
    return;
  }
}

void BatchSharding::findFeeds(mlir::func::FuncOp function) {
  for (Operation& op : llvm::reverse(function.getBody().front().without_terminator())) {
    bool feeds =
        rules_.contains(&op) || llvm::any_of(op.getResults(), [&](Value r) { return feeds_.contains(r); });
    if (feeds) feeds_.insert(op.operand_begin(), op.operand_end());
  }
}

}  // namespace sinter
