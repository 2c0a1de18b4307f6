#include "sinter/passes/partition/variable_cuts.h"

#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter {

VariableCuts::VariableCuts(mlir::ModuleOp module) {
  for (auto variable : module.getOps<ir::VariableOp>()) {
    if (auto sharding = variable->getAttrOfType<ir::ShardingAttr>(ir::kShardingAttr)) {
      shardings_[variable.getSymName()] = sharding;
    }
    if (auto axes = variable->getAttrOfType<mlir::ArrayAttr>(ir::kStoredAttr)) {
      stored_[variable.getSymName()] = axes;
    }
  }
}

bool VariableCuts::isStored(llvm::StringRef variable, mlir::StringAttr axis) const {
  const mlir::ArrayAttr axes = stored_.lookup(variable);
  return axes && llvm::is_contained(axes, axis);
}

llvm::StringRef VariableOfArgument(mlir::func::FuncOp function, unsigned i) {
  auto name = function.getArgAttrOfType<mlir::FlatSymbolRefAttr>(i, ir::kVariableAttr);
  return name ? name.getValue() : llvm::StringRef();
}

llvm::StringRef VariableOfResult(mlir::func::FuncOp function, unsigned i) {
  auto name = function.getResultAttrOfType<mlir::FlatSymbolRefAttr>(i, ir::kVariableAttr);
  return name ? name.getValue() : llvm::StringRef();
}

}  // namespace sinter
