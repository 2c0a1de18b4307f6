#include "sinter/frontend/optim/adaptive_rules.h"

#include "sinter/frontend/optim/moments.h"

namespace sinter::optim {

namespace {

constexpr double kLogOfDozat = -0.040821994520255166;  // log(0.96)

}  // namespace

Tensor AdaGrad::operator()(Parameter& p) const {
  const Tensor s = p.Slot("s") + Square(p.gradient);
  p.SetSlot("s", s);
  const Tensor sum = initial_sum.is_zero() ? s : s + p.At(initial_sum);
  const Tensor step = p.gradient / RootOf(p, sum, epsilon, epsilon_inside_root) * p.At(learning_rate);
  return p.value - (rate_decay.is_zero() ? step : step / ((p.Step() - 1) * p.At(rate_decay) + 1));
}

Tensor AdaDelta::operator()(Parameter& p) const {
  const Tensor old_s = p.Slot("s"), old_u = p.Slot("u");
  const Tensor s = Decaying(p, old_s, rho, Square(p.gradient));
  const Tensor d = p.gradient * Sqrt((old_u + p.At(epsilon)) / (s + p.At(epsilon)));
  p.SetSlot("s", s);
  p.SetSlot("u", Decaying(p, old_u, rho, Square(d)));
  return p.value - d * p.At(learning_rate);
}

Tensor RmsProp::operator()(Parameter& p) const {
  const Tensor s = Decaying(p, p.Slot("s"), alpha, Square(p.gradient));
  p.SetSlot("s", s);
  Tensor spread = s;
  if (centered) {
    const Tensor mean = Decaying(p, p.Slot("mean"), alpha, p.gradient);
    p.SetSlot("mean", mean);
    spread = Maximum(s - Square(mean), 0);  // Rounding may make the difference negative.
  }
  Tensor step = p.gradient / RootOf(p, spread, epsilon, epsilon_inside_root);
  if (!momentum.is_zero()) {
    step = p.Slot("v") * p.At(momentum) + step;
    p.SetSlot("v", step);
  }
  return p.value - step * p.At(learning_rate);
}

Tensor RmsPropGraves::operator()(Parameter& p) const {
  const Tensor n = Decaying(p, p.Slot("n"), alpha, Square(p.gradient));
  const Tensor m = Decaying(p, p.Slot("m"), alpha, p.gradient);
  const Tensor root = Sqrt(Maximum(n - Square(m), 0) + p.At(epsilon));  // Rounding may make it negative.
  const Tensor v = p.Slot("v") * p.At(momentum) + p.gradient / root * p.At(learning_rate);
  p.SetSlot("n", n);
  p.SetSlot("m", m);
  p.SetSlot("v", v);
  return p.value - v;
}

Tensor Smorms3::operator()(Parameter& p) const {
  const Tensor age = p.Slot("age"), old_m = p.Slot("m"), old_n = p.Slot("n");
  const Tensor r = 1 / (age + 2);
  const Tensor m = old_m * (1 - r) + p.gradient * r;
  const Tensor n = old_n * (1 - r) + Square(p.gradient) * r;
  const Tensor x = Square(m) / (n + p.At(epsilon));
  p.SetSlot("m", m);
  p.SetSlot("n", n);
  p.SetSlot("age", (age + 1) * (1 - x));
  return p.value - p.gradient * Minimum(x, p.At(learning_rate)) / (Sqrt(n) + p.At(epsilon));
}

Tensor Msvag::operator()(Parameter& p) const {
  const Tensor c = p.BiasCorrection(beta);
  const Tensor old_m = p.Slot("m"), old_v = p.Slot("v");
  if (!c.ok() || !old_v.ok()) return {};
  const Tensor m = Decaying(p, old_m, beta, p.gradient), v = Decaying(p, old_v, beta, Square(p.gradient));
  p.SetSlot("m", m);
  p.SetSlot("v", v);
  const Operand ratio = beta.is_number() ? Operand((1 - beta.number()) / (1 + beta.number()))
                                         : Operand((1 - p.At(beta)) / (1 + p.At(beta)));
  const Tensor rho = Minimum((2 - c) / c * ratio, 0.9999);
  const Tensor mean = m / c, square = Square(mean);
  const Tensor spread = Maximum(v / c - square, 0) / (1 - rho);  // Rounding may make it negative.
  const Tensor whole = square + rho * spread;
  const Tensor has_step = whole > 0;
  Tensor step = mean * Select(has_step, square / Select(has_step, whole, 1), 0);
  if (!weight_decay.is_zero()) step = step + p.value * p.At(weight_decay);
  return p.value - step * p.At(learning_rate);
}

Tensor Adamax::operator()(Parameter& p) const {
  const Tensor correction = p.BiasCorrection(beta1);
  const Tensor old_m = p.Slot("m"), old_u = p.Slot("u");
  const Tensor m = Decaying(p, old_m, beta1, p.gradient);
  const Tensor largest = Maximum(old_u * p.At(beta2), Abs(p.gradient) + p.At(epsilon));
  p.SetSlot("m", m);
  p.SetSlot("u", largest);
  return p.value - m / correction / largest * p.At(learning_rate);
}

Tensor NAdam::operator()(Parameter& p) const {
  const Moments moments = MomentsOf(p, p.gradient, beta1, beta2);
  if (!moments.ok) return {};
  Tensor ahead;
  if (momentum_decay.is_zero()) {
    // 1 - beta1^(t + 1), from 1 - beta1^t.
    const Tensor next = moments.c1 * p.At(beta1) + p.OneMinus(beta1);
    ahead = moments.m * p.At(beta1) / next + p.gradient * p.OneMinus(beta1) / moments.c1;
  } else {
    const auto mu_at = [&](const Tensor& t) {
      return (1 - Exp(t * p.At(momentum_decay) * kLogOfDozat) * 0.5) * p.At(beta1);
    };
    const Tensor mu = mu_at(p.Step()), next = mu_at(p.Step() + 1);
    // One minus the product of all mu, because slots start at zero.
    const Tensor rest = 1 - mu + p.Slot("momentum", {}) * mu;
    p.SetSlot("momentum", rest);
    ahead = moments.m * next / (1 - next + rest * next) + p.gradient * (1 - mu) / rest;
  }
  return p.value -
         ahead / RootOf(p, moments.v / moments.c2, epsilon, epsilon_inside_root) * p.At(learning_rate);
}

Tensor RAdam::operator()(Parameter& p) const {
  const Moments moments = MomentsOf(p, p.gradient, beta1, beta2);
  if (!moments.ok) return {};
  // From the length of the mean that v is in the long run, a double or a tensor. It is at most `most` after t
  // steps, and above 5 if its variance is known.
  const auto scale_of = [&](const auto& most) -> Tensor {
    const Tensor length = most - p.Step() * 2 * (1 - moments.c2) / moments.c2;
    const Tensor known = Maximum(length, 5);
    const Tensor part = (known - 4) * (known - 2) * (most / ((most - 4) * (most - 2))) / known;
    const Tensor root = RootOf(p, moments.v / moments.c2, epsilon, epsilon_inside_root);
    return Select(length > 5, Sqrt(part) / root, 1);
  };
  const Tensor scale =
      beta2.is_number() ? scale_of(2 / (1 - beta2.number()) - 1) : scale_of(2 / p.OneMinus(beta2) - 1);
  return p.value - moments.m / moments.c1 * scale * p.At(learning_rate);
}

Tensor AdaBound::operator()(Parameter& p) const {
  const Moments moments = MomentsOf(p, p.gradient, beta1, beta2);
  if (!moments.ok) return {};
  Tensor v = moments.v;
  if (amsbound) {
    v = Maximum(p.Slot("v_max"), v);
    p.SetSlot("v_max", v);
  }
  const Tensor rate = Sqrt(moments.c2) / moments.c1 * p.At(learning_rate) / (Sqrt(v) + p.At(epsilon));
  const Tensor closing = p.Step() * p.At(gamma);
  const Tensor low = (1 - 1 / (closing + 1)) * p.At(final_rate), high = (1 + 1 / closing) * p.At(final_rate);
  return p.value - moments.m * Minimum(Maximum(rate, low), high);
}

Tensor Lion::operator()(Parameter& p) const {
  const Tensor m = p.Slot("m");
  Tensor step = Sign(Decaying(p, m, beta1, p.gradient));
  if (!weight_decay.is_zero()) step = step + p.value * p.At(weight_decay);
  p.SetSlot("m", Decaying(p, m, beta2, p.gradient));
  return p.value - step * p.At(learning_rate);
}

Tensor Rprop::operator()(Parameter& p) const {
  const Tensor last = p.Slot("last"), kept = p.Slot("size");
  if (!kept.ok()) return {};
  // No size is 0, so that 0 is one that was never set.
  const Tensor size = Select(kept > 0, kept, p.At(learning_rate));
  const Tensor way = Sign(p.gradient) * Sign(last);
  const Tensor changed = Select(way > 0, size * p.At(grow), Select(way < 0, size * p.At(shrink), size));
  const Tensor next = Minimum(Maximum(changed, p.At(least)), p.At(most));
  const Tensor g = Select(way < 0, 0, p.gradient);
  p.SetSlot("size", next);
  p.SetSlot("last", g);
  return p.value - Sign(g) * next;
}

Tensor Asgd::operator()(Parameter& p) const {
  const Tensor since_first = p.Step() - 1;
  if (!since_first.ok()) return {};
  const Tensor falling = 1 + since_first * p.At(lambda) * p.At(learning_rate);
  const Tensor eta = 1 / Pow(falling, p.At(alpha)) * p.At(learning_rate);
  return p.value - (p.gradient + p.value * p.At(lambda)) * eta;
}

Tensor Lamb::operator()(Parameter& p) const {
  const Moments moments = MomentsOf(p, p.gradient, beta1, beta2);
  if (!moments.ok) return {};
  Tensor step = moments.m / moments.c1 / (Sqrt(moments.v / moments.c2) + p.At(epsilon));
  if (!weight_decay.is_zero()) step = step + p.value * p.At(weight_decay);
  const Tensor of_p = Norm(p.value), of_step = Norm(step);
  const Tensor has_both = of_p > 0 && of_step > 0;
  const Tensor trust = Select(has_both, of_p / Select(has_both, of_step, 1), 1);
  return p.value - step * trust * p.At(learning_rate);
}

std::vector<Bounded> AdaGrad::Bounds() const {
  return {{"an epsilon", epsilon, {.low = 0}},
          {"a rate_decay", rate_decay, {.low = 0}},
          {"an initial_sum", initial_sum, {.low = 0}}};
}
std::vector<Bounded> Rprop::Bounds() const {
  return {{"a learning rate", learning_rate, {.above = 0}},
          {"a shrink", shrink, {.above = 0, .below = 1}},
          {"a grow", grow, {.above = 1}},
          {"a least size", least, {.above = 0}},
          {"a most size", most, {.above = 0}}};
}
std::vector<Bounded> Asgd::Bounds() const {
  return {{"a lambda", lambda, {.low = 0}}, {"an alpha", alpha, {.low = 0}}};
}
std::vector<Bounded> AdaDelta::Bounds() const {
  return {{"a rho", rho, kFraction}, {"an epsilon", epsilon, {.above = 0}}};
}
std::vector<Bounded> RmsProp::Bounds() const {
  return {{"an alpha", alpha, kFraction},
          {"an epsilon", epsilon, {.low = 0}},
          {"a momentum", momentum, kFraction}};
}
std::vector<Bounded> RmsPropGraves::Bounds() const {
  return {{"an alpha", alpha, kFraction},
          {"a momentum", momentum, kFraction},
          {"an epsilon", epsilon, {.above = 0}}};
}
std::vector<Bounded> Smorms3::Bounds() const { return {{"an epsilon", epsilon, {.above = 0}}}; }
std::vector<Bounded> Msvag::Bounds() const {
  return {{"a beta", beta, kFraction}, {"a weight decay", weight_decay, {.low = 0}}};
}
std::vector<Bounded> Adamax::Bounds() const { return BoundsOfMoments(beta1, beta2, epsilon); }
std::vector<Bounded> NAdam::Bounds() const {
  std::vector<Bounded> bounds = BoundsOfMoments(beta1, beta2, epsilon);
  bounds.push_back({"a momentum_decay", momentum_decay, {.low = 0}});
  return bounds;
}
std::vector<Bounded> RAdam::Bounds() const {
  // With a lower beta2 the variance is never known.
  std::vector<Bounded> bounds = BoundsOfMoments(beta1, beta2, epsilon);
  bounds.push_back({"a beta2", beta2, {.above = 0.6, .below = 1}});
  return bounds;
}
std::vector<Bounded> AdaBound::Bounds() const {
  std::vector<Bounded> bounds = BoundsOfMoments(beta1, beta2, epsilon);
  bounds.push_back({"a final_rate", final_rate, {.low = 0}});
  bounds.push_back({"a gamma", gamma, {.above = 0}});
  return bounds;
}
std::vector<Bounded> Lion::Bounds() const {
  return {{"a beta1", beta1, kFraction},
          {"a beta2", beta2, kFraction},
          {"a weight decay", weight_decay, {.low = 0}}};
}
std::vector<Bounded> Lamb::Bounds() const {
  std::vector<Bounded> bounds = BoundsOfMoments(beta1, beta2, epsilon);
  bounds.push_back({"a weight decay", weight_decay, {.low = 0}});
  return bounds;
}

}  // namespace sinter::optim
