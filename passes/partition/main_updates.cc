#include "sinter/passes/partition/main_updates.h"

namespace sinter {

using mlir::Operation;
using mlir::Value;
using mlir::func::FuncOp;

MainUpdates::MainUpdates(llvm::ArrayRef<FuncOp> functions, llvm::ArrayRef<BatchSharding> shardings) {
  for (auto [function, sharding] : llvm::zip(functions, shardings)) {
    findOps(function, sharding);
    findVariables(function);
  }
}

void MainUpdates::findOps(FuncOp function, const BatchSharding& sharding) {
  mlir::Block& body = function.getBody().front();
  for (Operation& op : body.without_terminator()) {
    const ir::ShardingRule* rule = sharding.ruleOf(&op);
    bool is_sum = rule && rule->partial == ir::ReduceKind::sum && !sharding.feedsBatch(op.getResult(0));
    bool follows = llvm::any_of(op.getOperands(), [&](Value operand) { return values_.contains(operand); });
    if (follows) ops_.insert(&op);
    if (is_sum || follows) values_.insert(op.result_begin(), op.result_end());
  }
  for (Operation& op : llvm::reverse(body.without_terminator())) {
    if (sharding.ruleOf(&op) || op.use_empty()) continue;
    if (llvm::all_of(op.getUsers(), [&](Operation* user) { return ops_.contains(user); })) ops_.insert(&op);
  }
}

void MainUpdates::findVariables(FuncOp function) {
  Operation* result = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(result->getOperands())) {
    auto variable = function.getResultAttrOfType<mlir::FlatSymbolRefAttr>(i, ir::kVariableAttr);
    if (variable && values_.contains(value)) updated_[variable.getValue()] = true;
  }
  for (mlir::BlockArgument argument : function.getArguments()) {
    auto variable =
        function.getArgAttrOfType<mlir::FlatSymbolRefAttr>(argument.getArgNumber(), ir::kVariableAttr);
    if (!variable) continue;
    for (mlir::OpOperand& use : argument.getUses()) {
      if (ops_.contains(use.getOwner())) continue;
      // The variable keeps its value.
      if (use.getOwner() == result &&
          function.getResultAttr(use.getOperandNumber(), ir::kVariableAttr) == variable) {
        continue;
      }
      elsewhere_[variable.getValue()] = true;
    }
  }
}

}  // namespace sinter
