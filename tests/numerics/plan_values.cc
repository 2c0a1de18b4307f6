#include "sinter/tests/numerics/plan_values.h"

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"
#include "sinter/tests/reference/reference.h"

namespace sinter::numerics {

using reference::Value;

namespace {

Value ZerosLike(mlir::Value buffer) {
  return reference::ZerosOf(llvm::cast<plan_ir::BufferType>(buffer.getType()).getTensor());
}

int64_t FirstOf(plan_ir::ViewOp view, const Value& value) {
  return static_cast<int64_t>(view.getOffset()) / SizeOf(value.dtype);
}

}  // namespace

// Reads a view through its source, because the source may be written after the view was made.
Value PlanValues::Read(mlir::Value buffer) {
  auto view = buffer.getDefiningOp<plan_ir::ViewOp>();
  if (!view) return values_.try_emplace(buffer, ZerosLike(buffer)).first->second;
  const Value source = Read(view.getSource());
  Value value = ZerosLike(buffer);
  for (int64_t i = 0; i < value.size(); ++i) value.Copy(i, source, FirstOf(view, value) + i);
  return value;
}

void PlanValues::Write(mlir::Value buffer, const Value& value) {
  auto view = buffer.getDefiningOp<plan_ir::ViewOp>();
  if (!view) {
    values_[buffer] = value;
    return;
  }
  Value source = Read(view.getSource());
  for (int64_t i = 0; i < value.size(); ++i) source.Copy(FirstOf(view, value) + i, value, i);
  Write(view.getSource(), source);
}

absl::StatusOr<Value> PlanValues::Input(const std::string& name) const {
  auto found = inputs_.find(name);
  if (found == inputs_.end()) return absl::InvalidArgumentError(absl::StrCat("no value for ", name));
  return found->second;
}

absl::Status PlanValues::Run(plan_ir::FunctionOp function, const Visit& visit) {
  for (mlir::Operation& op : function.getBody().front()) SINTER_RETURN_IF_ERROR(Step(op, visit));
  return absl::OkStatus();
}

absl::Status PlanValues::Step(mlir::Operation& op, const Visit& visit) {
  if (auto input = llvm::dyn_cast<plan_ir::InputOp>(op)) {
    SINTER_ASSIGN_OR_RETURN(values_[input], Input(input.getName().str()));
  } else if (auto variable = llvm::dyn_cast<plan_ir::VariableOp>(op)) {
    SINTER_ASSIGN_OR_RETURN(values_[variable], Input(variable.getVariable().str()));
  } else if (auto constant = llvm::dyn_cast<plan_ir::ConstantOp>(op)) {
    values_[constant] = reference::ValueOf(llvm::cast<mlir::DenseElementsAttr>(constant.getValue()));
  } else if (auto copy = llvm::dyn_cast<plan_ir::CopyOp>(op)) {
    Write(copy.getTarget(), Read(copy.getSource()));
  } else if (auto call = llvm::dyn_cast<plan_ir::CallOp>(op)) {
    std::vector<Value> operands;
    for (mlir::Value in : call.getIns()) operands.push_back(Read(in));
    SINTER_ASSIGN_OR_RETURN(std::vector<Value> want,
                            reference::EvaluateBlock(call.getBody().front(), operands));
    SINTER_RETURN_IF_ERROR(visit(call, operands, want));
    for (auto [out, value] : llvm::zip_equal(call.getOuts(), want)) Write(out, value);
  }
  return absl::OkStatus();
}

}  // namespace sinter::numerics
