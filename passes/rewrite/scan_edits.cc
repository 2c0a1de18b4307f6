#include "sinter/passes/rewrite/scan_edits.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace sinter {

using mlir::Operation;
using mlir::Value;

ir::ScanOp AddCarry(ir::ScanOp scan, Value start, llvm::function_ref<Value(mlir::OpBuilder&, Value)> next) {
  const size_t carries = scan.getCarries().size();
  mlir::BlockArgument argument =
      scan.block().insertArgument(static_cast<unsigned>(1 + carries), start.getType(), start.getLoc());
  mlir::OpBuilder inside(scan.yield());
  llvm::SmallVector<Value> yields(scan.yield().getValues()), starts(scan.getCarries());
  llvm::SmallVector<mlir::Type> types(scan.getResultTypes());
  yields.insert(yields.begin() + carries, next(inside, argument));
  types.insert(types.begin() + carries, start.getType());
  starts.push_back(start);
  scan.yield().getValuesMutable().assign(yields);
  mlir::OpBuilder at(scan);
  auto loop = at.create<ir::ScanOp>(scan.getLoc(), types, scan.getTripsAttr(), scan.getReverseAttr(),
                                    scan.getGuardedAttr(), starts, scan.getSlices(), scan.getInvariants());
  loop->setDiscardableAttrs(scan->getDiscardableAttrDictionary());
  loop.getBody().takeBody(scan.getBody());
  for (auto [i, result] : llvm::enumerate(scan.getResults())) {
    result.replaceAllUsesWith(loop.getResult(i < carries ? i : i + 1));
  }
  scan.erase();
  return loop;
}

void DropResults(ir::ScanOp scan, const llvm::BitVector& is_gone) {
  const size_t carries = scan.getCarries().size();
  llvm::SmallVector<Value> yields, kept_results, kept_carries;
  llvm::SmallVector<mlir::Type> types;
  for (auto [i, value] : llvm::enumerate(scan.yield().getValues())) {
    if (is_gone.test(i)) continue;
    yields.push_back(value);
    types.push_back(scan.getResult(i).getType());
    kept_results.push_back(scan.getResult(i));
    if (i < carries) kept_carries.push_back(scan.getCarries()[i]);
  }
  scan.yield().getValuesMutable().assign(yields);
  llvm::SmallVector<Operation*> ops;
  for (Operation& op : scan.block().without_terminator()) ops.push_back(&op);
  for (Operation* op : llvm::reverse(ops)) {
    if (mlir::isOpTriviallyDead(op)) op->erase();
  }
  for (size_t i = carries; i-- > 0;) {
    if (is_gone.test(i)) scan.block().eraseArgument(static_cast<unsigned>(1 + i));
  }
  mlir::OpBuilder at(scan);
  auto loop =
      at.create<ir::ScanOp>(scan.getLoc(), types, scan.getTripsAttr(), scan.getReverseAttr(),
                            scan.getGuardedAttr(), kept_carries, scan.getSlices(), scan.getInvariants());
  loop->setDiscardableAttrs(scan->getDiscardableAttrDictionary());
  loop.getBody().takeBody(scan.getBody());
  for (auto [old, now] : llvm::zip_equal(kept_results, loop.getResults())) old.replaceAllUsesWith(now);
  scan.erase();
}

ir::ScanOp GuardTrips(ir::ScanOp scan) {
  mlir::OpBuilder at(scan);
  const mlir::UnitAttr none;
  auto all = at.create<ir::ScanOp>(scan.getLoc(), scan.getResultTypes(), scan.getTripsAttr(), none, none,
                                   scan.getCarries(), mlir::ValueRange(), scan.getInvariants());
  all->setDiscardableAttrs(scan->getDiscardableAttrDictionary());
  mlir::Block& block = all.getBody().emplaceBlock();
  for (mlir::BlockArgument argument : scan.block().getArguments())
    block.addArgument(argument.getType(), argument.getLoc());
  at.setInsertionPointToEnd(&block);
  // The trip of the loop is an invariant of the branch.
  llvm::SmallVector<Value> invariants(all.invariantArguments());
  invariants.push_back(all.trip());
  mlir::BlockArgument trip = scan.block().addArgument(scan.trip().getType(), scan.getLoc());
  scan.trip().replaceAllUsesWith(trip);
  const llvm::SmallVector<Value> carries(all.carryArguments());
  auto branch = at.create<ir::ScanOp>(scan.getLoc(), scan.getResultTypes(), at.getI64IntegerAttr(1), none,
                                      scan.getGuardedAttr(), carries, mlir::ValueRange(), invariants);
  branch->setDiscardableAttrs(scan->getDiscardableAttrDictionary());
  branch.getBody().takeBody(scan.getBody());
  at.create<ir::YieldOp>(scan.getLoc(), branch.getResults());
  scan.replaceAllUsesWith(all);
  scan.erase();
  return all;
}

}  // namespace sinter
