#include "sinter/frontend/optim/adaptive_rules.h"

#include <algorithm>
#include <cmath>

#include "sinter/frontend/optim/rule_methods.h"

namespace sinter::optim {
namespace {

// beta * mean + (1 - beta) * x.
Tensor Decaying(Update& u, const Tensor& mean, double beta, const Tensor& x) {
  return u.Add(u.Mul(mean, beta), u.Mul(x, 1 - beta));
}

// The first and second moments of Adam, assigned, and their corrections in p's type.
struct Moments {
  Tensor m, v, c1, c2;
  bool ok = false;
};
Moments MomentsOf(Update& u, const Variable& variable, const Tensor& p, const Tensor& g, double beta1,
                  double beta2) {
  const Where where = u.where();
  const Tensor c1 = u.BiasCorrection(beta1), c2 = u.BiasCorrection(beta2);
  const Variable m_slot = u.Slot(variable, "m"), v_slot = u.Slot(variable, "v");
  if (!m_slot.ok() || !v_slot.ok()) return {};
  const Moments made = {Decaying(u, u.Read(m_slot), beta1, g),
                        Decaying(u, u.Read(v_slot), beta2, Square(g, where)), Cast(c1, p.dtype(), where),
                        Cast(c2, p.dtype(), where), true};
  u.Assign(m_slot, made.m);
  u.Assign(v_slot, made.v);
  return made;
}

}  // namespace

Rule RuleOf(const AdaGrad& o) {
  return [epsilon = o.epsilon, decay = o.weight_decay](Update& u, const Variable& variable, const Tensor& p,
                                                       const Tensor& g, const Operand& lr) -> Tensor {
    const Variable slot = u.Slot(variable, "s");
    if (!slot.ok()) return {};
    const Tensor gradient = WithDecay(u, g, p, decay);
    const Tensor s = u.Add(u.Read(slot), Square(gradient, u.where()));
    u.Assign(slot, s);
    return u.Sub(p, u.Mul(u.Div(gradient, u.Add(Sqrt(s, u.where()), epsilon)), lr));
  };
}

Rule RuleOf(const AdaDelta& o) {
  return [rho = o.rho, epsilon = o.epsilon, decay = o.weight_decay](Update& u, const Variable& variable,
                                                                    const Tensor& p, const Tensor& g,
                                                                    const Operand& lr) -> Tensor {
    const Where where = u.where();
    const Variable s_slot = u.Slot(variable, "s"), u_slot = u.Slot(variable, "u");
    if (!s_slot.ok() || !u_slot.ok()) return {};
    const Tensor gradient = WithDecay(u, g, p, decay);
    const Tensor s = Decaying(u, u.Read(s_slot), rho, Square(gradient, where));
    const Tensor ratio = u.Div(u.Add(u.Read(u_slot), epsilon), u.Add(s, epsilon));
    const Tensor d = u.Mul(gradient, Sqrt(ratio, where));
    u.Assign(s_slot, s);
    u.Assign(u_slot, Decaying(u, u.Read(u_slot), rho, Square(d, where)));
    return u.Sub(p, u.Mul(d, lr));
  };
}

Rule RuleOf(const RmsProp& o) {
  return [alpha = o.alpha, epsilon = o.epsilon, momentum = o.momentum, centered = o.centered,
          decay = o.weight_decay](Update& u, const Variable& variable, const Tensor& p, const Tensor& g,
                                  const Operand& lr) -> Tensor {
    const Where where = u.where();
    const Variable slot = u.Slot(variable, "s");
    if (!slot.ok()) return {};
    const Tensor gradient = WithDecay(u, g, p, decay);
    const Tensor s = Decaying(u, u.Read(slot), alpha, Square(gradient, where));
    u.Assign(slot, s);
    Tensor spread = s;
    if (centered) {
      const Variable mean_slot = u.Slot(variable, "mean");
      if (!mean_slot.ok()) return {};
      const Tensor mean = Decaying(u, u.Read(mean_slot), alpha, gradient);
      u.Assign(mean_slot, mean);
      // Rounding may make the difference negative.
      spread = Maximum(u.At(u.Sub(s, Square(mean, where))), u.At(0));
    }
    Tensor step = u.Div(gradient, u.Add(Sqrt(spread, where), epsilon));
    if (momentum > 0) {
      const Variable v_slot = u.Slot(variable, "v");
      if (!v_slot.ok()) return {};
      step = u.Add(u.Mul(u.Read(v_slot), momentum), step);
      u.Assign(v_slot, step);
    }
    return u.Sub(p, u.Mul(step, lr));
  };
}

Rule RuleOf(const Adamax& o) {
  return [beta1 = o.beta1, beta2 = o.beta2, epsilon = o.epsilon, decay = o.weight_decay](
             Update& u, const Variable& variable, const Tensor& p, const Tensor& g,
             const Operand& lr) -> Tensor {
    const Where where = u.where();
    const Tensor correction = Cast(u.BiasCorrection(beta1), p.dtype(), where);
    const Variable m_slot = u.Slot(variable, "m"), u_slot = u.Slot(variable, "u");
    if (!m_slot.ok() || !u_slot.ok()) return {};
    const Tensor gradient = WithDecay(u, g, p, decay);
    const Tensor m = Decaying(u, u.Read(m_slot), beta1, gradient);
    const Tensor largest =
        Maximum(u.At(u.Mul(u.Read(u_slot), beta2)), u.At(u.Add(Abs(gradient, where), epsilon)));
    u.Assign(m_slot, m);
    u.Assign(u_slot, largest);
    return u.Sub(p, u.Mul(u.Div(u.Div(m, correction), largest), lr));
  };
}

Rule RuleOf(const NAdam& o) {
  return [beta1 = o.beta1, beta2 = o.beta2, epsilon = o.epsilon, decay = o.weight_decay](
             Update& u, const Variable& variable, const Tensor& p, const Tensor& g,
             const Operand& lr) -> Tensor {
    const Tensor gradient = WithDecay(u, g, p, decay);
    const Moments moments = MomentsOf(u, variable, p, gradient, beta1, beta2);
    if (!moments.ok) return {};
    // 1 - beta1^(t + 1), from 1 - beta1^t.
    const Tensor next = u.Add(u.Mul(moments.c1, beta1), 1 - beta1);
    const Tensor ahead =
        u.Add(u.Div(u.Mul(moments.m, beta1), next), u.Div(u.Mul(gradient, 1 - beta1), moments.c1));
    const Tensor root = Sqrt(u.Div(moments.v, moments.c2), u.where());
    return u.Sub(p, u.Mul(u.Div(ahead, u.Add(root, epsilon)), lr));
  };
}

Rule RuleOf(const RAdam& o) {
  return [beta1 = o.beta1, beta2 = o.beta2, epsilon = o.epsilon, decay = o.weight_decay](
             Update& u, const Variable& variable, const Tensor& p, const Tensor& g,
             const Operand& lr) -> Tensor {
    const Where where = u.where();
    const Moments moments = MomentsOf(u, variable, p, WithDecay(u, g, p, decay), beta1, beta2);
    if (!moments.ok) return {};
    // The length of the mean that v is after t steps: at most `most`, above 5 if its variance is known.
    const double most = 2 / (1 - beta2) - 1;
    const Tensor t = Cast(u.StepNumber(), p.dtype(), where);
    const Tensor length = u.Sub(most, u.Div(u.Mul(u.Mul(t, 2), u.Sub(1, moments.c2)), moments.c2));
    const Tensor known = Maximum(u.At(length), u.At(5));
    const Tensor part =
        u.Div(u.Mul(u.Mul(u.Sub(known, 4), u.Sub(known, 2)), most / ((most - 4) * (most - 2))), known);
    const Tensor root = u.Add(Sqrt(u.Div(moments.v, moments.c2), where), epsilon);
    const Tensor scale = Select(u.At(length) > u.At(5), u.At(u.Div(Sqrt(part, where), root)), u.At(1));
    return u.Sub(p, u.Mul(u.Mul(u.Div(moments.m, moments.c1), scale), lr));
  };
}

Rule RuleOf(const Lion& o) {
  return [beta1 = o.beta1, beta2 = o.beta2, decay = o.weight_decay](Update& u, const Variable& variable,
                                                                    const Tensor& p, const Tensor& g,
                                                                    const Operand& lr) -> Tensor {
    const Variable slot = u.Slot(variable, "m");
    if (!slot.ok()) return {};
    const Tensor m = u.Read(slot);
    Tensor step = Sign(Decaying(u, m, beta1, g), u.where());
    if (decay != 0) step = u.Add(step, u.Mul(p, decay));
    u.Assign(slot, Decaying(u, m, beta2, g));
    return u.Sub(p, u.Mul(step, lr));
  };
}

Rule RuleOf(const Lamb& o) {
  return [beta1 = o.beta1, beta2 = o.beta2, epsilon = o.epsilon, decay = o.weight_decay](
             Update& u, const Variable& variable, const Tensor& p, const Tensor& g,
             const Operand& lr) -> Tensor {
    const Where where = u.where();
    const Moments moments = MomentsOf(u, variable, p, g, beta1, beta2);
    if (!moments.ok) return {};
    Tensor step =
        u.Div(u.Div(moments.m, moments.c1), u.Add(Sqrt(u.Div(moments.v, moments.c2), where), epsilon));
    if (decay != 0) step = u.Add(step, u.Mul(p, decay));
    const Tensor of_p = Norm(p, {}, {}, where), of_step = Norm(step, {}, {}, where);
    const Tensor has_both = u.At(of_p) > u.At(0) && u.At(of_step) > u.At(0);
    const Tensor trust =
        Select(u.At(has_both), u.At(u.Div(of_p, Select(u.At(has_both), u.At(of_step), u.At(1)))), u.At(1));
    return u.Sub(p, u.Mul(u.Mul(step, trust), lr));
  };
}

std::string KindOf(const AdaGrad&) { return "AdaGrad"; }
std::string KindOf(const AdaDelta&) { return "AdaDelta"; }
std::string KindOf(const RmsProp&) { return "RmsProp"; }
std::string KindOf(const Adamax&) { return "Adamax"; }
std::string KindOf(const NAdam&) { return "NAdam"; }
std::string KindOf(const RAdam&) { return "RAdam"; }
std::string KindOf(const Lion&) { return "Lion"; }
std::string KindOf(const Lamb&) { return "Lamb"; }

std::vector<Option> OptionsOf(const AdaGrad& o) { return {{"an epsilon", o.epsilon, {.low = 0}}}; }
std::vector<Option> OptionsOf(const AdaDelta& o) {
  return {{"a rho", o.rho, kFraction}, {"an epsilon", o.epsilon, {.above = 0}}};
}
std::vector<Option> OptionsOf(const RmsProp& o) {
  return {{"an alpha", o.alpha, kFraction},
          {"an epsilon", o.epsilon, {.low = 0}},
          {"a momentum", o.momentum, kFraction}};
}
std::vector<Option> OptionsOf(const Adamax& o) { return BetaOptions(o.beta1, o.beta2, o.epsilon); }
std::vector<Option> OptionsOf(const NAdam& o) { return BetaOptions(o.beta1, o.beta2, o.epsilon); }
std::vector<Option> OptionsOf(const RAdam& o) {
  // With a lower beta2 the variance is never known.
  std::vector<Option> options = BetaOptions(o.beta1, o.beta2, o.epsilon);
  options.push_back({"a beta2", o.beta2, {.above = 0.6, .below = 1}});
  return options;
}
std::vector<Option> OptionsOf(const Lion& o) {
  return {{"a beta1", o.beta1, kFraction}, {"a beta2", o.beta2, kFraction}};
}
std::vector<Option> OptionsOf(const Lamb& o) { return BetaOptions(o.beta1, o.beta2, o.epsilon); }

MethodPtr MethodOf(const AdaGrad& o) { return MakeMethod(o); }
MethodPtr MethodOf(const AdaDelta& o) { return MakeMethod(o); }
MethodPtr MethodOf(const RmsProp& o) { return MakeMethod(o); }
MethodPtr MethodOf(const Adamax& o) { return MakeMethod(o); }
MethodPtr MethodOf(const NAdam& o) { return MakeMethod(o); }
MethodPtr MethodOf(const RAdam& o) { return MakeMethod(o); }
MethodPtr MethodOf(const Lion& o) { return MakeMethod(o); }
MethodPtr MethodOf(const Lamb& o) { return MakeMethod(o); }

}  // namespace sinter::optim
