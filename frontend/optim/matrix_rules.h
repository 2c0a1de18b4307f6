// Rules of optimisers that treat a parameter as a matrix. They are used like those of optimizer.h:
//
//   optim::Muon{.learning_rate = 0.02}.Minimize(loss, {.parameters = net.parameters(Glob("*.weight"))});
//   optim::AdamW{}.Minimize(loss, {.parameters = net.parameters(Glob("*.bias"))});
#ifndef SINTER_FRONTEND_OPTIM_MATRIX_RULES_H_
#define SINTER_FRONTEND_OPTIM_MATRIX_RULES_H_

#include <cstdint>
#include <vector>

#include "sinter/frontend/optim/rule.h"

namespace sinter::optim {

// Adam's second moment in the memory of a row and a column (Shazeer and Stern, "Adafactor", arXiv 1804.04235,
// algorithms 4 and 5), without first moment. In update t, with beta = 1 - t^-decay and g2 = g * g + epsilon1:
//   r = beta * r + (1 - beta) * sum of g2 over columns,  c = beta * c + (1 - beta) * sum of g2 over rows,
//   v = r * c / sum(r),  u = g / sqrt(v),  u /= max(1, rms(u) / clip),
//   p -= max(epsilon2, rms(p)) * min(lr, 1 / sqrt(t)) * u.
// A parameter of rank 3 or more is a stack of matrices of its last two dimensions; one of rank 0 or 1 has
// v = beta * v + (1 - beta) * g2. `epsilon1` and `clip` are above 0.
struct Adafactor : Rule<Adafactor> {
  static constexpr char kName[] = "optim::Adafactor";
  static constexpr bool kUpdatesRows = false;
  Hyper learning_rate = 0.01;  // The highest relative step.
  Hyper decay = 0.8;
  Hyper epsilon1 = 1e-30;
  Hyper epsilon2 = 1e-3;
  Hyper clip = 1;
  Tensor operator()(Parameter& p) const;
  std::vector<Bounded> Bounds() const;
};

// Steps along the nearest orthogonal matrix to the momentum (Jordan et al., "Muon", 2024; Liu et al., "Muon
// is Scalable for LLM Training", arXiv 2502.16982): m = momentum * m + (1 - momentum) * g; o is m, or with
// nesterov momentum * m + (1 - momentum) * g, made nearly orthogonal by `iterations` of the Newton-Schulz
// quintic x = 3.4445 x - 4.775 (x x') x + 2.0315 (x x')^2 x, from x = o / (|o| + epsilon); p -= lr *
// (sqrt(max(1, rows / columns)) * o + weight_decay * p). Its products have the graph's precision; bf16 is
// enough for them. Only for matrices [rows, columns]; others are an error, so list the parameters.
struct Muon : Rule<Muon> {
  static constexpr char kName[] = "optim::Muon";
  static constexpr bool kUpdatesRows = false;
  Hyper learning_rate = 0.02;
  Hyper momentum = 0.95;
  bool nesterov = true;
  Hyper weight_decay = 0;
  Hyper epsilon = 1e-7;
  int64_t iterations = 5;
  Tensor operator()(Parameter& p) const;
  std::vector<Bounded> Bounds() const;
};

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_MATRIX_RULES_H_
