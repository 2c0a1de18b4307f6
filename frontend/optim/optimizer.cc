#include "sinter/frontend/optim/optimizer.h"

#include "sinter/frontend/optim/rule_methods.h"

namespace sinter::optim {

// The Adam rule. `decoupled` adds the weight decay to the step instead of the gradient.
template <typename Optimizer>
Rule AdamRule(const Optimizer& o, bool decoupled) {
  return [beta1 = o.beta1, beta2 = o.beta2, epsilon = o.epsilon, weight_decay = o.weight_decay, decoupled,
          amsgrad = o.amsgrad](Update& u, const Variable& variable, const Tensor& p, const Tensor& g,
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
    if (amsgrad) {
      Variable largest = u.Slot(variable, "v_max");
      if (!largest.ok()) return {};
      v = Maximum(u.At(u.Read(largest)), u.At(v));
      u.Assign(largest, v);
    }
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

std::vector<Option> OptionsOf(const Sgd&) { return {}; }
std::vector<Option> OptionsOf(const Momentum& o) { return {{"a momentum", o.momentum, kFraction}}; }
std::vector<Option> OptionsOf(const Adam& o) { return BetaOptions(o.beta1, o.beta2, o.epsilon); }
std::vector<Option> OptionsOf(const AdamW& o) { return BetaOptions(o.beta1, o.beta2, o.epsilon); }

MethodPtr MethodOf(const Sgd& o) { return MakeMethod(o); }
MethodPtr MethodOf(const Momentum& o) { return MakeMethod(o); }
MethodPtr MethodOf(const Adam& o) { return MakeMethod(o); }
MethodPtr MethodOf(const AdamW& o) { return MakeMethod(o); }

}  // namespace sinter::optim
