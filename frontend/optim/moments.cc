#include "sinter/frontend/optim/moments.h"

namespace sinter::optim {

Tensor Decaying(Parameter& p, const Tensor& mean, const Hyper& beta, const Tensor& x) {
  return mean * p.At(beta) + x * p.OneMinus(beta);
}

Tensor RootOf(Parameter& p, const Tensor& v, const Hyper& epsilon, bool is_inside) {
  return is_inside ? Sqrt(v + p.At(epsilon)) : Sqrt(v) + p.At(epsilon);
}

Moments MomentsOf(Parameter& p, const Tensor& g, const Hyper& beta1, const Hyper& beta2) {
  const Tensor c1 = p.BiasCorrection(beta1), c2 = p.BiasCorrection(beta2);
  const Tensor m = p.Slot("m"), v = p.Slot("v");
  if (!m.ok() || !v.ok()) return {};
  const Moments made = {Decaying(p, m, beta1, g), Decaying(p, v, beta2, Square(g)), c1, c2, true};
  p.SetSlot("m", made.m);
  p.SetSlot("v", made.v);
  return made;
}

std::vector<Bounded> BoundsOfMoments(const Hyper& beta1, const Hyper& beta2, const Hyper& epsilon) {
  return {{"a beta1", beta1, kFraction}, {"a beta2", beta2, kFraction}, {"an epsilon", epsilon, {.low = 0}}};
}

}  // namespace sinter::optim
