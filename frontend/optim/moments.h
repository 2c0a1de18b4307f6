// Decaying means of gradients, which many rules share. For Sinter's own sources only.
//
//   Moments moments = MomentsOf(p, p.gradient, beta1, beta2);   // Assigns the slots "m" and "v".
//   if (!moments.ok) return {};
//   return p.value - moments.m / moments.c1 * p.At(learning_rate);
//
// They build ops in a source, not here: only then do the ops have the line of the program.
#ifndef SINTER_FRONTEND_OPTIM_MOMENTS_H_
#define SINTER_FRONTEND_OPTIM_MOMENTS_H_

#include <vector>

#include "sinter/frontend/optim/rule.h"

namespace sinter::optim {

// Returns beta * mean + (1 - beta) * x.
Tensor Decaying(Parameter& p, const Tensor& mean, const Hyper& beta, const Tensor& x);

// Returns sqrt(v) + epsilon; if `is_inside`, sqrt(v + epsilon).
Tensor RootOf(Parameter& p, const Tensor& v, const Hyper& epsilon, bool is_inside);

// The first and second moments of Adam, assigned, and their corrections, 1 - beta^t.
struct Moments {
  Tensor m, v, c1, c2;
  bool ok = false;
};
Moments MomentsOf(Parameter& p, const Tensor& g, const Hyper& beta1, const Hyper& beta2);

// The bounds of the hyper-parameters that rules with two moments have.
std::vector<Bounded> BoundsOfMoments(const Hyper& beta1, const Hyper& beta2, const Hyper& epsilon);

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_MOMENTS_H_
