#include "sinter/passes/plan/fragment_results.h"

#include "llvm/ADT/DenseSet.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter {

using mlir::Value;

namespace {

// Returns a result of the fusion that takes the place of this one, with the same value as `result`.
Value AddResult(ir::FusionOp fusion, mlir::OpResult result) {
  mlir::OpBuilder at(fusion);
  auto yield = llvm::cast<ir::YieldOp>(fusion.getBody().front().getTerminator());
  yield.getValuesMutable().append(yield.getValues()[result.getResultNumber()]);
  llvm::SmallVector<mlir::Type> types(fusion.getResultTypes());
  types.push_back(result.getType());
  auto larger = at.create<ir::FusionOp>(fusion.getLoc(), types, fusion.getInputs(), fusion.getKindAttr());
  larger->setDiscardableAttrs(fusion->getDiscardableAttrDictionary());
  larger.getBody().takeBody(fusion.getBody());
  fusion.replaceAllUsesWith(larger.getResults().drop_back());
  fusion.erase();
  return larger.getResults().back();
}

}  // namespace

void SeparateResults(mlir::func::FuncOp fragment) {
  mlir::Operation* end = fragment.getBody().front().getTerminator();
  for (unsigned i = 0; i < end->getNumOperands(); ++i) {
    auto result = llvm::dyn_cast<mlir::OpResult>(end->getOperand(i));
    auto fusion = result ? llvm::dyn_cast<ir::FusionOp>(result.getOwner()) : ir::FusionOp();
    if (fusion && llvm::is_contained(end->getOperands().take_front(i), result)) {
      end->setOperand(i, AddResult(fusion, result));
    }
  }
}

}  // namespace sinter
