#include "llvm/ADT/StringSet.h"
#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/sharding.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/plan/plan_ops.h"
#include "sinter/passes/partition/op_sharding.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_CUTVARIABLES
#include "passes/passes.h.inc"

namespace {

using ir::Extent;
using ir::Sharding;
using ir::VariableOp;
using mlir::StringAttr;

mlir::RankedTensorType TypeOfVariable(VariableOp variable) {
  return llvm::cast<mlir::RankedTensorType>(variable.getType());
}

class CutVariablesPass : public impl::CutVariablesBase<CutVariablesPass> {
 public:
  using CutVariablesBase::CutVariablesBase;

  void runOnOperation() override {
    mesh_ = ir::MeshOf(getOperation());
    if (!mesh_) return;
    axis_ = StringAttr::get(&getContext(), axis);
    if (!mesh_.find(axis_)) {
      getOperation().emitError() << "variables are cut along axis \"" << axis << "\", and the mesh is "
                                 << mesh_ << "; name one of its axes";
      return signalPassFailure();
    }
    for (auto variable : getOperation().getOps<VariableOp>()) by_name_[variable.getSymName()] = variable;
    if (!dims.empty() && mlir::failed(checkDims())) return signalPassFailure();
    for (auto variable : getOperation().getOps<VariableOp>()) {
      if (terms) {
        keepTerms(variable);
      } else if (mlir::failed(dims.empty() ? cutForStorage(variable) : cutDims(variable))) {
        return signalPassFailure();
      }
    }
  }

 private:
  mlir::LogicalResult checkDims();
  mlir::LogicalResult cutDims(VariableOp variable);
  mlir::LogicalResult cutForStorage(VariableOp variable);
  void keepTerms(VariableOp variable);
  bool isStoredAtLevel(VariableOp variable);
  // The names of the variable's dimensions: its own, or those of the variable whose slot it is.
  ir::ShardingAttr dimsOf(VariableOp variable);
  VariableOp ownerOf(VariableOp variable);
  Sharding shardingOf(VariableOp variable);
  void set(VariableOp variable, const Sharding& sharding) {
    variable->setAttr(ir::kShardingAttr, sharding.canonical(mesh_).attribute(&getContext()));
  }
  int64_t count() { return ir::CountParts(mesh_, axis_); }

  ir::MeshAttr mesh_;
  StringAttr axis_;
  llvm::StringMap<VariableOp> by_name_;
};

// A variable of the same shape, or null.
VariableOp CutVariablesPass::ownerOf(VariableOp variable) {
  auto name = variable->getAttrOfType<StringAttr>(ir::kSlotOfAttr);
  VariableOp owner = name ? by_name_.lookup(name.getValue()) : VariableOp();
  const bool fits = owner && TypeOfVariable(owner).getShape() == TypeOfVariable(variable).getShape();
  return fits ? owner : VariableOp();
}

ir::ShardingAttr CutVariablesPass::dimsOf(VariableOp variable) {
  if (auto own = variable->getAttrOfType<ir::ShardingAttr>(ir::kDimsAttr)) return own;
  VariableOp owner = ownerOf(variable);
  return owner ? owner->getAttrOfType<ir::ShardingAttr>(ir::kDimsAttr) : ir::ShardingAttr();
}

Sharding CutVariablesPass::shardingOf(VariableOp variable) {
  auto sharding = variable->getAttrOfType<ir::ShardingAttr>(ir::kShardingAttr);
  return sharding ? Sharding::Of(sharding) : Sharding::Whole(TypeOfVariable(variable));
}

mlir::LogicalResult CutVariablesPass::checkDims() {
  llvm::StringSet<> known;
  for (auto variable : getOperation().getOps<VariableOp>()) {
    auto names = variable->getAttrOfType<ir::ShardingAttr>(ir::kDimsAttr);
    if (!names) continue;
    for (const auto& dim : Sharding::Of(names).dims) {
      for (const Extent& extent : dim) {
        for (StringAttr name : extent.axes) known.insert(name.getValue());
      }
    }
  }
  const bool has_any = llvm::any_of(dims, [&](const std::string& name) { return known.contains(name); });
  if (has_any) return mlir::success();
  llvm::SmallVector<llvm::StringRef> all(known.keys());
  llvm::sort(all);
  auto error = getOperation().emitError() << "axis \"" << axis << "\" is to cut dimensions named "
                                          << llvm::join(dims, ", ") << ", and no variable has one; ";
  if (all.empty()) {
    error << "the layers of this program name none";
  } else {
    error << "the names of this program are " << llvm::join(all, ", ");
  }
  return error;
}

// Cuts the extents that have one of the names.
mlir::LogicalResult CutVariablesPass::cutDims(VariableOp variable) {
  const ir::ShardingAttr names = dimsOf(variable);
  if (!names) return mlir::success();
  Sharding sharding = shardingOf(variable);
  for (auto [d, dim] : llvm::enumerate(Sharding::Of(names).dims)) {
    if (sharding.isCutBy(axis_) || !IsUncut(sharding.dims[d])) continue;
    for (auto [e, extent] : llvm::enumerate(dim)) {
      const auto* name = llvm::find_if(
          extent.axes, [&](StringAttr one) { return llvm::is_contained(dims, one.getValue().str()); });
      if (name == extent.axes.end()) continue;
      if (extent.size % count() != 0) {
        return variable.emitError() << "variable \"" << variable.getSymName() << "\" has " << extent.size
                                    << " " << name->getValue() << ", which the " << count()
                                    << " ranks of axis \"" << axis
                                    << "\" do not divide; choose an axis whose size divides " << extent.size;
      }
      sharding.dims[d].assign(dim.begin(), dim.end());
      for (Extent& one : sharding.dims[d]) one.axes.clear();
      sharding.dims[d][e].axes = {axis_};
      break;
    }
  }
  if (!sharding.isWhole()) set(variable, sharding);
  return mlir::success();
}

bool CutVariablesPass::isStoredAtLevel(VariableOp variable) {
  if (variable->hasAttr(ir::kAccumulatorAttr)) return level >= 2;
  if (variable->hasAttr(ir::kSlotOfAttr)) return level >= 1;
  return level >= 3 && variable.getTrainable();
}

// Cuts the outermost extent of the first dimension where the axis divides it.
mlir::LogicalResult CutVariablesPass::cutForStorage(VariableOp variable) {
  if (!isStoredAtLevel(variable) || plan_ir::TensorBytes(TypeOfVariable(variable)) < leastBytes) {
    return mlir::success();
  }
  Sharding sharding = shardingOf(variable);
  if (sharding.isCutBy(axis_)) return mlir::success();
  for (auto& dim : sharding.dims) {
    // Inside of axes that cut the dimension already: so the parts that are gathered are contiguous.
    Extent& extent = dim.front();
    if (extent.size % (ir::CountParts(mesh_, extent.axes) * count()) != 0) continue;
    extent.axes.push_back(axis_);
    set(variable, sharding);
    llvm::SmallVector<mlir::Attribute> stored;
    if (auto before = variable->getAttrOfType<mlir::ArrayAttr>(ir::kStoredAttr)) {
      llvm::append_range(stored, before);
    }
    stored.push_back(axis_);
    variable->setAttr(ir::kStoredAttr, mlir::ArrayAttr::get(&getContext(), stored));
    return mlir::success();
  }
  if (report) {
    mlir::emitRemark(variable.getLoc())
        << "every rank keeps variable \"" << variable.getSymName() << "\" of " << variable.getType()
        << " whole: the " << count() << " ranks of axis \"" << axis << "\" divide none of its dimensions";
  }
  return mlir::success();
}

// Gradients that are accumulated over several runs are summed over the axis once, when they are applied.
void CutVariablesPass::keepTerms(VariableOp variable) {
  const mlir::Type element = TypeOfVariable(variable).getElementType();
  Sharding sharding = shardingOf(variable);
  if (!variable->hasAttr(ir::kAccumulatorAttr) || !(element.isF32() || element.isF64()) || count() == 1 ||
      sharding.isCutBy(axis_) || sharding.isPartialOver(axis_)) {
    return;
  }
  sharding.combine = ir::ReduceKind::sum;
  sharding.partial.push_back(axis_);
  set(variable, sharding);
}

}  // namespace
}  // namespace sinter
