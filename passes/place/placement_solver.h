// PlacementSolver: the device of every op and value, derived from the placements in the user's program.
//
//   PlacementSolver placement(module, default_device);
//   placement.of(value); placement.of(op);           // The device; null for values that follow their users.
//
// Rules, in this order: the user's placement; an op is where its operands are; then where its first user is;
// a variable is where its new value is; the rest is on the default device. A copy is on its own device.
// Values computed only from constants follow their users and have no device, unless the user placed them.
//
// The solver changes and checks nothing: operands may be on other devices than their op.
#ifndef SINTER_PASSES_PLACE_PLACEMENT_SOLVER_H_
#define SINTER_PASSES_PLACE_PLACEMENT_SOLVER_H_

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter {

// True if anything in the program has a device or is a copy. False if the whole program is on cpu:0.
bool MentionsDevices(mlir::ModuleOp module);

// True if the function gets placements. Private functions do not: they are gradients of user kernels, and get
// a device where they are inlined.
bool IsPlaced(mlir::func::FuncOp function);

class PlacementSolver {
 public:
  PlacementSolver(mlir::ModuleOp module, ir::DeviceAttr default_device);

  ir::DeviceAttr of(mlir::Operation* op) const { return op_device_.lookup(op); }
  ir::DeviceAttr of(mlir::Value value) const;
  ir::DeviceAttr ofVariable(ir::VariableOp variable) const {
    return variable_device_.lookup(variable.getSymNameAttr());
  }
  // The required device of result `i`: its variable's, or the function's attribute. Null: the device of its
  // value.
  ir::DeviceAttr ofResult(mlir::func::FuncOp function, unsigned i) const;

  // True if the op is computed only from constants and the user did not place it.
  bool followsUsers(mlir::Operation* op) const { return followers_.contains(op); }
  // True if nothing in the user's program places the value. False in a program on one device.
  bool isFree(mlir::Value value) const;

 private:
  void takeExplicit(mlir::func::FuncOp function);
  void findFollowers(mlir::func::FuncOp function);
  bool forward(mlir::func::FuncOp function);
  bool backward(mlir::func::FuncOp function);
  bool placeVariablesByNewValues();
  void placeRest();
  void settle();
  void findFree(mlir::func::FuncOp function);

  void note(ir::DeviceAttr device) { only_default_ &= device == default_; }
  bool set(mlir::Operation* op, ir::DeviceAttr device);
  bool set(mlir::BlockArgument argument, ir::DeviceAttr device);
  // The device of the value's first user whose device is known.
  ir::DeviceAttr wanted(mlir::Value value) const;
  ir::DeviceAttr wantedBy(mlir::OpOperand& use) const;

  llvm::SmallVector<mlir::func::FuncOp> functions_;
  llvm::SmallVector<ir::VariableOp> variables_;
  ir::DeviceAttr default_;
  // True if the program names no other device. Everything is then on the default one, and nothing is copied.
  bool only_default_ = true;
  llvm::DenseMap<mlir::Operation*, ir::DeviceAttr> op_device_;
  llvm::DenseMap<mlir::Value, ir::DeviceAttr> input_device_;  // Only arguments that are inputs.
  llvm::DenseMap<mlir::StringAttr, ir::DeviceAttr> variable_device_;
  llvm::DenseSet<mlir::Operation*> explicit_, followers_;
  llvm::DenseSet<mlir::StringAttr> explicit_variables_;
  llvm::DenseSet<mlir::Value> free_;
  llvm::DenseMap<mlir::Operation*, unsigned> position_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_PLACE_PLACEMENT_SOLVER_H_
