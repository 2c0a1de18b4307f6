// Where every op of a program runs and every value lives, from the places that the user gave.
//
//   PlacementSolver placement(module, default_device);
//   placement.of(value); placement.of(op);           // the device; null for what follows its users
//
// In this order: what the user placed; an op where its operands are; what is left where its first user is; a variable
// where its new value is; the rest on the default device. A copy is where it says. What is computed from constants alone
// follows its users and has no place of its own, unless the user gave it one.
//
// Nothing is changed, and nothing is checked: operands may be on other devices than their op.
#ifndef SINTER_PASSES_PLACE_PLACEMENT_SOLVER_H_
#define SINTER_PASSES_PLACE_PLACEMENT_SOLVER_H_

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter {

// Whether anything in the program has a device or is a copy. Nothing has when all of it is on cpu:0.
bool MentionsDevices(mlir::ModuleOp module);

// Whether a function has places at all. A private one is a gradient of a user's kernel: it goes where it is copied to.
bool IsPlaced(mlir::func::FuncOp function);

class PlacementSolver {
 public:
  PlacementSolver(mlir::ModuleOp module, ir::DeviceAttr default_device);

  ir::DeviceAttr of(mlir::Operation* op) const { return op_device_.lookup(op); }
  ir::DeviceAttr of(mlir::Value value) const;
  ir::DeviceAttr ofVariable(ir::VariableOp variable) const {
    return variable_device_.lookup(variable.getSymNameAttr());
  }
  // Where result `i` must be: on its variable's device, or where the function says. Null: where its value is.
  ir::DeviceAttr ofResult(mlir::func::FuncOp function, unsigned i) const;

  // Whether the op is computed from constants alone and the user did not place it.
  bool followsUsers(mlir::Operation* op) const { return followers_.contains(op); }
  // Whether nothing that the user wrote says where the value is.
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

  bool set(mlir::Operation* op, ir::DeviceAttr device);
  bool set(mlir::BlockArgument argument, ir::DeviceAttr device);
  // Where the first user of the value is, of those whose place is known.
  ir::DeviceAttr wanted(mlir::Value value) const;
  ir::DeviceAttr wantedBy(mlir::OpOperand& use) const;

  llvm::SmallVector<mlir::func::FuncOp> functions_;
  llvm::SmallVector<ir::VariableOp> variables_;
  ir::DeviceAttr default_;
  llvm::DenseMap<mlir::Operation*, ir::DeviceAttr> op_device_;
  llvm::DenseMap<mlir::Value, ir::DeviceAttr> input_device_;  // Of arguments that are inputs.
  llvm::DenseMap<mlir::StringAttr, ir::DeviceAttr> variable_device_;
  llvm::DenseSet<mlir::Operation*> explicit_, followers_;
  llvm::DenseSet<mlir::StringAttr> explicit_variables_;
  llvm::DenseSet<mlir::Value> free_;
  llvm::DenseMap<mlir::Operation*, unsigned> position_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_PLACE_PLACEMENT_SOLVER_H_
