#include "sinter/frontend/optim/optimizer.h"

#include "sinter/frontend/optim/moments.h"

namespace sinter::optim {

namespace {

// Returns m / c1 / (sqrt(v / c2) + epsilon), or with the epsilon inside of the root. With `amsgrad`, v is its
// largest value so far.
template <typename Adam>
Tensor AdamStep(Parameter& p, const Adam& o) {
  const Moments moments = MomentsOf(p, p.gradient, o.beta1, o.beta2);
  if (!moments.ok) return {};
  Tensor v = moments.v;
  if (o.amsgrad) {
    v = Maximum(p.Slot("v_max"), v);
    p.SetSlot("v_max", v);
  }
  return moments.m / moments.c1 / RootOf(p, v / moments.c2, o.epsilon, o.epsilon_inside_root);
}

}  // namespace

Tensor Sgd::operator()(Parameter& p) const { return p.value - p.gradient * p.At(learning_rate); }

Tensor Momentum::operator()(Parameter& p) const {
  const Tensor old = p.Slot("v");
  const Tensor g = rate_in_velocity ? p.gradient * p.At(learning_rate) : p.gradient;
  if (!dampening.is_zero() && nesterov) {
    return p.Fail("has nesterov, which looks ahead along the whole gradient, and a dampening; leave out one");
  }
  Tensor damped = g;
  if (!dampening.is_zero()) damped = g * (1 - Cast(p.Step() > 1, g.dtype()) * p.At(dampening));
  const Tensor v = old * p.At(momentum) + damped;
  p.SetSlot("v", v);
  const Tensor step = nesterov ? g + v * p.At(momentum) : v;
  return p.value - (rate_in_velocity ? step : step * p.At(learning_rate));
}

Tensor Adam::operator()(Parameter& p) const { return p.value - AdamStep(p, *this) * p.At(learning_rate); }

Tensor AdamW::operator()(Parameter& p) const {
  Tensor step = AdamStep(p, *this);
  if (!weight_decay.is_zero()) step = step + p.value * p.At(weight_decay);
  return p.value - step * p.At(learning_rate);
}

std::vector<Bounded> Momentum::Bounds() const {
  return {{"a momentum", momentum, kFraction}, {"a dampening", dampening, {.low = 0, .high = 1}}};
}
std::vector<Bounded> Adam::Bounds() const { return BoundsOfMoments(beta1, beta2, epsilon); }
std::vector<Bounded> AdamW::Bounds() const {
  std::vector<Bounded> bounds = BoundsOfMoments(beta1, beta2, epsilon);
  bounds.push_back({"a weight decay", weight_decay, {.low = 0}});
  return bounds;
}

}  // namespace sinter::optim
