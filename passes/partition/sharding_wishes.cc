#include "sinter/passes/partition/sharding_wishes.h"

#include "sinter/ir/dialect/mesh.h"
#include "sinter/passes/partition/op_sharding.h"

namespace sinter {

using ir::FactorKind;
using ir::Sharding;
using mlir::Operation;
using mlir::StringAttr;

namespace {

// Returns the sharding with the cuts by these axes alone.
Sharding OnlyAxes(Sharding sharding, llvm::function_ref<bool(StringAttr)> keeps) {
  for (auto& dim : sharding.dims) {
    for (ir::Extent& extent : dim) llvm::erase_if(extent.axes, [&](StringAttr axis) { return !keeps(axis); });
  }
  return sharding;
}

}  // namespace

ShardingWishes::ShardingWishes(mlir::func::FuncOp function, ir::MeshAttr mesh, const VariableCuts& cuts)
    : mesh_(mesh) {
  Operation* last = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(last->getOperands())) {
    const llvm::StringRef variable = VariableOfResult(function, i);
    const ir::ShardingAttr cut = cuts.of(variable);
    if (!cut) continue;
    Sharding stored =
        OnlyAxes(Sharding::Of(cut), [&](StringAttr axis) { return cuts.isStored(variable, axis); });
    if (!stored.partial.empty()) terms_.try_emplace(value, Sharding::Of(cut).canonical(mesh_));
    stored.partial.clear();
    stored.combine.reset();
    if (!stored.isWhole()) parts_.try_emplace(value, stored.canonical(mesh_));
  }
  for (Operation& op : llvm::reverse(function.getBody().front().without_terminator())) {
    wishParts(&op);
    wishTerms(&op);
  }
}

// The operands of which a pointwise op makes terms, if there is one choice of them.
void ShardingWishes::wishTerms(Operation* op) {
  if (op->getNumResults() != 1 || !terms_.contains(op->getResult(0))) return;
  const ir::FactorRule rule = ir::FactorsOf(op);
  if (rule.linear_in.size() != 1) return;
  const Sharding wish = terms_.find(op->getResult(0))->second;
  for (unsigned i : rule.linear_in[0]) {
    if (rule.operands[i] == rule.results[0]) terms_.try_emplace(op->getOperand(i), wish);
  }
}

// Ops whose loops are all parallel give each rank its part of the result from parts of the operands.
void ShardingWishes::wishParts(Operation* op) {
  if (op->getNumResults() != 1 || !parts_.contains(op->getResult(0))) return;
  OpSharding parts(op, mesh_);
  const Sharding wish = parts_.find(op->getResult(0))->second;
  for (const ir::Factor& factor : parts.rule().factors) {
    if (factor.kind != FactorKind::kParallel) return;
  }
  for (StringAttr axis : AxesInOrder(mesh_, wish)) {
    if (!wish.isCutBy(axis)) continue;
    std::optional<unsigned> factor = parts.factorAtResult(0, wish, axis);
    if (!factor) return;
    parts.cut(*factor, axis);
  }
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    Sharding part = parts.operand(i);
    if (!part.isWhole()) parts_.try_emplace(operand, std::move(part));
  }
}

}  // namespace sinter
