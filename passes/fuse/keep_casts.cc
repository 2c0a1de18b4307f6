#include <optional>

#include "llvm/ADT/MapVector.h"
#include "mlir/IR/SymbolTable.h"
#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_KEEPCASTS
#include "passes/passes.h.inc"

namespace {

using ir::VariableOp;
using mlir::FlatSymbolRefAttr;
using mlir::RankedTensorType;
using mlir::Value;
using mlir::func::FuncOp;

// The uses of a variable in one function.
struct VariableUse {
  FuncOp function;
  llvm::SmallVector<Value, 1> old_values;  // Arguments; a program in text may read it twice.
  std::optional<unsigned> assigned;        // The index of the result that is its new value.

  // Null if the variable keeps its value.
  Value newValue() {
    if (!assigned) return {};
    Value value = function.getBody().front().getTerminator()->getOperand(*assigned);
    return llvm::is_contained(old_values, value) ? Value() : value;
  }
};
using VariableUses = llvm::DenseMap<mlir::StringAttr, llvm::SmallVector<VariableUse>>;

VariableUses UsesOfVariables(mlir::ModuleOp module) {
  VariableUses uses;
  for (FuncOp function : module.getOps<FuncOp>()) {
    if (function.isExternal()) continue;
    auto use_of = [&](FlatSymbolRefAttr variable) -> VariableUse& {
      llvm::SmallVector<VariableUse>& all = uses[variable.getAttr()];
      if (all.empty() || all.back().function != function) all.push_back({function, {}, {}});
      return all.back();
    };
    for (mlir::BlockArgument argument : function.getArguments()) {
      auto variable =
          function.getArgAttrOfType<FlatSymbolRefAttr>(argument.getArgNumber(), ir::kVariableAttr);
      if (variable) use_of(variable).old_values.push_back(argument);
    }
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      auto variable = function.getResultAttrOfType<FlatSymbolRefAttr>(i, ir::kVariableAttr);
      if (variable) use_of(variable).assigned = i;
    }
  }
  return uses;
}

llvm::SmallVector<ir::CastOp> CastsOf(llvm::ArrayRef<Value> values, mlir::Type element) {
  llvm::SmallVector<ir::CastOp> casts;
  for (Value value : values) {
    for (mlir::Operation* user : value.getUsers()) {
      auto cast = llvm::dyn_cast<ir::CastOp>(user);
      if (cast && cast.getType().getElementType() == element) casts.push_back(cast);
    }
  }
  return casts;
}

// True if a step of its own, such as a library call, reads the value, directly or through reshapes, so that
// it must be in memory. Kernels cast while they read.
bool IsReadFromMemory(Value value) {
  return llvm::any_of(value.getUsers(), [](mlir::Operation* user) {
    if (llvm::isa<ir::ReshapeOp>(user)) return IsReadFromMemory(user->getResult(0));
    return llvm::isa<ir::StepInterface>(user);
  });
}

// True if a generated kernel computes the value; it can then store it rounded as well.
bool ComesFromKernel(Value value) {
  mlir::Operation* op = value.getDefiningOp();
  if (auto reshape = llvm::dyn_cast_or_null<ir::ReshapeOp>(op)) return ComesFromKernel(reshape.getX());
  return op && llvm::isa<ir::FusibleInterface, ir::ReductionInterface>(op);
}

std::string TextOf(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

// Arguments and results that replicas add to one function. All are inserted at once, because each insertion
// copies the lists.
struct Additions {
  struct Argument {
    mlir::Type type;
    mlir::DictionaryAttr attributes;
    mlir::Location location;
    llvm::SmallVector<ir::CastOp> casts;  // They read the argument instead.
  };
  struct Result {
    Value value;
    mlir::DictionaryAttr attributes;
  };
  llvm::SmallVector<Argument> arguments;
  llvm::SmallVector<Result> results;

  void insertInto(FuncOp function);
};

void Additions::insertInto(FuncOp function) {
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::DictionaryAttr> attributes;
  llvm::SmallVector<mlir::Location> locations;
  const unsigned first = function.getNumArguments();
  for (const Argument& argument : arguments) {
    types.push_back(argument.type);
    attributes.push_back(argument.attributes);
    locations.push_back(argument.location);
  }
  function.insertArguments(llvm::SmallVector<unsigned>(arguments.size(), first), types, attributes,
                           locations);
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    for (ir::CastOp cast : argument.casts) {
      cast.getResult().replaceAllUsesWith(function.getArgument(first + i));
      cast.erase();
    }
  }
  types.clear();
  attributes.clear();
  llvm::SmallVector<Value> values;
  for (const Result& result : results) {
    types.push_back(result.value.getType());
    attributes.push_back(result.attributes);
    values.push_back(result.value);
  }
  mlir::Operation* end = function.getBody().front().getTerminator();
  end->insertOperands(end->getNumOperands(), values);
  function.insertResults(llvm::SmallVector<unsigned>(results.size(), function.getNumResults()), types,
                         attributes);
}

class KeepCastsPass : public impl::KeepCastsBase<KeepCastsPass> {
 public:
  using KeepCastsBase::KeepCastsBase;

  void runOnOperation() override {
    const VariableUses uses = UsesOfVariables(getOperation());
    symbols_.emplace(getOperation());
    additions_.clear();
    mlir::Builder builder(&getContext());
    for (auto variable : llvm::to_vector(getOperation().getOps<VariableOp>())) {
      auto type = llvm::cast<RankedTensorType>(variable.getType());
      auto found = uses.find(variable.getSymNameAttr());
      if (found == uses.end() || !type.getElementType().isF32()) continue;
      for (mlir::Type element : {mlir::Type(builder.getBF16Type()), mlir::Type(builder.getF16Type())}) {
        if (isWorthKeeping(variable, element, found->second)) keep(variable, element, found->second);
      }
    }
    for (auto& [function, additions] : additions_) additions.insertInto(function);
  }

 private:
  bool isWorthKeeping(VariableOp variable, mlir::Type element, llvm::ArrayRef<VariableUse> uses);
  void keep(VariableOp variable, mlir::Type element, llvm::ArrayRef<VariableUse> uses);
  VariableOp makeReplica(VariableOp variable, mlir::Type element);

  std::optional<mlir::SymbolTable> symbols_;
  llvm::MapVector<FuncOp, Additions> additions_;
};

// False if the cast would still need a kernel, after the op that computes the new value instead of before its
// reader.
bool KeepCastsPass::isWorthKeeping(VariableOp variable, mlir::Type element,
                                   llvm::ArrayRef<VariableUse> uses) {
  // Terms of a sum have no copies.
  if (variable->hasAttr(ir::kSumAxesAttr)) return false;
  const bool is_wanted = llvm::any_of(uses, [&](const VariableUse& use) {
    return llvm::any_of(CastsOf(use.old_values, element),
                        [](ir::CastOp cast) { return IsReadFromMemory(cast.getResult()); });
  });
  if (!is_wanted) return false;
  for (VariableUse use : uses) {
    Value value = use.newValue();
    if (!value || ComesFromKernel(value)) continue;
    if (report) {
      mlir::emitRemark(variable.getLoc())
          << "casts variable \"" << variable.getSymName() << "\" to " << TextOf(element)
          << " in every run: no generated kernel computes its new value in function \""
          << use.function.getSymName() << "\"";
    }
    return false;
  }
  return true;
}

VariableOp KeepCastsPass::makeReplica(VariableOp variable, mlir::Type element) {
  auto type = llvm::cast<RankedTensorType>(variable.getType()).clone(element);
  std::string name = variable.getSymName().str() + "#" + TextOf(element);
  while (symbols_->lookup(name)) name += "#";
  mlir::OpBuilder builder(&getContext());
  builder.setInsertionPointAfter(variable);
  auto replica = llvm::cast<VariableOp>(builder.clone(*variable));
  replica.setSymName(name);
  symbols_->insert(replica);
  replica.setType(type);
  if (auto box = replica->getAttrOfType<ir::BoxAttr>(ir::kBoxAttr)) {
    replica->setAttr(ir::kBoxAttr, box.withElement(element));
  }
  // A replica of a replica names the original variable.
  if (!replica->hasAttr(ir::kReplicaOfAttr)) {
    replica->setAttr(ir::kReplicaOfAttr, FlatSymbolRefAttr::get(variable.getSymNameAttr()));
  }
  if (report) {
    mlir::emitRemark(variable.getLoc())
        << "keeps variable \"" << variable.getSymName() << "\" in " << TextOf(element) << " as well, "
        << plan_ir::TensorBytes(type) << " bytes, which its updates write: no run casts it";
  }
  return replica;
}

void KeepCastsPass::keep(VariableOp variable, mlir::Type element, llvm::ArrayRef<VariableUse> uses) {
  VariableOp replica = makeReplica(variable, element);
  auto type = llvm::cast<RankedTensorType>(replica.getType());
  // Only the variable's attributes and device; the wide result may also be an output.
  auto renamed = [&](mlir::DictionaryAttr attributes) {
    mlir::NamedAttrList list;
    list.set(ir::kVariableAttr, FlatSymbolRefAttr::get(replica.getSymNameAttr()));
    if (mlir::Attribute device = attributes.get(ir::kDeviceAttr)) list.set(ir::kDeviceAttr, device);
    return list.getDictionary(&getContext());
  };
  for (VariableUse use : uses) {
    FuncOp function = use.function;
    if (llvm::SmallVector<ir::CastOp> casts = CastsOf(use.old_values, element); !casts.empty()) {
      auto wide = llvm::cast<mlir::BlockArgument>(use.old_values.front());
      additions_[function].arguments.push_back(
          {type, renamed(function.getArgAttrDict(wide.getArgNumber())), wide.getLoc(), std::move(casts)});
    }
    if (Value value = use.newValue()) {
      mlir::Operation* end = function.getBody().front().getTerminator();
      mlir::OpBuilder builder(end);
      auto cast = builder.create<ir::CastOp>(value.getLoc(), type, value);
      ir::SetDevice(cast, ir::DeviceOf(value));
      additions_[function].results.push_back(
          {cast.getResult(), renamed(function.getResultAttrDict(*use.assigned))});
    }
  }
}

}  // namespace
}  // namespace sinter
