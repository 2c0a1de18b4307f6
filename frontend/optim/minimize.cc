#include "sinter/frontend/optim/minimize.h"

#include <algorithm>
#include <functional>
#include <set>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/gradient_reach.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/optim/loss_scaling.h"
#include "sinter/frontend/optim/optimizer_identity.h"

namespace sinter::optim {

namespace {

// Slots between Accumulate and ApplyAccumulated: the sums of gradients, and the number of accumulated losses.
constexpr char kSums[] = "accumulated";
constexpr char kCount[] = "accumulated_losses";

Variable VariableOf(GraphState& graph, ir::VariableOp op) {
  auto type = llvm::cast<mlir::RankedTensorType>(op.getType());
  return Variable(&graph, op.getSymName().str(), DTypeOf(type.getElementType()),
                  Shape(type.getShape().begin(), type.getShape().end()));
}

// A parameter, its current value, and the value that the loss was computed from. The two values differ if an
// earlier optimiser of the same function has updated the parameter.
struct Parameter {
  Variable variable;
  Tensor now;
  Tensor in_loss;
};

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

// Returns those of `candidates`, or of all trainable variables that the function has read, that the loss
// depends on. nullopt, with an error kept, if a named candidate does not qualify.
std::optional<std::vector<Parameter>> ParametersOf(Call& call, const Tensor& loss,
                                                   const Candidates& candidates) {
  FunctionBuilder& function = call.function();
  GraphState& graph = call.graph();
  std::vector<Variable> variables;
  std::set<std::string> seen;
  if (candidates) {
    for (const Variable& variable : *candidates) {
      std::string wrong = WrongHandle(graph, variable, seen);
      if (wrong.empty()) continue;
      // A variable that was never made because of an error does not deserve a second error.
      if (!variable.name().empty() || graph.status().ok()) call.Fail(wrong);
      return std::nullopt;
    }
    variables = *candidates;
  } else {
    for (ir::VariableOp op : function.TrainableReads()) variables.push_back(VariableOf(graph, op));
  }
  const GradientReach reach(mlir::Value::getFromOpaquePointer(loss.value()));
  std::vector<Parameter> parameters;
  for (const Variable& variable : variables) {
    Tensor in_loss = ValueInLoss(function, reach, variable.name());
    if (in_loss.ok()) {
      parameters.push_back({variable, Builder(&function).Read(variable, call.where()), in_loss});
    } else if (candidates) {
      llvm::ArrayRef<mlir::Value> values = function.ValuesOf(variable.name());
      call.Fail(
          absl::StrCat("was given \"", variable.name(), "\", which no gradient reaches: ",
                       values.empty() ? "the loss does not depend on it" : reach.WhyNot(values.back())));
      return std::nullopt;
    }
  }
  if (parameters.empty()) {
    call.Fail("finds no trainable variable that the loss depends on; build the model first");
    return std::nullopt;
  }
  return parameters;
}

std::vector<std::string> NamesOf(const std::vector<Parameter>& parameters) {
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters) names.push_back(parameter.variable.name());
  return names;
}

// Multiplies the gradients by min(1, clip_norm / norm), with the norm over all of them, in f64 if one of them
// has that type and else in f32. Gradients on several devices send their sums to the device of the first one
// and get the factor back.
void ClipByGlobalNorm(Update& u, double clip_norm, std::vector<Tensor>& gradients) {
  const Where where = u.where();
  bool placed = std::any_of(gradients.begin(), gradients.end(), IsPlaced);
  const bool has_f64 =
      std::ranges::any_of(gradients, [](const Tensor& g) { return g.dtype() == DType::kF64; });
  Tensor total;
  for (const Tensor& g : gradients) {
    Tensor squares = Sum(Square(Cast(g, has_f64 ? DType::kF64 : DType::kF32, where), where), {}, {}, where);
    if (placed && total.ok()) squares = Copy(squares, total, where);
    total = total.ok() ? u.Add(total, squares) : squares;
  }
  Tensor norm = Sqrt(total, where);
  // A norm of 0 divides to infinity, and the minimum makes the factor 1.
  Tensor factor = Minimum(Operand(u.Div(clip_norm, norm), where), Operand(1.0, where));
  for (Tensor& g : gradients) {
    Tensor here = placed ? Copy(factor, g, where) : factor;
    g = u.Mul(g, Cast(here, g.dtype(), where));
  }
}

bool CheckRate(Call& call, const Operand& rate) {
  const Tensor& lr = rate.tensor();
  if (!rate.is_tensor() || !lr.ok() || (lr.rank() == 0 && lr.dtype() == DType::kF32)) return true;
  call.Fail(absl::StrCat("takes a learning rate that is a number or f32[], got ", lr.ToString()));
  return false;
}

// True if the options are valid; else keeps an error.
bool CheckOptions(Call& call, const Method& method) {
  if (!method.wrong.empty()) {
    call.Fail(method.wrong);
    return false;
  }
  if (!CheckRate(call, method.rest.learning_rate)) return false;
  return std::ranges::all_of(method.groups,
                             [&](const Settings& group) { return CheckRate(call, group.learning_rate); });
}

// Returns the settings of each parameter, in order. nullopt, with an error kept, if a group matches no
// parameter.
std::optional<std::vector<const Settings*>> SettingsOf(Call& call, const Method& method,
                                                       const std::vector<Parameter>& parameters) {
  std::vector<const Settings*> result;
  for (const Parameter& parameter : parameters) {
    auto group =
        std::ranges::find_if(method.groups, [&](const Settings& g) { return g.of(parameter.variable); });
    result.push_back(group == method.groups.end() ? &method.rest : &*group);
  }
  for (size_t i = 0; i < method.groups.size(); ++i) {
    if (std::ranges::find(result, &method.groups[i]) != result.end()) continue;
    call.Fail(absl::StrCat("has a group, number ", i, " from 0, that fits none of the ", parameters.size(),
                           " parameters, such as \"", parameters[0].variable.name(),
                           "\", or only some that groups before it have"));
    return std::nullopt;
  }
  return result;
}

// Returns the gradients of the loss, in the type in which updates are computed.
std::vector<Tensor> GradientsOf(const Tensor& loss, const std::vector<Parameter>& parameters, Where where) {
  std::vector<Tensor> in_loss;
  for (const Parameter& p : parameters) in_loss.push_back(p.in_loss);
  std::vector<Tensor> gradients = Gradients(loss, in_loss, {}, where);
  for (size_t i = 0; i < gradients.size(); ++i) {
    gradients[i] = Cast(gradients[i], Update::ComputeType(parameters[i].variable.dtype()), where);
  }
  return gradients;
}

// Returns the learning rate on the device of `value` and in its type.
Operand RateFor(Update& u, const Settings& settings, const Tensor& value) {
  const Operand& rate = settings.learning_rate;
  if (!rate.is_tensor()) return Operand(rate.number().real() * settings.rate_scale, u.where());
  const Tensor& lr = rate.tensor();
  Tensor here = Cast(IsPlaced(lr) ? Copy(lr, value, u.where()) : lr, value.dtype(), u.where());
  return Operand(settings.rate_scale == 1 ? here : u.Mul(here, settings.rate_scale), u.where());
}

// Assigns new values to the parameters, from gradients that still have the loss scale.
void Step(Call& call, Update& u, const std::vector<Parameter>& parameters, std::vector<Tensor> gradients,
          std::optional<LossScaling>& scaling, const Method& method) {
  auto settings = SettingsOf(call, method, parameters);
  if (!settings) return;
  if (scaling) {
    scaling->Unscale(gradients);
    scaling->Judge(gradients);
  }
  if (method.clip_norm > 0) ClipByGlobalNorm(u, method.clip_norm, gradients);
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Parameter& parameter = parameters[i];
    Tensor value = Cast(parameter.now, gradients[i].dtype(), u.where());
    Operand rate = RateFor(u, *(*settings)[i], value);
    u.Assign(parameter.variable, (*settings)[i]->rule(u, parameter.variable, value, gradients[i], rate));
  }
}

// Computes the gradients of a loss and passes them to `then`, with the state that it needs.
void WithGradients(std::string_view call_name, const Tensor& loss, const Candidates& candidates,
                   const Method& method, bool accumulates, Where where,
                   const std::function<void(Call&, Update&, const std::vector<Parameter>&,
                                            std::vector<Tensor>, std::optional<LossScaling>&)>& then) {
  if (!Call(absl::StrCat("optim::", method.kind), where, {loss}).ok()) return;  // The graph keeps the error.
  LocationScope scope(&loss.function()->graph(), where, absl::StrCat("optim::", method.kind));
  Call call(call_name, where, {loss});
  if (!call.ok() || !CheckOptions(call, method)) return;
  if (!IsFloat(loss.dtype()) || loss.rank() != 0) {
    call.Fail("takes a float loss of rank 0; Mean(loss) or Sum(loss) first");
    return;
  }
  // An update runs on the device of its parameter.
  UnplacedScope unplaced(&call.function());
  std::optional<std::vector<Parameter>> parameters = ParametersOf(call, loss, candidates);
  if (!parameters) return;
  const bool is_scaled = method.loss_scale.has_value();
  std::optional<UpdateOwner> owner =
      FindOptimizer(call,
                    {method.kind, method.name, accumulates, is_scaled,
                     /*keeps_state=*/method.has_slots || is_scaled || accumulates},
                    NamesOf(*parameters));
  if (!owner) return;
  Update u(&call.function(), *owner, where);
  std::optional<LossScaling> scaling;
  if (is_scaled) scaling.emplace(u, *method.loss_scale);
  then(call, u, *parameters, GradientsOf(scaling ? scaling->Scaled(loss) : loss, *parameters, where),
       scaling);
}

}  // namespace

void Minimize(const Method& method, const Tensor& loss, const Candidates& candidates, Where where) {
  WithGradients("Minimize", loss, candidates, method, /*accumulates=*/false, where,
                [&](Call& call, Update& u, const std::vector<Parameter>& parameters,
                    std::vector<Tensor> gradients, std::optional<LossScaling>& scaling) {
                  Step(call, u, parameters, std::move(gradients), scaling, method);
                });
}

void Accumulate(const Method& method, const Tensor& loss, const Candidates& candidates, Where where) {
  WithGradients("Accumulate", loss, candidates, method, /*accumulates=*/true, where,
                [&](Call&, Update& u, const std::vector<Parameter>& parameters, std::vector<Tensor> gradients,
                    std::optional<LossScaling>&) {
                  for (size_t i = 0; i < parameters.size(); ++i) {
                    Variable sum = u.Accumulator(parameters[i].variable, kSums);
                    if (!sum.ok()) return;
                    u.Assign(sum, u.Add(u.Read(sum), gradients[i]));
                  }
                  Variable count = u.State(kCount, DType::kI64, {}, 0);
                  if (count.ok()) u.Assign(count, u.Add(u.Read(count), 1));
                });
}

void ApplyAccumulated(const Method& method, Builder& b, Where where) {
  if (!Call(absl::StrCat("optim::", method.kind), where, b.function()).ok())
    return;  // The graph keeps the error.
  GraphState& graph = b.function()->graph();
  LocationScope scope(&graph, where, absl::StrCat("optim::", method.kind));
  Call call("ApplyAccumulated", where, b.function());
  if (!call.ok() || !CheckOptions(call, method)) return;
  UnplacedScope unplaced(&call.function());
  auto found = FindAccumulating(call, {method.kind, method.name, false, method.loss_scale.has_value(), true});
  if (!found) return;
  Update u(&call.function(), found->owner, where);
  Variable count = u.State(kCount, DType::kI64, {}, 0);
  if (!count.ok()) return;
  Tensor losses = u.Read(count), counts = u.At(losses) > u.At(0);
  u.CountOnlyIf(counts);
  u.AssignAlways(count, Select(u.At(counts), u.At(0), u.At(losses)));
  std::vector<Parameter> parameters;
  std::vector<Tensor> gradients;
  for (const std::string& name : found->parameters) {
    Variable variable = VariableOf(graph, graph.variable_ops.at(name));
    Variable sum = u.Accumulator(variable, kSums);
    if (!sum.ok()) return;
    Tensor now = u.Read(variable), total = u.Read(sum);
    auto here = [&](const Tensor& x) { return IsPlaced(now) ? Copy(x, now, where) : x; };
    parameters.push_back({variable, now, now});
    gradients.push_back(u.Div(total, Cast(here(losses), total.dtype(), where)));
    // Not a plain zero: this way the kernel that reads the sums also sets them to zero.
    u.AssignAlways(sum, Select(u.At(here(counts)), u.At(0), u.At(total)));
  }
  std::optional<LossScaling> scaling;
  if (method.loss_scale) scaling.emplace(u, *method.loss_scale);
  Step(call, u, parameters, std::move(gradients), scaling, method);
}

namespace {

Candidates CandidatesOf(const std::vector<Variable>* parameters) {
  return parameters == nullptr ? std::nullopt : Candidates(*parameters);
}

}  // namespace

void MinimizeBy(const MethodPtr& method, const Tensor& loss, const std::vector<Variable>* parameters,
                Where where) {
  Minimize(*method, loss, CandidatesOf(parameters), where);
}
void AccumulateBy(const MethodPtr& method, const Tensor& loss, const std::vector<Variable>* parameters,
                  Where where) {
  Accumulate(*method, loss, CandidatesOf(parameters), where);
}
void ApplyAccumulatedBy(const MethodPtr& method, Builder& b, Where where) {
  ApplyAccumulated(*method, b, where);
}

}  // namespace sinter::optim
