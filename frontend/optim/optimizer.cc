#include "sinter/frontend/optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph_state.h"

namespace sinter::optim {

namespace {

// Everything that one update rule works with. Arithmetic happens in f32 (f64 for f64 parameters).
class Update {
 public:
  Update(const Tensor& loss, std::string optimizer, Where where)
      : builder_(loss.function()), optimizer_(std::move(optimizer)), where_(where) {}

  // A slot of the parameter, by name; starts at zero.
  Variable Slot(const Variable& parameter, std::string_view slot) {
    return builder_.MakeVariable(absl::StrCat(optimizer_, "/", std::string(slot), "/", parameter.name()),
                                 ComputeType(parameter.dtype()), parameter.shape(),
                                 {.init = {}, .trainable = false}, where_);
  }
  // The number of this update, counted from 1, as f32.
  Tensor StepNumber() {
    Variable step = builder_.MakeVariable(absl::StrCat(optimizer_, "/step"), DType::kI64, {},
                                          {.init = {}, .trainable = false}, where_);
    if (!step.ok()) return {};
    Tensor next = Add(builder_.Read(step, where_), 1);
    builder_.Assign(step, next, where_);
    return Cast(next, DType::kF32, where_);
  }
  Tensor Read(const Variable& v) { return builder_.Read(v, where_); }
  void Assign(const Variable& v, const Tensor& value) {
    builder_.Assign(v, Cast(value, v.dtype(), where_), where_);
  }
  static DType ComputeType(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

  // Arithmetic that carries the user's line.
  Tensor Add(Operand x, Operand y) { return At(x) + At(y); }
  Tensor Sub(Operand x, Operand y) { return At(x) - At(y); }
  Tensor Mul(Operand x, Operand y) { return At(x) * At(y); }
  Tensor Div(Operand x, Operand y) { return At(x) / At(y); }

 private:
  Operand At(const Operand& x) {
    return x.is_tensor() ? Operand(x.tensor(), where_) : Operand(x.number(), where_);
  }

  Builder builder_;
  std::string optimizer_;
  Where where_;
};

// One parameter's new value from its gradient, both in the compute type; `lr` as well.
using Rule = std::function<Tensor(Update& u, const Variable& variable, const Tensor& p, const Tensor& g,
                                  const Operand& lr)>;

// What to update; null: every trainable variable that the function has read.
using Candidates = std::optional<std::vector<Variable>>;

Variable VariableOf(GraphState& graph, ir::VariableOp op) {
  auto type = llvm::cast<mlir::RankedTensorType>(op.getType());
  return Variable(&graph, op.getSymName().str(), DTypeOf(type.getElementType()),
                  Shape(type.getShape().begin(), type.getShape().end()));
}

// Everything that the loss is computed from.
llvm::DenseSet<mlir::Value> BackwardSlice(const Tensor& loss) {
  llvm::DenseSet<mlir::Value> seen;
  llvm::SmallVector<mlir::Value> work = {mlir::Value::getFromOpaquePointer(loss.value())};
  while (!work.empty()) {
    mlir::Value value = work.pop_back_val();
    if (!seen.insert(value).second) continue;
    if (mlir::Operation* op = value.getDefiningOp()) work.append(op->operand_begin(), op->operand_end());
  }
  return seen;
}

// A parameter, its value now, and the value that the loss was computed from: they differ when an earlier
// optimiser of the same function has updated it.
struct Parameter {
  Variable variable;
  Tensor now;
  Tensor in_loss;
};

// Of `candidates`, or of all trainable float variables that the function has read, those that the loss
// depends on. Null, with an error kept, when a named candidate is not one of them.
std::optional<std::vector<Parameter>> ParametersOf(Call& call, const Tensor& loss,
                                                   const Candidates& candidates, Update& u) {
  FunctionState& function = call.function();
  std::vector<Variable> variables;
  if (candidates) {
    variables = *candidates;
  } else {
    for (ir::VariableOp op : function.TrainableReads()) variables.push_back(VariableOf(function.graph(), op));
  }
  llvm::DenseSet<mlir::Value> slice = BackwardSlice(loss);
  std::vector<Parameter> parameters;
  for (const Variable& variable : variables) {
    if (!variable.ok()) continue;
    Tensor now = u.Read(variable);
    mlir::Value first = function.FirstValue(function.graph().variable_ops.at(variable.name()));
    Tensor before(&function, first.getAsOpaquePointer());
    bool depends_now = slice.contains(mlir::Value::getFromOpaquePointer(now.value()));
    if (depends_now || slice.contains(first)) {
      parameters.push_back({variable, now, depends_now ? now : before});
    } else if (candidates) {
      call.Fail(absl::StrCat("was given \"", variable.name(), "\", on which the loss does not depend"));
      return std::nullopt;
    }
  }
  if (parameters.empty()) {
    call.Fail("finds no trainable variable that the loss depends on; build the model first");
    return std::nullopt;
  }
  return parameters;
}

// Whether the graph says where the tensor is.
bool IsPlaced(const Tensor& x) {
  return x.ok() && x.function()->DeviceOf(mlir::Value::getFromOpaquePointer(x.value()));
}

// Factors the gradients by min(1, clip_norm / norm), with the norm over all of them. Gradients on several devices send
// their sums to the first one's and get the factor back.
void ClipByGlobalNorm(Update& u, double clip_norm, std::vector<Tensor>& gradients, Where where) {
  bool placed = std::any_of(gradients.begin(), gradients.end(), IsPlaced);
  Tensor total;
  for (const Tensor& g : gradients) {
    Tensor squares = Sum(Square(Cast(g, DType::kF32, where), where), {}, {}, where);
    if (placed && total.ok()) squares = Copy(squares, total, where);
    total = total.ok() ? u.Add(total, squares) : squares;
  }
  Tensor norm = Sqrt(total, where);
  // A norm of 0 divides to infinity, which the minimum makes 1.
  Tensor factor = Minimum(Operand(u.Div(clip_norm, norm), where), Operand(1.0, where));
  for (Tensor& g : gradients) {
    Tensor here = placed ? Copy(factor, g, where) : factor;
    g = u.Mul(g, Cast(here, g.dtype(), where));
  }
}

void Apply(const Tensor& loss, const Candidates& candidates, const std::string& name,
           const Operand& learning_rate, double clip_norm, Where where, const Rule& rule) {
  if (!loss.ok()) return;
  LocationScope scope(&loss.function()->graph(), where, absl::StrCat("optim::", name));
  Call call("Minimize", where, {loss});
  if (!call.ok()) return;
  const Tensor& lr = learning_rate.tensor();
  if (learning_rate.is_tensor() && lr.ok() && (lr.rank() != 0 || lr.dtype() != DType::kF32)) {
    call.Fail(absl::StrCat("takes a learning rate that is a number or f32[], got ", lr.ToString()));
    return;
  }
  // An update is where its parameter is.
  UnplacedScope unplaced(&call.function());
  Update u(loss, absl::AsciiStrToLower(name), where);
  std::optional<std::vector<Parameter>> parameters = ParametersOf(call, loss, candidates, u);
  if (!parameters) return;
  std::vector<Tensor> in_loss;
  for (const Parameter& p : *parameters) in_loss.push_back(p.in_loss);
  std::vector<Tensor> gradients = Gradients(loss, in_loss, where);
  for (size_t i = 0; i < gradients.size(); ++i) {
    gradients[i] = Cast(gradients[i], Update::ComputeType((*parameters)[i].variable.dtype()), where);
  }
  if (clip_norm > 0) ClipByGlobalNorm(u, clip_norm, gradients, where);
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Parameter& parameter = (*parameters)[i];
    Tensor value = Cast(parameter.now, gradients[i].dtype(), where);
    Operand rate = learning_rate;
    if (learning_rate.is_tensor()) {
      rate = Operand(Cast(IsPlaced(lr) ? Copy(lr, value, where) : lr, value.dtype(), where), where);
    }
    u.Assign(parameter.variable, rule(u, parameter.variable, value, gradients[i], rate));
  }
}

Tensor WithDecay(Update& u, const Tensor& g, const Tensor& p, double weight_decay) {
  return weight_decay == 0 ? g : u.Add(g, u.Mul(p, weight_decay));
}

// The Adam rule; `decoupled` adds the decay to the step instead of the gradient.
Rule AdamRule(double beta1, double beta2, double epsilon, double weight_decay, bool decoupled, Where where) {
  // The bias corrections are the same for every parameter: computed once, at the first.
  auto corrections = std::make_shared<std::pair<Tensor, Tensor>>();
  return [=](Update& u, const Variable& variable, const Tensor& p, const Tensor& g,
             const Operand& lr) -> Tensor {
    if (!corrections->first.ok()) {
      Tensor t = u.StepNumber();
      // 1 - beta^t as -expm1(t log beta): exact for small t too.
      auto correction = [&](double beta) { return u.Mul(Expm1(u.Mul(t, std::log(beta)), where), -1.0); };
      *corrections = {correction(beta1), correction(beta2)};
    }
    Tensor c1 = Cast(corrections->first, p.dtype(), where), c2 = Cast(corrections->second, p.dtype(), where);
    Variable m_slot = u.Slot(variable, "m"), v_slot = u.Slot(variable, "v");
    if (!m_slot.ok() || !v_slot.ok()) return {};
    Tensor gradient = decoupled ? g : WithDecay(u, g, p, weight_decay);
    Tensor m = u.Add(u.Mul(u.Read(m_slot), beta1), u.Mul(gradient, 1 - beta1));
    Tensor v = u.Add(u.Mul(u.Read(v_slot), beta2), u.Mul(Square(gradient, where), 1 - beta2));
    u.Assign(m_slot, m);
    u.Assign(v_slot, v);
    Tensor step = u.Div(u.Div(m, c1), u.Add(Sqrt(u.Div(v, c2), where), epsilon));
    if (decoupled && weight_decay != 0) step = u.Add(step, u.Mul(p, weight_decay));
    return u.Sub(p, u.Mul(step, lr));
  };
}

void Run(const Sgd& o, const Tensor& loss, const Candidates& parameters, Where where) {
  Apply(loss, parameters, "Sgd", o.learning_rate, o.clip_norm, where,
        [&](Update& u, const Variable&, const Tensor& p, const Tensor& g, const Operand& lr) {
          return u.Sub(p, u.Mul(WithDecay(u, g, p, o.weight_decay), lr));
        });
}

void Run(const Momentum& o, const Tensor& loss, const Candidates& parameters, Where where) {
  Apply(loss, parameters, o.nesterov ? "Nesterov" : "Momentum", o.learning_rate, o.clip_norm, where,
        [&](Update& u, const Variable& variable, const Tensor& p, const Tensor& g,
            const Operand& lr) -> Tensor {
          Variable slot = u.Slot(variable, "v");
          if (!slot.ok()) return {};
          Tensor gradient = WithDecay(u, g, p, o.weight_decay);
          Tensor v = u.Add(u.Mul(u.Read(slot), o.momentum), gradient);
          u.Assign(slot, v);
          Tensor step = o.nesterov ? u.Add(gradient, u.Mul(v, o.momentum)) : v;
          return u.Sub(p, u.Mul(step, lr));
        });
}

void Run(const Adam& o, const Tensor& loss, const Candidates& parameters, Where where) {
  Apply(loss, parameters, "Adam", o.learning_rate, o.clip_norm, where,
        AdamRule(o.beta1, o.beta2, o.epsilon, o.weight_decay, /*decoupled=*/false, where));
}

void Run(const AdamW& o, const Tensor& loss, const Candidates& parameters, Where where) {
  Apply(loss, parameters, "AdamW", o.learning_rate, o.clip_norm, where,
        AdamRule(o.beta1, o.beta2, o.epsilon, o.weight_decay, /*decoupled=*/true, where));
}

}  // namespace

void Sgd::Minimize(const Tensor& loss, Where where) const { Run(*this, loss, std::nullopt, where); }
void Sgd::MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters, Where where) const {
  Run(*this, loss, parameters, where);
}

void Momentum::Minimize(const Tensor& loss, Where where) const { Run(*this, loss, std::nullopt, where); }
void Momentum::MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters, Where where) const {
  Run(*this, loss, parameters, where);
}

void Adam::Minimize(const Tensor& loss, Where where) const { Run(*this, loss, std::nullopt, where); }
void Adam::MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters, Where where) const {
  Run(*this, loss, parameters, where);
}

void AdamW::Minimize(const Tensor& loss, Where where) const { Run(*this, loss, std::nullopt, where); }
void AdamW::MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters, Where where) const {
  Run(*this, loss, parameters, where);
}

}  // namespace sinter::optim
