#include "sinter/frontend/optim/optimizer.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph_state.h"
#include "sinter/kernels/cpu/vector_math.h"

namespace sinter::optim {

namespace {

// Whether the graph says where the tensor is.
bool IsPlaced(const Tensor& x) {
  return x.ok() && x.function()->DeviceOf(mlir::Value::getFromOpaquePointer(x.value()));
}

// Everything that one update rule works with. Arithmetic happens in f32 (f64 for f64 parameters).
class Update {
 public:
  Update(FunctionState* function, std::string optimizer, Where where)
      : builder_(function), optimizer_(std::move(optimizer)), where_(where) {}

  // A slot of the parameter, by name; starts at zero.
  Variable Slot(const Variable& parameter, std::string_view slot) {
    return State(absl::StrCat(std::string(slot), "/", parameter.name()), ComputeType(parameter.dtype()),
                 parameter.shape(), 0);
  }
  // A variable of the optimiser's own.
  Variable State(const std::string& name, DType dtype, const Shape& shape, double initial) {
    return builder_.MakeVariable(absl::StrCat(optimizer_, "/", name), dtype, shape,
                                 {.init = {.a = initial}, .trainable = false}, where_);
  }
  // The number of this update, counted from 1, as f32.
  Tensor StepNumber() {
    Variable step = State("step", DType::kI64, {}, 0);
    if (!step.ok()) return {};
    Tensor next = Add(builder_.Read(step, where_), 1);
    Assign(step, next);
    return Cast(next, DType::kF32, where_);
  }
  Tensor Read(const Variable& v) { return builder_.Read(v, where_); }
  // A new value, unless the step is not to count.
  void Assign(const Variable& v, const Tensor& value) {
    Tensor next = Cast(value, v.dtype(), where_);
    if (counts_.ok() && next.ok()) {
      Tensor counts = IsPlaced(next) ? Copy(counts_, next, where_) : counts_;
      next = Select(At(counts), At(next), At(Read(v)));
    }
    builder_.Assign(v, next, where_);
  }
  void AssignAlways(const Variable& v, const Tensor& value) { builder_.Assign(v, value, where_); }
  // From now on variables keep their values also where `counts`, i1[], is false.
  void CountOnlyIf(const Tensor& counts) {
    if (!counts_.ok()) {
      counts_ = counts;
    } else {
      counts_ = At(counts_) && At(IsPlaced(counts_) ? Copy(counts, counts_, where_) : counts);
    }
  }
  static DType ComputeType(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

  // Arithmetic that carries the user's line.
  Tensor Add(Operand x, Operand y) { return At(x) + At(y); }
  Tensor Sub(Operand x, Operand y) { return At(x) - At(y); }
  Tensor Mul(Operand x, Operand y) { return At(x) * At(y); }
  Tensor Div(Operand x, Operand y) { return At(x) / At(y); }
  Operand At(const Operand& x) {
    return x.is_tensor() ? Operand(x.tensor(), where_) : Operand(x.number(), where_);
  }

 private:
  Builder builder_;
  std::string optimizer_;
  Where where_;
  Tensor counts_;  // Not ok: every step counts.
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

// The loss scale of one Minimize.
class Scaling {
 public:
  Scaling(Update& u, const LossScale& options, Where where) : u_(u), options_(options), where_(where) {
    scale_ = u.State("loss_scale", DType::kF32, {}, options.initial);
    good_steps_ = u.State("good_steps", DType::kI64, {}, 0);
    if (scale_.ok() && good_steps_.ok()) now_ = u.Read(scale_);
  }

  // At least in f32: f16 cannot hold a large scale.
  Tensor Scaled(const Tensor& loss) {
    Tensor wide = Cast(loss, Update::ComputeType(loss.dtype()), where_);
    return u_.Mul(wide, Cast(Near(now_, wide), wide.dtype(), where_));
  }
  void Unscale(std::vector<Tensor>& gradients) {
    Tensor inverse = u_.Div(1.0, now_);
    for (Tensor& g : gradients) g = u_.Mul(g, Cast(Near(inverse, g), g.dtype(), where_));
  }
  // Lets the update count if all gradients are finite, and moves the scale.
  void Judge(const std::vector<Tensor>& gradients) {
    Tensor good;
    for (const Tensor& g : gradients) {
      Tensor finite = All(IsFinite(g, where_), {}, {}, where_);
      good = good.ok() ? Operand(good, where_) && Operand(Near(finite, good), where_) : finite;
    }
    u_.CountOnlyIf(good);
    Tensor steps = u_.Add(u_.Read(good_steps_), 1);
    Tensor due = Operand(steps, where_) >= Operand(static_cast<double>(options_.double_after), where_);
    Tensor more = Minimum(Operand(u_.Mul(now_, 2.0), where_), Operand(kLargest, where_));
    Tensor less = Maximum(Operand(u_.Mul(now_, 0.5), where_), Operand(1.0, where_));
    Tensor after_good = Choose(due, more, now_);
    u_.AssignAlways(scale_, Choose(good, after_good, less));
    u_.AssignAlways(good_steps_, Choose(good, Choose(due, 0.0, steps), 0.0));
  }

  static constexpr double kLargest = 16777216;  // 2^24

 private:
  Tensor Choose(const Tensor& condition, const Operand& yes, const Operand& no) {
    return Select(u_.At(condition), u_.At(yes), u_.At(no));
  }
  // Where `like` is, if the graph says where that is.
  Tensor Near(const Tensor& x, const Tensor& like) { return IsPlaced(like) ? Copy(x, like, where_) : x; }

  Update& u_;
  const LossScale& options_;
  Where where_;
  Variable scale_, good_steps_;
  Tensor now_;
};

// What all optimisers have.
struct Shared {
  const Operand& learning_rate;
  double clip_norm;
  const std::optional<LossScale>& loss_scale;
};

template <typename Optimizer>
Shared SharedBy(const Optimizer& o) {
  return {o.learning_rate, o.clip_norm, o.loss_scale};
}

// An optimiser, as the functions below see it.
struct Method {
  std::string name;
  Shared shared;
  Rule rule;
  std::string prefix() const { return absl::AsciiStrToLower(name); }  // Of its variables.
};

// Sums of gradients, and how many losses they are of: between Accumulate and ApplyAccumulated.
constexpr char kSums[] = "accumulated";
constexpr char kCount[] = "accumulated_losses";

// False, with an error kept, when the options make no sense.
bool CheckShared(Call& call, const Shared& shared) {
  const Tensor& lr = shared.learning_rate.tensor();
  if (shared.learning_rate.is_tensor() && lr.ok() && (lr.rank() != 0 || lr.dtype() != DType::kF32)) {
    call.Fail(absl::StrCat("takes a learning rate that is a number or f32[], got ", lr.ToString()));
    return false;
  }
  if (!shared.loss_scale) return true;
  const auto& [initial, double_after] = *shared.loss_scale;
  if (!(initial >= 1 && initial <= Scaling::kLargest) || double_after < 1) {
    call.Fail(
        absl::StrCat("needs a first loss scale from 1 to 2^24 and at least 1 step until it is doubled, got ",
                     initial, " and ", double_after));
    return false;
  }
  return true;
}

// The gradients of the loss in the type in which updates are computed.
std::vector<Tensor> GradientsOf(const Tensor& loss, const std::vector<Parameter>& parameters, Where where) {
  std::vector<Tensor> in_loss;
  for (const Parameter& p : parameters) in_loss.push_back(p.in_loss);
  std::vector<Tensor> gradients = Gradients(loss, in_loss, where);
  for (size_t i = 0; i < gradients.size(); ++i) {
    gradients[i] = Cast(gradients[i], Update::ComputeType(parameters[i].variable.dtype()), where);
  }
  return gradients;
}

// New values of the parameters, from gradients that are still scaled.
void Step(Update& u, const std::vector<Parameter>& parameters, std::vector<Tensor> gradients,
          std::optional<Scaling>& scaling, const Method& method, Where where) {
  if (scaling) {
    scaling->Unscale(gradients);
    scaling->Judge(gradients);
  }
  const Shared& shared = method.shared;
  if (shared.clip_norm > 0) ClipByGlobalNorm(u, shared.clip_norm, gradients, where);
  const Tensor& lr = shared.learning_rate.tensor();
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Parameter& parameter = parameters[i];
    Tensor value = Cast(parameter.now, gradients[i].dtype(), where);
    Operand rate = shared.learning_rate;
    if (rate.is_tensor()) {
      rate = Operand(Cast(IsPlaced(lr) ? Copy(lr, value, where) : lr, value.dtype(), where), where);
    }
    u.Assign(parameter.variable, method.rule(u, parameter.variable, value, gradients[i], rate));
  }
}

// Hands the gradients of a loss to `then`, with what it needs to go on.
void WithGradients(std::string_view call_name, const Tensor& loss, const Candidates& candidates,
                   const Method& method, Where where,
                   const std::function<void(Update&, const std::vector<Parameter>&, std::vector<Tensor>,
                                            std::optional<Scaling>&)>& then) {
  if (!loss.ok()) return;
  LocationScope scope(&loss.function()->graph(), where, absl::StrCat("optim::", method.name));
  Call call(call_name, where, {loss});
  if (!call.ok()) return;
  if (!CheckShared(call, method.shared)) return;
  // An update is where its parameter is.
  UnplacedScope unplaced(&call.function());
  Update u(&call.function(), method.prefix(), where);
  std::optional<std::vector<Parameter>> parameters = ParametersOf(call, loss, candidates, u);
  if (!parameters) return;
  std::optional<Scaling> scaling;
  if (method.shared.loss_scale) scaling.emplace(u, *method.shared.loss_scale, where);
  then(u, *parameters, GradientsOf(scaling ? scaling->Scaled(loss) : loss, *parameters, where), scaling);
}

void DoMinimize(const Method& method, const Tensor& loss, const Candidates& candidates, Where where) {
  WithGradients("Minimize", loss, candidates, method, where,
                [&](Update& u, const std::vector<Parameter>& parameters, std::vector<Tensor> gradients,
                    std::optional<Scaling>& scaling) {
                  Step(u, parameters, std::move(gradients), scaling, method, where);
                });
}

void DoAccumulate(const Method& method, const Tensor& loss, Where where) {
  WithGradients("Accumulate", loss, std::nullopt, method, where,
                [&](Update& u, const std::vector<Parameter>& parameters, std::vector<Tensor> gradients,
                    std::optional<Scaling>&) {
                  for (size_t i = 0; i < parameters.size(); ++i) {
                    Variable sum = u.Slot(parameters[i].variable, kSums);
                    if (sum.ok()) u.Assign(sum, u.Add(u.Read(sum), gradients[i]));
                  }
                  Variable count = u.State(kCount, DType::kI64, {}, 0);
                  if (count.ok()) u.Assign(count, u.Add(u.Read(count), 1));
                });
}

void DoApplyAccumulated(const Method& method, Builder& b, Where where) {
  GraphState& graph = b.function()->graph();
  LocationScope scope(&graph, where, absl::StrCat("optim::", method.name));
  Call call("ApplyAccumulated", where, b.function());
  if (!call.ok() || !CheckShared(call, method.shared)) return;
  UnplacedScope unplaced(&call.function());
  Update u(&call.function(), method.prefix(), where);
  const std::string sums_begin = absl::StrCat(method.prefix(), "/", kSums, "/");
  std::vector<Variable> sums;
  for (const Variable& v : graph.variables) {
    if (v.name().starts_with(sums_begin)) sums.push_back(v);
  }
  if (sums.empty()) {
    call.Fail(
        "finds no gradients; build a function before this one that calls Accumulate of the same optimiser");
    return;
  }
  Variable count = u.State(kCount, DType::kI64, {}, 0);
  Tensor losses = u.Read(count), counts = u.At(losses) > u.At(0);
  u.CountOnlyIf(counts);
  u.AssignAlways(count, Select(u.At(counts), u.At(0), u.At(losses)));
  std::vector<Parameter> parameters;
  std::vector<Tensor> gradients;
  for (const Variable& sum : sums) {
    Variable variable = VariableOf(graph, graph.variable_ops.at(sum.name().substr(sums_begin.size())));
    Tensor now = u.Read(variable), total = u.Read(sum);
    auto here = [&](const Tensor& x) { return IsPlaced(now) ? Copy(x, now, where) : x; };
    parameters.push_back({variable, now, now});
    gradients.push_back(u.Div(total, Cast(here(losses), total.dtype(), where)));
    // Not a plain zero, so that the kernel which reads the sums empties them too.
    u.AssignAlways(sum, Select(u.At(here(counts)), u.At(0), u.At(total)));
  }
  std::optional<Scaling> scaling;
  if (method.shared.loss_scale) scaling.emplace(u, *method.shared.loss_scale, where);
  Step(u, parameters, std::move(gradients), scaling, method, where);
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
      // 1 - beta^t as -expm1(t log beta): exact for small t too. Not the C library's log, which depends on the CPU.
      auto correction = [&](double beta) { return u.Mul(Expm1(u.Mul(t, sn_log_f64(beta)), where), -1.0); };
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

Method MethodOf(const Sgd& o, Where) {
  return {"Sgd", SharedBy(o),
          [&o](Update& u, const Variable&, const Tensor& p, const Tensor& g, const Operand& lr) {
            return u.Sub(p, u.Mul(WithDecay(u, g, p, o.weight_decay), lr));
          }};
}

Method MethodOf(const Momentum& o, Where) {
  Rule rule = [&o](Update& u, const Variable& variable, const Tensor& p, const Tensor& g,
                   const Operand& lr) -> Tensor {
    Variable slot = u.Slot(variable, "v");
    if (!slot.ok()) return {};
    Tensor gradient = WithDecay(u, g, p, o.weight_decay);
    Tensor v = u.Add(u.Mul(u.Read(slot), o.momentum), gradient);
    u.Assign(slot, v);
    Tensor step = o.nesterov ? u.Add(gradient, u.Mul(v, o.momentum)) : v;
    return u.Sub(p, u.Mul(step, lr));
  };
  return {o.nesterov ? "Nesterov" : "Momentum", SharedBy(o), std::move(rule)};
}

Method MethodOf(const Adam& o, Where where) {
  return {"Adam", SharedBy(o),
          AdamRule(o.beta1, o.beta2, o.epsilon, o.weight_decay, /*decoupled=*/false, where)};
}

Method MethodOf(const AdamW& o, Where where) {
  return {"AdamW", SharedBy(o),
          AdamRule(o.beta1, o.beta2, o.epsilon, o.weight_decay, /*decoupled=*/true, where)};
}

}  // namespace

void Sgd::Minimize(const Tensor& loss, Where where) const {
  DoMinimize(MethodOf(*this, where), loss, std::nullopt, where);
}
void Sgd::MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters, Where where) const {
  DoMinimize(MethodOf(*this, where), loss, parameters, where);
}
void Sgd::Accumulate(const Tensor& loss, Where where) const {
  DoAccumulate(MethodOf(*this, where), loss, where);
}
void Sgd::ApplyAccumulated(Builder& b, Where where) const {
  DoApplyAccumulated(MethodOf(*this, where), b, where);
}

void Momentum::Minimize(const Tensor& loss, Where where) const {
  DoMinimize(MethodOf(*this, where), loss, std::nullopt, where);
}
void Momentum::MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters, Where where) const {
  DoMinimize(MethodOf(*this, where), loss, parameters, where);
}
void Momentum::Accumulate(const Tensor& loss, Where where) const {
  DoAccumulate(MethodOf(*this, where), loss, where);
}
void Momentum::ApplyAccumulated(Builder& b, Where where) const {
  DoApplyAccumulated(MethodOf(*this, where), b, where);
}

void Adam::Minimize(const Tensor& loss, Where where) const {
  DoMinimize(MethodOf(*this, where), loss, std::nullopt, where);
}
void Adam::MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters, Where where) const {
  DoMinimize(MethodOf(*this, where), loss, parameters, where);
}
void Adam::Accumulate(const Tensor& loss, Where where) const {
  DoAccumulate(MethodOf(*this, where), loss, where);
}
void Adam::ApplyAccumulated(Builder& b, Where where) const {
  DoApplyAccumulated(MethodOf(*this, where), b, where);
}

void AdamW::Minimize(const Tensor& loss, Where where) const {
  DoMinimize(MethodOf(*this, where), loss, std::nullopt, where);
}
void AdamW::MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters, Where where) const {
  DoMinimize(MethodOf(*this, where), loss, parameters, where);
}
void AdamW::Accumulate(const Tensor& loss, Where where) const {
  DoAccumulate(MethodOf(*this, where), loss, where);
}
void AdamW::ApplyAccumulated(Builder& b, Where where) const {
  DoApplyAccumulated(MethodOf(*this, where), b, where);
}

}  // namespace sinter::optim
