#include "sinter/frontend/optim/update_targets.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/gradient_reach.h"

namespace sinter::optim {

namespace {

// Describes why a named candidate cannot be updated, judging by its handle; empty if it can.
std::string WrongHandle(const GraphState& graph, const Variable& variable, std::set<std::string>& seen) {
  if (variable.outlived_its_graph()) {
    return absl::StrCat("was given \"", variable.name(), "\", whose graph has been destroyed");
  }
  if (!variable.ok()) return "was given a variable that was never made";
  if (variable.graph() != &graph) {
    return absl::StrCat("was given \"", variable.name(), "\", which is of another graph");
  }
  if (!graph.Find(variable)) {
    return absl::StrCat("was given \"", variable.name(), "\", whose function was dropped with an exception");
  }
  if (!IsFloat(variable.dtype())) {
    return absl::StrCat("was given \"", variable.name(), "\" of ",
                        TypeString(variable.dtype(), variable.shape()), ", and updates floats only");
  }
  if (!seen.insert(variable.name()).second) {
    return absl::StrCat("was given \"", variable.name(), "\" twice, and would update it twice");
  }
  return "";
}

// Returns the last value of a variable that the loss's gradient reaches; not ok if it reaches none.
Tensor ValueInLoss(FunctionBuilder& function, const GradientReach& reach, const std::string& variable) {
  for (mlir::Value value : llvm::reverse(function.ValuesOf(variable))) {
    if (reach.Reaches(value)) return Tensor(&function, value.getAsOpaquePointer());
  }
  return {};
}

}  // namespace

Variable VariableOf(GraphState& graph, ir::VariableOp op) {
  auto type = llvm::cast<mlir::RankedTensorType>(op.getType());
  return Variable(&graph, op.getSymName().str(), DTypeOf(type.getElementType()),
                  Shape(type.getShape().begin(), type.getShape().end()));
}

bool CheckHandles(Call& call, const std::vector<Variable>& variables) {
  std::set<std::string> seen;
  for (const Variable& variable : variables) {
    const std::string wrong = WrongHandle(call.graph(), variable, seen);
    if (wrong.empty()) continue;
    // A variable that was never made because of an error does not deserve a second error.
    if (!variable.name().empty() || call.graph().status().ok()) call.Fail(wrong);
    return false;
  }
  return true;
}

std::optional<std::vector<Target>> TargetsOf(Call& call, const Tensor& loss, const Candidates& candidates,
                                             bool allow_unused) {
  FunctionBuilder& function = call.function();
  std::vector<Variable> variables;
  if (candidates) {
    if (candidates->empty()) {
      call.Fail(
          "was given no parameters; a module has them after its first call, and without the option "
          ".parameters it updates all that the loss depends on");
      return std::nullopt;
    }
    if (!CheckHandles(call, *candidates)) return std::nullopt;
    variables = *candidates;
  } else {
    for (ir::VariableOp op : function.TrainableReads()) variables.push_back(VariableOf(call.graph(), op));
  }
  const GradientReach reach(mlir::Value::getFromOpaquePointer(loss.value()));
  std::vector<Target> targets;
  for (const Variable& variable : variables) {
    Tensor in_loss = ValueInLoss(function, reach, variable.name());
    if (in_loss.ok()) {
      targets.push_back({variable, Builder(&function).Read(variable, call.where()), in_loss});
    } else if (candidates && !allow_unused) {
      llvm::ArrayRef<mlir::Value> values = function.ValuesOf(variable.name());
      call.Fail(
          absl::StrCat("was given \"", variable.name(), "\", which no gradient reaches: ",
                       values.empty() ? "the loss does not depend on it" : reach.WhyNot(values.back())));
      return std::nullopt;
    }
  }
  if (targets.empty()) {
    call.Fail("finds no trainable variable that the loss depends on; build the model first");
    return std::nullopt;
  }
  return targets;
}

std::vector<std::string> NamesOf(const std::vector<Target>& targets) {
  std::vector<std::string> names;
  for (const Target& target : targets) names.push_back(target.variable.name());
  return names;
}

}  // namespace sinter::optim
