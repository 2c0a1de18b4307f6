#include "sinter/passes/partition/variable_wishes.h"

#include "sinter/passes/partition/op_sharding.h"

namespace sinter {

using ir::Sharding;
using mlir::Operation;
using mlir::StringAttr;
using mlir::Value;
using mlir::func::FuncOp;

VariableWishes::VariableWishes(FuncOp function, ir::MeshAttr mesh, const VariableCuts& cuts)
    : mesh_(mesh), cuts_(cuts) {
  wish(stored_, function,
       [&](llvm::StringRef variable, StringAttr axis) { return cuts.isStored(variable, axis); });
  wish(worked_, function,
       [&](llvm::StringRef variable, StringAttr axis) { return !cuts.isStored(variable, axis); });
  wishTerms(function);
}

void VariableWishes::wish(Wishes& wishes, FuncOp function,
                          llvm::function_ref<bool(llvm::StringRef, StringAttr)> keeps) {
  Operation* last = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(last->getOperands())) {
    const llvm::StringRef variable = VariableOfResult(function, i);
    const ir::ShardingAttr cut = cuts_.of(variable);
    if (!cut) continue;
    Sharding parts = Sharding::Of(cut);
    parts.partial.clear();
    parts.combine.reset();
    for (auto& dim : parts.dims) {
      for (ir::Extent& extent : dim) {
        llvm::erase_if(extent.axes, [&](StringAttr axis) { return !keeps(variable, axis); });
      }
    }
    if (!parts.isWhole()) wishes.try_emplace(value, parts.canonical(mesh_));
  }
  for (Operation& op : llvm::reverse(function.getBody().front().without_terminator())) {
    wishOperands(wishes, &op);
  }
}

// Ops whose loops are all parallel give each rank its part of the result from parts of the operands.
void VariableWishes::wishOperands(Wishes& wishes, Operation* op) {
  if (op->getNumResults() != 1 || !wishes.contains(op->getResult(0))) return;
  OpSharding parts(op, mesh_);
  const Sharding wish = wishes.find(op->getResult(0))->second;
  for (const ir::Factor& factor : parts.rule().factors) {
    if (factor.kind != ir::FactorKind::kParallel) return;
  }
  for (StringAttr axis : AxesInOrder(mesh_, wish)) {
    if (!wish.isCutBy(axis)) continue;
    std::optional<unsigned> factor = parts.factorAtResult(0, wish, axis);
    if (!factor) return;
    parts.cut(*factor, axis);
  }
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    Sharding part = parts.operand(i);
    if (!part.isWhole()) wishes.try_emplace(operand, std::move(part));
  }
}

void VariableWishes::wishTerms(FuncOp function) {
  Operation* last = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(last->getOperands())) {
    const ir::ShardingAttr cut = cuts_.of(VariableOfResult(function, i));
    if (!cut || Sharding::Of(cut).partial.empty()) continue;
    terms_.try_emplace(value, Sharding::Of(cut).canonical(mesh_));
  }
  for (Operation& op : llvm::reverse(function.getBody().front().without_terminator())) wishTermsOf(&op);
}

// The operands of which a pointwise op makes terms, if there is one choice of them.
void VariableWishes::wishTermsOf(Operation* op) {
  if (op->getNumResults() != 1 || !terms_.contains(op->getResult(0))) return;
  const ir::FactorRule rule = ir::FactorsOf(op);
  if (rule.linear_in.size() != 1) return;
  const Sharding wish = terms_.find(op->getResult(0))->second;
  for (unsigned i : rule.linear_in[0]) {
    if (rule.operands[i] == rule.results[0]) terms_.try_emplace(op->getOperand(i), wish);
  }
}

}  // namespace sinter
