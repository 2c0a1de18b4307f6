#include "sinter/passes/topological_order.h"

#include <queue>
#include <vector>

namespace sinter {

using mlir::Operation;

void SortTopologically(mlir::Block& block, const llvm::DenseMap<Operation*, unsigned>& rank) {
  llvm::DenseMap<Operation*, unsigned> waiting;
  auto later = [&](Operation* a, Operation* b) { return rank.lookup(a) > rank.lookup(b); };
  std::priority_queue<Operation*, std::vector<Operation*>, decltype(later)> ready(later);
  Operation* terminator = block.mightHaveTerminator() ? block.getTerminator() : nullptr;
  for (Operation& op : block) {
    if (&op == terminator) continue;
    unsigned count = 0;
    for (mlir::Value operand : op.getOperands()) {
      Operation* def = operand.getDefiningOp();
      if (def && def->getBlock() == &block) ++count;
    }
    if (count > 0) waiting[&op] = count;
    if (count == 0) ready.push(&op);
  }
  while (!ready.empty()) {
    Operation* op = ready.top();
    ready.pop();
    if (terminator) {
      op->moveBefore(terminator);
    } else {
      op->moveBefore(&block, block.end());
    }
    for (mlir::Value result : op->getResults()) {
      for (mlir::OpOperand& use : result.getUses()) {
        auto it = waiting.find(use.getOwner());
        if (it != waiting.end() && --it->second == 0) ready.push(use.getOwner());
      }
    }
  }
}

}  // namespace sinter
