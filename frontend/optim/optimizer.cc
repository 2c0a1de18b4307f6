#include "sinter/frontend/optim/optimizer.h"

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/number_bounds.h"
#include "sinter/frontend/optim/loss_scaling.h"
#include "sinter/frontend/optim/minimize.h"

namespace sinter::optim {

namespace {

Tensor WithDecay(Update& u, const Tensor& g, const Tensor& p, double weight_decay) {
  return weight_decay == 0 ? g : u.Add(g, u.Mul(p, weight_decay));
}

// The Adam rule. `decoupled` adds the weight decay to the step instead of the gradient.
template <typename Optimizer>
Rule AdamRule(const Optimizer& o, bool decoupled) {
  return [beta1 = o.beta1, beta2 = o.beta2, epsilon = o.epsilon, weight_decay = o.weight_decay, decoupled](
             Update& u, const Variable& variable, const Tensor& p, const Tensor& g,
             const Operand& lr) -> Tensor {
    const Where where = u.where();
    Tensor corrections[] = {u.BiasCorrection(beta1), u.BiasCorrection(beta2)};
    Tensor c1 = Cast(corrections[0], p.dtype(), where), c2 = Cast(corrections[1], p.dtype(), where);
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

Rule RuleOf(const Sgd& o) {
  return
      [decay = o.weight_decay](Update& u, const Variable&, const Tensor& p, const Tensor& g,
                               const Operand& lr) { return u.Sub(p, u.Mul(WithDecay(u, g, p, decay), lr)); };
}

Rule RuleOf(const Momentum& o) {
  return [momentum = o.momentum, nesterov = o.nesterov, decay = o.weight_decay](
             Update& u, const Variable& variable, const Tensor& p, const Tensor& g,
             const Operand& lr) -> Tensor {
    Variable slot = u.Slot(variable, "v");
    if (!slot.ok()) return {};
    Tensor gradient = WithDecay(u, g, p, decay);
    Tensor v = u.Add(u.Mul(u.Read(slot), momentum), gradient);
    u.Assign(slot, v);
    Tensor step = nesterov ? u.Add(gradient, u.Mul(v, momentum)) : v;
    return u.Sub(p, u.Mul(step, lr));
  };
}

Rule RuleOf(const Adam& o) { return AdamRule(o, /*decoupled=*/false); }
Rule RuleOf(const AdamW& o) { return AdamRule(o, /*decoupled=*/true); }

std::string KindOf(const Sgd&) { return "Sgd"; }
std::string KindOf(const Momentum& o) { return o.nesterov ? "Nesterov" : "Momentum"; }
std::string KindOf(const Adam&) { return "Adam"; }
std::string KindOf(const AdamW&) { return "AdamW"; }

// A numeric option of an optimiser.
struct Option {
  std::string_view what;
  double value;
  NumberBounds bounds;
};

constexpr NumberBounds kFraction = {.low = 0, .below = 1};

std::vector<Option> OptionsOf(const Sgd&) { return {}; }
std::vector<Option> OptionsOf(const Momentum& o) { return {{"a momentum", o.momentum, kFraction}}; }
template <typename Optimizer>
std::vector<Option> OptionsOf(const Optimizer& o) {
  return {{"a beta1", o.beta1, kFraction},
          {"a beta2", o.beta2, kFraction},
          {"an epsilon", o.epsilon, {.low = 0}}};
}

std::string WrongIn(const LossScale& scale) {
  const auto& [initial, double_after] = scale;
  if (initial >= 1 && initial <= LossScaling::kLargest && double_after >= 1) return "";
  return absl::StrCat("needs a first loss scale from 1 to 2^24 and at least 1 step until it is doubled, got ",
                      initial, " and ", double_after);
}

// Describes an error in the options, as the rest of a sentence; empty if there is none.
template <typename Optimizer>
std::string WrongIn(const Optimizer& o) {
  std::vector<Option> options = OptionsOf(o);
  if (!o.learning_rate.is_tensor()) {
    options.push_back({"a learning rate", o.learning_rate.number().real(), {.low = 0}});
  }
  options.push_back({"a weight decay", o.weight_decay, {.low = 0}});
  options.push_back({"a clip_norm", o.clip_norm, {.low = 0}});
  for (const Option& option : options) {
    std::string wrong = OutOfBounds(option.what, option.value, option.bounds);
    if (!wrong.empty()) return wrong;
  }
  return o.loss_scale ? WrongIn(*o.loss_scale) : "";
}

// Describes an error in a group's settings; empty if there is none.
template <typename Optimizer>
std::string WrongInGroup(const Optimizer& o, const typename Optimizer::Group& group,
                         const Optimizer& changed) {
  if (!group.of) return "has a group that does not say of which parameters it is: set .of";
  if (std::string wrong = OutOfBounds("a rate_scale", group.rate_scale, {.low = 0}); !wrong.empty())
    return wrong;
  if (changed.clip_norm != o.clip_norm || changed.loss_scale.has_value() != o.loss_scale.has_value() ||
      changed.name != o.name || !changed.groups.empty()) {
    return "has a group that changes clip_norm, loss_scale, name or groups, which are of all parameters "
           "together";
  }
  return WrongIn(changed);
}

template <typename Optimizer>
Method MethodOf(const Optimizer& o) {
  Method method{.kind = KindOf(o),
                .name = o.name,
                .has_slots = !std::is_same_v<Optimizer, Sgd>,
                .clip_norm = o.clip_norm,
                .loss_scale = o.loss_scale,
                .rest = {RuleOf(o), o.learning_rate},
                .groups = {},
                .wrong = WrongIn(o)};
  for (const typename Optimizer::Group& group : o.groups) {
    Optimizer changed = o;
    changed.groups.clear();
    if (group.with) group.with(changed);
    if (method.wrong.empty()) method.wrong = WrongInGroup(o, group, changed);
    method.groups.push_back({RuleOf(changed), changed.learning_rate, group.rate_scale, group.of});
  }
  return method;
}

}  // namespace

void Sgd::Minimize(const Tensor& loss, Where where) const {
  optim::Minimize(MethodOf(*this), loss, std::nullopt, where);
}
void Sgd::MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters, Where where) const {
  optim::Minimize(MethodOf(*this), loss, parameters, where);
}
void Sgd::Accumulate(const Tensor& loss, Where where) const {
  optim::Accumulate(MethodOf(*this), loss, std::nullopt, where);
}
void Sgd::AccumulateOver(const Tensor& loss, const std::vector<Variable>& parameters, Where where) const {
  optim::Accumulate(MethodOf(*this), loss, parameters, where);
}
void Sgd::ApplyAccumulated(Builder& b, Where where) const {
  optim::ApplyAccumulated(MethodOf(*this), b, where);
}

void Momentum::Minimize(const Tensor& loss, Where where) const {
  optim::Minimize(MethodOf(*this), loss, std::nullopt, where);
}
void Momentum::MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters, Where where) const {
  optim::Minimize(MethodOf(*this), loss, parameters, where);
}
void Momentum::Accumulate(const Tensor& loss, Where where) const {
  optim::Accumulate(MethodOf(*this), loss, std::nullopt, where);
}
void Momentum::AccumulateOver(const Tensor& loss, const std::vector<Variable>& parameters,
                              Where where) const {
  optim::Accumulate(MethodOf(*this), loss, parameters, where);
}
void Momentum::ApplyAccumulated(Builder& b, Where where) const {
  optim::ApplyAccumulated(MethodOf(*this), b, where);
}

void Adam::Minimize(const Tensor& loss, Where where) const {
  optim::Minimize(MethodOf(*this), loss, std::nullopt, where);
}
void Adam::MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters, Where where) const {
  optim::Minimize(MethodOf(*this), loss, parameters, where);
}
void Adam::Accumulate(const Tensor& loss, Where where) const {
  optim::Accumulate(MethodOf(*this), loss, std::nullopt, where);
}
void Adam::AccumulateOver(const Tensor& loss, const std::vector<Variable>& parameters, Where where) const {
  optim::Accumulate(MethodOf(*this), loss, parameters, where);
}
void Adam::ApplyAccumulated(Builder& b, Where where) const {
  optim::ApplyAccumulated(MethodOf(*this), b, where);
}

void AdamW::Minimize(const Tensor& loss, Where where) const {
  optim::Minimize(MethodOf(*this), loss, std::nullopt, where);
}
void AdamW::MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters, Where where) const {
  optim::Minimize(MethodOf(*this), loss, parameters, where);
}
void AdamW::Accumulate(const Tensor& loss, Where where) const {
  optim::Accumulate(MethodOf(*this), loss, std::nullopt, where);
}
void AdamW::AccumulateOver(const Tensor& loss, const std::vector<Variable>& parameters, Where where) const {
  optim::Accumulate(MethodOf(*this), loss, parameters, where);
}
void AdamW::ApplyAccumulated(Builder& b, Where where) const {
  optim::ApplyAccumulated(MethodOf(*this), b, where);
}

}  // namespace sinter::optim
