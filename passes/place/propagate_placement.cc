#include "sinter/ir/dialect/function_attrs.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/place/placement_solver.h"

namespace sinter {

#define GEN_PASS_DEF_PROPAGATEPLACEMENT
#include "passes/passes.h.inc"

namespace {

using ir::CopyCause;
using ir::DeviceAttr;
using mlir::Operation;
using mlir::Value;
using mlir::func::FuncOp;

// "Device::Gpu(1)", as the user would write it.
std::string InCpp(DeviceAttr device) {
  const std::string index = std::to_string(device.getIndex());
  switch (device.getKind()) {
    case ir::DeviceKind::cpu:
      return "Device::Cpu(" + index + ")";
    case ir::DeviceKind::gpu:
      return "Device::Gpu(" + index + ")";
  }
  return "*Device::Parse(\"" + device.text() + "\")";
}

// Settles one function: copies operands where allowed, refuses the rest.
class FunctionPlacement {
 public:
  FunctionPlacement(FuncOp function, const PlacementSolver& placement, bool automatic)
      : function_(function), placement_(placement), automatic_(automatic) {}

  mlir::LogicalResult run();

 private:
  void settleCopy(ir::CopyOp copy);
  mlir::LogicalResult settleOp(Operation* op);
  mlir::LogicalResult settleResults();
  // Returns the cause for copying the value to another device; nullopt if it must not be copied.
  std::optional<CopyCause> mayCopy(Value value);
  void copy(mlir::OpOperand& operand, DeviceAttr to, CopyCause cause);
  mlir::LogicalResult refuse(Operation* op, unsigned operand, DeviceAttr on, DeviceAttr from);
  // True for a value that is made where it is needed: one computed from constants, or the gradient of one.
  bool hasNoDevice(Value value) const { return !of(value); }
  // The device of a value of the program, or of a copy made here.
  DeviceAttr of(Value value) const {
    auto made = made_.find(value);
    return made == made_.end() ? placement_.of(value) : made->second;
  }

  FuncOp function_;
  const PlacementSolver& placement_;
  bool automatic_;
  llvm::DenseMap<std::pair<Value, DeviceAttr>, Value> copies_;
  llvm::DenseMap<Value, DeviceAttr> made_;
};

mlir::LogicalResult FunctionPlacement::run() {
  mlir::LogicalResult result = mlir::success();
  for (Operation& op : llvm::make_early_inc_range(function_.getBody().front().without_terminator())) {
    if (auto copy = llvm::dyn_cast<ir::CopyOp>(op)) {
      settleCopy(copy);
    } else if (!llvm::isa<ir::GradientsOp>(op) && mlir::failed(settleOp(&op))) {
      result = mlir::failure();
    }
  }
  if (mlir::failed(settleResults())) result = mlir::failure();
  return result;
}

// A constant is made where it is needed, and a value that is already on the device needs no copy.
void FunctionPlacement::settleCopy(ir::CopyOp copy) {
  DeviceAttr to = placement_.of(copy.getOperation());
  if (hasNoDevice(copy.getX()) || of(copy.getX()) == to) {
    copy.replaceAllUsesWith(copy.getX());
    copy.erase();
    return;
  }
  ir::SetDevice(copy, to);
  copies_.try_emplace({copy.getX(), to}, copy.getResult());
}

mlir::LogicalResult FunctionPlacement::settleOp(Operation* op) {
  DeviceAttr on = placement_.of(op);
  for (mlir::OpOperand& operand : op->getOpOperands()) {
    if (!on || hasNoDevice(operand.get()) || of(operand.get()) == on) continue;
    auto cause = mayCopy(operand.get());
    if (!cause) return refuse(op, operand.getOperandNumber(), on, of(operand.get()));
    copy(operand, on, *cause);
  }
  return mlir::success();
}

mlir::LogicalResult FunctionPlacement::settleResults() {
  Operation* op = function_.getBody().front().getTerminator();
  for (mlir::OpOperand& operand : op->getOpOperands()) {
    unsigned i = operand.getOperandNumber();
    DeviceAttr on = placement_.ofResult(function_, i), from = of(operand.get());
    if (!on || hasNoDevice(operand.get()) || from == on) continue;
    if (auto cause = mayCopy(operand.get())) {
      copy(operand, on, *cause);
      continue;
    }
    auto variable = function_.getResultAttrOfType<mlir::FlatSymbolRefAttr>(i, ir::kVariableAttr);
    auto error = mlir::emitError(operand.get().getLoc());
    if (variable) {
      error << "the new value of variable \"" << variable.getValue() << "\" is on " << from.text()
            << ", the variable on ";
    } else {
      error << "result " << i << " of '" << function_.getSymName() << "' is computed on " << from.text()
            << " and wanted on ";
    }
    error << on.text() << "; copy it first, Copy(x, " << InCpp(on)
          << "), or compile with CompileOptions::copies = Copies::kAutomatic";
    return error;
  }
  return mlir::success();
}

std::optional<CopyCause> FunctionPlacement::mayCopy(Value value) {
  if (placement_.isFree(value)) {
    auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
    if (argument && function_.getArgAttr(argument.getArgNumber(), ir::kInputAttr)) return CopyCause::input;
    if (ir::TypeOf(value).getRank() == 0) return CopyCause::scalar;
  }
  return automatic_ ? std::optional(CopyCause::automatic) : std::nullopt;
}

void FunctionPlacement::copy(mlir::OpOperand& operand, DeviceAttr to, CopyCause cause) {
  Value& copied = copies_[{operand.get(), to}];
  if (!copied) {
    Operation* reader = operand.getOwner();
    mlir::OpBuilder builder(reader);
    copied = builder.create<ir::CopyOp>(reader->getLoc(), operand.get().getType(), operand.get(), Value(), to,
                                        cause);
    made_[copied] = to;
  }
  operand.set(copied);
}

// Reports both lines, both devices, and the fix.
mlir::LogicalResult FunctionPlacement::refuse(Operation* op, unsigned operand, DeviceAttr on,
                                              DeviceAttr from) {
  auto error = op->emitOpError() << "mixes devices: it runs on " << on.text() << " and its operand "
                                 << operand << " is on " << from.text() << "; copy that first, Copy(x, "
                                 << InCpp(on)
                                 << "), or compile with CompileOptions::copies = Copies::kAutomatic";
  for (auto [i, value] : llvm::enumerate(op->getOperands())) {
    if (hasNoDevice(value) || of(value) != on) continue;
    error.attachNote(value.getLoc()) << "operand " << i << " is made here, on " << on.text();
    break;
  }
  error.attachNote(op->getOperand(operand).getLoc())
      << "operand " << operand << " is made here, on " << from.text();
  return error;
}

class PropagatePlacementPass : public impl::PropagatePlacementBase<PropagatePlacementPass> {
 public:
  using PropagatePlacementBase::PropagatePlacementBase;

  void runOnOperation() override {
    mlir::ModuleOp module = getOperation();
    DeviceAttr cpu = DeviceAttr::cpu(&getContext()), rest = DeviceAttr::parse(&getContext(), device);
    if (!rest || (copies != "explicit" && copies != "automatic")) {
      mlir::emitError(module.getLoc())
          << "cannot place on '" << device << "' with copies '" << copies << "'; expected a device of kind "
          << ir::DeviceKindNames() << ", such as gpu:0, and explicit or automatic";
      return signalPassFailure();
    }
    if (rest == cpu && !MentionsDevices(module)) return;
    PlacementSolver placement(module, rest);
    auto functions = module.getOps<FuncOp>();
    bool failed = false;
    for (FuncOp function : functions) {
      if (!IsPlaced(function)) continue;
      failed |= mlir::failed(FunctionPlacement(function, placement, copies == "automatic").run());
    }
    if (failed) return signalPassFailure();
    used_.clear();
    for (auto variable : module.getOps<ir::VariableOp>()) {
      note(placement.ofVariable(variable));
      ir::SetDevice(variable, placement.ofVariable(variable));
    }
    for (FuncOp function : functions) {
      if (IsPlaced(function)) annotate(function, placement, rest);
    }
    // Elsewhere a value without a device belongs on `rest`, also when this pass runs again.
    if (rest == cpu && used_.size() == 1 && used_.contains(cpu)) strip(module);
  }

 private:
  void note(DeviceAttr device) { used_.insert(device); }

  void annotate(FuncOp function, const PlacementSolver& placement, DeviceAttr rest) {
    ir::EditArgAttrs(function, [&](unsigned i, mlir::NamedAttrList& attributes) {
      DeviceAttr device = placement.of(Value(function.getArgument(i)));
      note(device);
      attributes.set(ir::kDeviceAttr, device);
    });
    for (Operation& op : function.getBody().front().without_terminator()) {
      if (llvm::isa<ir::GradientsOp>(op)) continue;
      // Copies made here already have their device.
      DeviceAttr device = llvm::isa<ir::CopyOp>(op) ? ir::DeviceOf(&op) : placement.of(&op);
      // Constants follow their users after this: folding shares constants across devices.
      bool is_constant = op.getNumOperands() == 0 && op.getNumRegions() == 0 && mlir::isPure(&op);
      if (device) note(device);
      if (!llvm::isa<ir::CopyOp>(op)) ir::SetDevice(&op, is_constant ? DeviceAttr() : device);
    }
    Operation* result = function.getBody().front().getTerminator();
    ir::EditResultAttrs(function, [&](unsigned i, mlir::NamedAttrList& attributes) {
      if (!attributes.get(ir::kOutputAttr) || attributes.get(ir::kDeviceAttr)) return;
      const Value value = result->getOperand(i);
      DeviceAttr device = ir::DeviceOf(value);
      if (!device && value.getDefiningOp()) device = placement.of(value.getDefiningOp());
      note(device ? device : rest);
      attributes.set(ir::kDeviceAttr, device ? device : rest);
    });
  }

  // A program only on cpu:0 need not name it.
  void strip(mlir::ModuleOp module) {
    module.walk([&](Operation* op) {
      op->removeDiscardableAttr(ir::kDeviceAttr);
      auto function = llvm::dyn_cast<FuncOp>(op);
      if (!function) return;
      auto remove = [](unsigned, mlir::NamedAttrList& attributes) { attributes.erase(ir::kDeviceAttr); };
      ir::EditArgAttrs(function, remove);
      ir::EditResultAttrs(function, remove);
    });
  }

  llvm::DenseSet<DeviceAttr> used_;
};

}  // namespace
}  // namespace sinter
