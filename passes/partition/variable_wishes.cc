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
}

void VariableWishes::wish(Wishes& wishes, FuncOp function,
                          llvm::function_ref<bool(llvm::StringRef, StringAttr)> keeps) {
  Operation* last = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(last->getOperands())) {
    const llvm::StringRef variable = VariableOfResult(function, i);
    const ir::ShardingAttr cut = cuts_.of(variable);
    if (!cut) continue;
    Sharding parts = Sharding::Of(cut);
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

}  // namespace sinter
