#include "llvm/ADT/MapVector.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/place/placement_solver.h"

namespace sinter {

#define GEN_PASS_DEF_PLACECONSTANTS
#include "passes/passes.h.inc"

namespace {

using ir::DeviceAttr;
using mlir::Operation;

// The device of a use of a constant: its op's device, or the result's.
DeviceAttr DeviceOfUse(mlir::func::FuncOp function, mlir::OpOperand& use) {
  Operation* user = use.getOwner();
  if (!user->hasTrait<mlir::OpTrait::IsTerminator>()) return ir::DeviceOf(user);
  unsigned i = use.getOperandNumber();
  auto variable = function.getResultAttrOfType<mlir::FlatSymbolRefAttr>(i, ir::kVariableAttr);
  if (!variable) return function.getResultAttrOfType<DeviceAttr>(i, ir::kDeviceAttr);
  Operation* op = mlir::SymbolTable::lookupNearestSymbolFrom(function, variable);
  return op ? ir::DeviceOf(op) : DeviceAttr();
}

// Splits the uses of `op` by device: the op serves the first device, a clone each other one.
mlir::LogicalResult Place(mlir::func::FuncOp function, Operation* op) {
  llvm::MapVector<DeviceAttr, llvm::SmallVector<mlir::OpOperand*>> uses;
  for (mlir::OpOperand& use : op->getUses()) uses[DeviceOfUse(function, use)].push_back(&use);
  bool unplaced = llvm::any_of(uses, [](auto& entry) { return !entry.first; });
  for (mlir::Value operand : op->getOperands()) unplaced |= static_cast<bool>(ir::DeviceOf(operand));
  if (unplaced) {
    return op->emitOpError("has no device, nor have all of its users; run sinter-propagate-placement first");
  }
  llvm::SmallVector<DeviceAttr> devices;
  for (auto& [device, operands] : uses) devices.push_back(device);
  llvm::sort(devices, [](DeviceAttr a, DeviceAttr b) { return a.before(b); });
  mlir::OpBuilder builder(op);
  for (DeviceAttr device : llvm::drop_begin(devices, devices.empty() ? 0 : 1)) {
    Operation* clone = builder.clone(*op);
    ir::SetDevice(clone, device);
    for (mlir::OpOperand* use : uses[device]) {
      use->set(clone->getResult(llvm::cast<mlir::OpResult>(use->get()).getResultNumber()));
    }
  }
  if (devices.empty()) {
    op->erase();
  } else {
    ir::SetDevice(op, devices[0]);
  }
  return mlir::success();
}

class PlaceConstantsPass : public impl::PlaceConstantsBase<PlaceConstantsPass> {
 public:
  using PlaceConstantsBase::PlaceConstantsBase;

  void runOnOperation() override {
    if (!MentionsDevices(getOperation())) return;
    for (auto function : getOperation().getOps<mlir::func::FuncOp>()) {
      if (function.isExternal()) continue;
      // Users before their operands, so that a chain of constants is copied as a whole.
      auto ops = llvm::reverse(function.getBody().front().without_terminator());
      for (Operation& op : llvm::make_early_inc_range(ops)) {
        if (llvm::isa<ir::CopyOp>(op) || ir::DeviceOf(&op)) continue;
        if (mlir::failed(Place(function, &op))) return signalPassFailure();
      }
    }
  }
};

}  // namespace
}  // namespace sinter
