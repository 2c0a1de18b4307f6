#include "sinter/passes/place/placement_solver.h"

namespace sinter {

using ir::DeviceAttr;
using mlir::BlockArgument;
using mlir::Operation;
using mlir::Value;
using mlir::func::FuncOp;

namespace {

// The variable of an argument or a result; null if none.
mlir::StringAttr VariableOf(BlockArgument argument) {
  auto function = llvm::cast<FuncOp>(argument.getOwner()->getParentOp());
  auto name = function.getArgAttrOfType<mlir::FlatSymbolRefAttr>(argument.getArgNumber(), ir::kVariableAttr);
  return name ? name.getAttr() : mlir::StringAttr();
}
mlir::StringAttr VariableOf(FuncOp function, unsigned result) {
  auto name = function.getResultAttrOfType<mlir::FlatSymbolRefAttr>(result, ir::kVariableAttr);
  return name ? name.getAttr() : mlir::StringAttr();
}

Operation* ReturnOf(FuncOp function) { return function.getBody().front().getTerminator(); }

}  // namespace

bool IsPlaced(FuncOp function) { return !function.isExternal() && !function.isPrivate(); }

bool MentionsDevices(mlir::ModuleOp module) {
  auto result = module.walk([](Operation* op) {
    bool found = llvm::isa<ir::CopyOp>(op) || op->hasAttr(ir::kDeviceAttr);
    if (auto function = llvm::dyn_cast<FuncOp>(op)) {
      for (unsigned i = 0; i < function.getNumArguments(); ++i) {
        found |= static_cast<bool>(function.getArgAttr(i, ir::kDeviceAttr));
      }
      for (unsigned i = 0; i < function.getNumResults(); ++i) {
        found |= static_cast<bool>(function.getResultAttr(i, ir::kDeviceAttr));
      }
    }
    return found ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
  });
  return result.wasInterrupted();
}

PlacementSolver::PlacementSolver(mlir::ModuleOp module, DeviceAttr default_device)
    : functions_(llvm::make_filter_range(module.getOps<FuncOp>(), IsPlaced)),
      variables_(module.getOps<ir::VariableOp>()),
      default_(default_device) {
  for (ir::VariableOp variable : variables_) {
    DeviceAttr device = ir::DeviceOf(variable.getOperation());
    if (!device) continue;
    note(device);
    explicit_variables_.insert(variable.getSymNameAttr());
    variable_device_[variable.getSymNameAttr()] = device;
  }
  for (FuncOp function : functions_) {
    for (auto [i, op] : llvm::enumerate(function.getBody().front())) position_[&op] = i;
    takeExplicit(function);
    findFollowers(function);
  }
  if (!only_default_) {
    settle();
    while (placeVariablesByNewValues()) settle();
    for (FuncOp function : functions_) findFree(function);
  }
  placeRest();
}

void PlacementSolver::takeExplicit(FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    DeviceAttr device = ir::DeviceOf(Value(argument));
    if (!device) continue;
    note(device);
    if (mlir::StringAttr variable = VariableOf(argument)) explicit_variables_.insert(variable);
    set(argument, device);
  }
  for (Operation& op : function.getBody().front()) {
    auto copy = llvm::dyn_cast<ir::CopyOp>(op);
    DeviceAttr device = copy ? copy.getDeviceAttr() : ir::DeviceOf(&op);
    if (!device) continue;
    note(device);
    explicit_.insert(&op);
    set(&op, device);
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    if (DeviceAttr device = function.getResultAttrOfType<DeviceAttr>(i, ir::kDeviceAttr)) note(device);
  }
}

void PlacementSolver::findFollowers(FuncOp function) {
  for (Operation& op : function.getBody().front().without_terminator()) {
    // A loop is on one device, like what it computes, also a loop of constants.
    const bool may_follow = mlir::isPure(&op) && op.getNumRegions() == 0;
    if (explicit_.contains(&op) || llvm::isa<ir::CopyOp, ir::GradientsOp>(op) || !may_follow) continue;
    bool follows = llvm::all_of(op.getOperands(), [&](Value operand) {
      return operand.getDefiningOp() && followers_.contains(operand.getDefiningOp());
    });
    if (follows) followers_.insert(&op);
  }
}

DeviceAttr PlacementSolver::of(Value value) const {
  if (Operation* op = value.getDefiningOp()) {
    auto gradients = llvm::dyn_cast<ir::GradientsOp>(op);
    if (!gradients) return of(op);
    return of(gradients.getXs()[llvm::cast<mlir::OpResult>(value).getResultNumber()]);
  }
  mlir::StringAttr variable = VariableOf(llvm::cast<BlockArgument>(value));
  return variable ? variable_device_.lookup(variable) : input_device_.lookup(value);
}

DeviceAttr PlacementSolver::ofResult(FuncOp function, unsigned i) const {
  if (mlir::StringAttr variable = VariableOf(function, i)) return variable_device_.lookup(variable);
  return function.getResultAttrOfType<DeviceAttr>(i, ir::kDeviceAttr);
}

bool PlacementSolver::isFree(Value value) const { return free_.contains(value); }

bool PlacementSolver::set(Operation* op, DeviceAttr device) {
  return device && op_device_.try_emplace(op, device).second;
}

bool PlacementSolver::set(BlockArgument argument, DeviceAttr device) {
  if (!device) return false;
  mlir::StringAttr variable = VariableOf(argument);
  return variable ? variable_device_.try_emplace(variable, device).second
                  : input_device_.try_emplace(argument, device).second;
}

// An op is on the device of its first operand that has one.
bool PlacementSolver::forward(FuncOp function) {
  bool changed = false;
  for (Operation& op : function.getBody().front().without_terminator()) {
    if (of(&op) || followsUsers(&op) || llvm::isa<ir::GradientsOp>(op)) continue;
    if (auto copy = llvm::dyn_cast<ir::CopyOp>(op)) {
      changed |= set(&op, of(copy.getLike()));
      continue;
    }
    for (Value operand : op.getOperands()) {
      if (set(&op, of(operand))) {
        changed = true;
        break;
      }
    }
  }
  return changed;
}

bool PlacementSolver::backward(FuncOp function) {
  bool changed = false;
  for (Operation& op : llvm::reverse(function.getBody().front().without_terminator())) {
    if (of(&op) || followsUsers(&op) || llvm::isa<ir::CopyOp, ir::GradientsOp>(op)) continue;
    for (Value result : op.getResults()) changed |= set(&op, wanted(result));
  }
  for (BlockArgument argument : function.getArguments()) {
    if (!of(Value(argument))) changed |= set(argument, wanted(argument));
  }
  return changed;
}

DeviceAttr PlacementSolver::wanted(Value value) const {
  DeviceAttr device;
  unsigned first = ~0u;
  for (mlir::OpOperand& use : value.getUses()) {
    unsigned position = position_.lookup(use.getOwner());
    if (position > first) continue;
    if (DeviceAttr wanted = wantedBy(use)) device = wanted, first = position;
  }
  return device;
}

DeviceAttr PlacementSolver::wantedBy(mlir::OpOperand& use) const {
  Operation* user = use.getOwner();
  if (user->hasTrait<mlir::OpTrait::IsTerminator>()) {
    return ofResult(llvm::cast<FuncOp>(user->getParentOp()), use.getOperandNumber());
  }
  if (auto gradients = llvm::dyn_cast<ir::GradientsOp>(user)) {
    // A value and its gradient are on one device; the loss may be on any.
    if (use.getOperandNumber() == 0) return {};
    return wanted(gradients.getGradients()[use.getOperandNumber() - 1]);
  }
  return llvm::isa<ir::CopyOp>(user) ? DeviceAttr() : of(user);
}

bool PlacementSolver::placeVariablesByNewValues() {
  bool changed = false;
  for (FuncOp function : functions_) {
    for (mlir::OpOperand& result : ReturnOf(function)->getOpOperands()) {
      mlir::StringAttr variable = VariableOf(function, result.getOperandNumber());
      DeviceAttr device = of(result.get());
      if (variable && device) changed |= variable_device_.try_emplace(variable, device).second;
    }
  }
  return changed;
}

// Repeats until operands and users place nothing more.
void PlacementSolver::settle() {
  for (bool changed = true; changed;) {
    for (bool more = true; more;) {
      more = false;
      for (FuncOp function : functions_) more |= forward(function);
    }
    changed = false;
    for (FuncOp function : functions_) changed |= backward(function);
  }
}

void PlacementSolver::placeRest() {
  for (ir::VariableOp variable : variables_) {
    variable_device_.try_emplace(variable.getSymNameAttr(), default_);
  }
  for (FuncOp function : functions_) {
    for (BlockArgument argument : function.getArguments()) set(argument, default_);
    for (Operation& op : function.getBody().front().without_terminator()) {
      if (!followsUsers(&op) && !llvm::isa<ir::GradientsOp>(op)) set(&op, default_);
    }
  }
}

void PlacementSolver::findFree(FuncOp function) {
  auto is_placed = [&](BlockArgument argument) {
    mlir::StringAttr variable = VariableOf(argument);
    return variable ? explicit_variables_.contains(variable)
                    : static_cast<bool>(ir::DeviceOf(Value(argument)));
  };
  for (BlockArgument argument : function.getArguments()) {
    if (!is_placed(argument)) free_.insert(argument);
  }
  for (Operation& op : function.getBody().front().without_terminator()) {
    if (explicit_.contains(&op) || followsUsers(&op) || llvm::isa<ir::CopyOp, ir::GradientsOp>(op)) continue;
    bool free = llvm::all_of(op.getOperands(), [&](Value operand) {
      return free_.contains(operand) || (operand.getDefiningOp() && followsUsers(operand.getDefiningOp()));
    });
    if (free) free_.insert(op.result_begin(), op.result_end());
  }
}

}  // namespace sinter
