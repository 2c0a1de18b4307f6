#include "sinter/tests/reference/reference.h"
#include "sinter/ir/dialect/element_types.h"

#include "absl/strings/str_cat.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/raw_ostream.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/program/collective.h"
#include "sinter/runtime/host/status.h"
#include "sinter/tests/reference/collective.h"

namespace sinter::reference {

namespace {

const OpTable& Table() {
  static const OpTable* table = [] {
    auto* t = new OpTable;
    AddPointwiseOps(*t);
    AddLogicOps(*t);
    AddShapeOps(*t);
    AddReduceOps(*t);
    AddLinearOps(*t);
    AddMatrixOps(*t);
    AddFourierOps(*t);
    AddRandomOps(*t);
    AddAttentionOps(*t);
    AddCompositeOps(*t);
    AddPlacementOps(*t);
    AddCollectiveOps(*t);
    AddControlOps(*t);
    AddCustomOps(*t);
    return t;
  }();
  return *table;
}

std::string NameOf(mlir::Operation* op) { return op->getName().getStringRef().str(); }

bool Fits(const Value& value, mlir::Type type) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return tensor && value.dtype == DTypeOf(tensor.getElementType()) &&
         llvm::ArrayRef<int64_t>(value.shape) == tensor.getShape();
}

// Rounds or wraps the elements to the element type.
void RoundTo(Value& value, const EvaluateOptions& options) {
  for (double& x : value.reals) x = options.keep_double ? x : Round(value.dtype, x);
  for (int64_t& x : value.ints) x = Wrap(value.dtype, x);
}

std::string Text(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

}  // namespace

int64_t Call::Int(const char* name) const { return op->getAttrOfType<mlir::IntegerAttr>(name).getInt(); }
double Call::Real(const char* name) const {
  return op->getAttrOfType<mlir::FloatAttr>(name).getValueAsDouble();
}
Shape Call::Ints(const char* name) const {
  llvm::ArrayRef<int64_t> values = op->getAttrOfType<mlir::DenseI64ArrayAttr>(name).asArrayRef();
  return Shape(values.begin(), values.end());
}

DType DTypeOf(mlir::Type element) { return ir::DTypeOf(element); }

Value ZerosOf(mlir::Type type) {
  auto tensor = llvm::cast<mlir::RankedTensorType>(type);
  return Value::Zeros(DTypeOf(tensor.getElementType()),
                      Shape(tensor.getShape().begin(), tensor.getShape().end()));
}

Value ValueOf(mlir::DenseElementsAttr attribute) {
  Value value = ZerosOf(attribute.getType());
  int64_t i = 0;
  if (value.is_real()) {
    for (const llvm::APFloat& x : attribute.getValues<llvm::APFloat>()) {
      llvm::APFloat wide = x;
      bool loses_info = false;
      wide.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &loses_info);
      value.reals[i++] = wide.convertToDouble();
    }
  } else {
    bool is_unsigned = IsUnsigned(value.dtype) || value.dtype == DType::kI1;
    for (const llvm::APInt& x : attribute.getValues<llvm::APInt>()) {
      value.ints[i++] = is_unsigned ? static_cast<int64_t>(x.getZExtValue()) : x.getSExtValue();
    }
  }
  return value;
}

absl::StatusOr<std::vector<Value>> EvaluateBlock(mlir::Block& block, const std::vector<Value>& arguments,
                                                 const EvaluateOptions& options) {
  llvm::DenseMap<mlir::Value, Value> values;
  for (auto [argument, value] : llvm::zip_equal(block.getArguments(), arguments)) values[argument] = value;
  auto operands_of = [&](mlir::Operation& op) {
    std::vector<Value> operands;
    for (mlir::Value operand : op.getOperands()) operands.push_back(values.lookup(operand));
    return operands;
  };
  for (mlir::Operation& op : block) {
    std::vector<Value> operands = operands_of(op);
    if (op.hasTrait<mlir::OpTrait::IsTerminator>()) return operands;
    if (auto collective = ir::Collective::Of(&op); collective && collective->group.size() > 1) {
      // The members are adjacent in the block. The first member computes the results of all.
      if (collective->Rank() != 0) continue;
      std::vector<mlir::Operation*> members;
      std::vector<std::vector<Value>> given;
      for (mlir::Operation* member = &op; members.size() < collective->group.size();
           member = member->getNextNode()) {
        members.push_back(member);
        given.push_back(operands_of(*member));
      }
      std::vector<std::vector<Value>> received = ExchangeValues(members, given);
      for (auto [member, results] : llvm::zip_equal(members, received)) {
        for (auto [result, value] : llvm::zip_equal(member->getResults(), results)) {
          RoundTo(value, options);
          values[result] = std::move(value);
        }
      }
      continue;
    }
    SINTER_ASSIGN_OR_RETURN(std::vector<Value> results, EvaluateOp(&op, operands, options));
    for (auto [result, value] : llvm::zip_equal(op.getResults(), results)) values[result] = std::move(value);
  }
  return absl::InvalidArgumentError("the block has no terminator");
}

absl::StatusOr<std::vector<Value>> EvaluateOp(mlir::Operation* op, const std::vector<Value>& operands,
                                              const EvaluateOptions& options) {
  if (auto fusion = llvm::dyn_cast<ir::FusionOp>(op)) {
    return EvaluateBlock(fusion.getBody().front(), operands, options);
  }
  if (auto constant = llvm::dyn_cast<ir::ConstantOp>(op)) {
    auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue());
    if (!dense) return absl::UnimplementedError("the reference reads dense constants only");
    return std::vector<Value>{ValueOf(dense)};
  }
  auto entry = Table().find(NameOf(op));
  if (entry == Table().end()) {
    return absl::UnimplementedError(
        absl::StrCat("the reference has no function for ", NameOf(op),
                     llvm::isa<ir::GradientsOp>(op) ? "; run differentiate first" : ""));
  }
  std::vector<Value> results = entry->second(Call{op, operands, options});
  if (results.size() != op->getNumResults()) {
    return absl::UnimplementedError(absl::StrCat("the reference does not know this ", NameOf(op)));
  }
  for (auto [value, type] : llvm::zip_equal(results, op->getResultTypes())) {
    if (!Fits(value, type)) {
      return absl::InternalError(
          absl::StrCat("the reference's ", NameOf(op), " did not give a ", Text(type)));
    }
    RoundTo(value, options);
  }
  return results;
}

absl::StatusOr<std::vector<Value>> EvaluateFunction(mlir::func::FuncOp function,
                                                    const std::vector<Value>& inputs,
                                                    const EvaluateOptions& options) {
  if (inputs.size() != function.getNumArguments()) {
    return absl::InvalidArgumentError(absl::StrCat("the function takes ", function.getNumArguments(),
                                                   " inputs, ", inputs.size(), " were given"));
  }
  for (auto [i, input] : llvm::enumerate(inputs)) {
    mlir::Type type = function.getArgumentTypes()[i];
    if (!Fits(input, type))
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " is not a ", Text(type)));
  }
  return EvaluateBlock(function.getBody().front(), inputs, options);
}

bool IsStructural(const std::string& op_name) {
  static const auto* names = new std::vector<std::string>{
      ir::VariableOp::getOperationName().str(), ir::GradientsOp::getOperationName().str(),
      ir::FusionOp::getOperationName().str(), ir::YieldOp::getOperationName().str(),
      ir::ReshardOp::getOperationName().str()};
  return llvm::is_contained(*names, op_name);
}

std::vector<std::string> OpsWithoutReference(mlir::MLIRContext* context) {
  std::vector<std::string> missing;
  for (mlir::RegisteredOperationName op : context->getRegisteredOperations()) {
    std::string name = op.getStringRef().str();
    if (op.getDialectNamespace() != "sinter" || IsStructural(name)) continue;
    if (name == ir::ConstantOp::getOperationName() || Table().count(name) != 0) continue;
    missing.push_back(name);
  }
  return missing;
}

}  // namespace sinter::reference
