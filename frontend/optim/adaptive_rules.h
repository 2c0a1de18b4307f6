// More rules of optimisers, which adapt the rate of each element. They are used like those of optimizer.h:
//
//   optim::Lion{.learning_rate = b.Scalar("lr"), .weight_decay = 0.1}.Minimize(loss);
//
// A `weight_decay` is decoupled: it does not pass through the gradient, as the hook Decay does.
#ifndef SINTER_FRONTEND_OPTIM_ADAPTIVE_RULES_H_
#define SINTER_FRONTEND_OPTIM_ADAPTIVE_RULES_H_

#include <vector>

#include "sinter/frontend/optim/rule.h"

namespace sinter::optim {

// s += g * g;  p -= lr * g / (sqrt(s) + epsilon) (Duchi et al., "Adaptive Subgradient Methods", 2011).
struct AdaGrad : Rule<AdaGrad> {
  static constexpr char kName[] = "optim::AdaGrad";
  Hyper learning_rate = 0.01;
  Hyper epsilon = 1e-10;
  bool epsilon_inside_root = false;  // Divides by sqrt(s + epsilon), as Optax.
  Hyper rate_decay = 0;              // Update t has the rate lr / (1 + (t - 1) * rate_decay).
  Hyper initial_sum = 0;             // The value with which s begins.
  Tensor operator()(Parameter& p) const;
  std::vector<Bounded> Bounds() const;
};

// s and u are decaying means of g * g and d * d, where d = g * sqrt(u + epsilon) / sqrt(s + epsilon); p -=
// lr * d (Zeiler, arXiv 1212.5701). `epsilon` is above 0.
struct AdaDelta : Rule<AdaDelta> {
  static constexpr char kName[] = "optim::AdaDelta";
  Hyper learning_rate = 1.0;
  Hyper rho = 0.9;
  Hyper epsilon = 1e-6;
  Tensor operator()(Parameter& p) const;
  std::vector<Bounded> Bounds() const;
};

// s is a decaying mean of g * g; v = momentum * v + g / (sqrt(s) + epsilon); p -= lr * v (Hinton's lectures,
// 2012). With `centered`, the square of the decaying mean of g is taken from s.
struct RmsProp : Rule<RmsProp> {
  static constexpr char kName[] = "optim::RmsProp";
  Hyper learning_rate = 0.01;
  Hyper alpha = 0.99;
  Hyper epsilon = 1e-8;
  Hyper momentum = 0;
  bool centered = false;
  bool epsilon_inside_root = false;  // Divides by sqrt(s + epsilon), as `eps_inside_sqrt` of Chainer.
  Tensor operator()(Parameter& p) const;
  std::vector<Bounded> Bounds() const;
};

// n and m are decaying means of g * g and g; v = momentum * v + lr * g / sqrt(n - m * m + epsilon); p -= v
// (Graves, "Generating Sequences With Recurrent Neural Networks", arXiv 1308.0850). The learning rate is in
// the velocity v. `epsilon` is above 0.
struct RmsPropGraves : Rule<RmsPropGraves> {
  static constexpr char kName[] = "optim::RmsPropGraves";
  Hyper learning_rate = 1e-4;
  Hyper alpha = 0.95;
  Hyper momentum = 0.9;
  Hyper epsilon = 1e-4;
  Tensor operator()(Parameter& p) const;
  std::vector<Bounded> Bounds() const;
};

// r = 1 / (age + 2);  m and n are means of g and g * g that decay by 1 - r;  x = m * m / (n + epsilon);
// p -= min(lr, x) * g / (sqrt(n) + epsilon);  age = (age + 1) * (1 - x) (Funk, "RMSprop loses to SMORMS3",
// sifter.org, 2015). So the learning rate is the highest one, and `age` + 1 is the memory of the original,
// which starts at 1. `epsilon` is above 0.
struct Smorms3 : Rule<Smorms3> {
  static constexpr char kName[] = "optim::Smorms3";
  Hyper learning_rate = 0.001;
  Hyper epsilon = 1e-16;
  Tensor operator()(Parameter& p) const;
  std::vector<Bounded> Bounds() const;
};

// "M-SVAG": momentum whose step shrinks where the gradient varies (Balles and Hennig, "Dissecting Adam",
// arXiv 1705.07774). m and v are decaying means of g and g * g, divided by 1 - beta^t. In update t:
//   rho = min(0.9999, (1 - beta) * (1 + beta^t) / ((1 + beta) * (1 - beta^t))),
//   s = (v - m * m) / (1 - rho),  p -= lr * (m * m * m / (m * m + rho * s) + weight_decay * p).
// An element whose gradients were all 0 makes no step. Chainer's decay is learning_rate * weight_decay here.
struct Msvag : Rule<Msvag> {
  static constexpr char kName[] = "optim::Msvag";
  Hyper learning_rate = 0.1;
  Hyper beta = 0.9;
  Hyper weight_decay = 0;
  Tensor operator()(Parameter& p) const;
  std::vector<Bounded> Bounds() const;
};

// Adam with the decaying maximum of |g| in place of sqrt(v) (Kingma and Ba, arXiv 1412.6980, algorithm 2).
struct Adamax : Rule<Adamax> {
  static constexpr char kName[] = "optim::Adamax";
  Hyper learning_rate = 0.002;
  Hyper beta1 = 0.9;
  Hyper beta2 = 0.999;
  Hyper epsilon = 1e-8;
  Tensor operator()(Parameter& p) const;
  std::vector<Bounded> Bounds() const;
};

// Adam whose first moment looks a step ahead, as in Nesterov's momentum (Dozat, "Incorporating Nesterov
// Momentum into Adam", 2016). In update t the momentum is mu_t = beta1 * (1 - 0.96^(t * momentum_decay) / 2),
// which grows from about beta1 / 2 to beta1:
//   p -= lr * (mu_{t+1} * m / (1 - mu_1 ... mu_{t+1}) + (1 - mu_t) * g / (1 - mu_1 ... mu_t)) /
//        (sqrt(v / (1 - beta2^t)) + epsilon).
// With the momentum_decay 0 it is beta1 from the start, as in Optax.
struct NAdam : Rule<NAdam> {
  static constexpr char kName[] = "optim::NAdam";
  Hyper learning_rate = 0.002;
  Hyper beta1 = 0.9;
  Hyper beta2 = 0.999;
  Hyper epsilon = 1e-8;
  bool epsilon_inside_root = false;  // As Adam's.
  Hyper momentum_decay = 0.004;
  Tensor operator()(Parameter& p) const;
  std::vector<Bounded> Bounds() const;
};

// Adam that rectifies the variance of its first steps (Liu et al., "On the Variance of the Adaptive Learning
// Rate and Beyond", arXiv 1908.03265): where the estimate of v has too few terms, p -= lr * m. `beta2` is
// above 0.6.
struct RAdam : Rule<RAdam> {
  static constexpr char kName[] = "optim::RAdam";
  Hyper learning_rate = 0.001;
  Hyper beta1 = 0.9;
  Hyper beta2 = 0.999;
  Hyper epsilon = 1e-8;
  bool epsilon_inside_root = false;  // As Adam's.
  Tensor operator()(Parameter& p) const;
  std::vector<Bounded> Bounds() const;
};

// Adam whose rate of each element is held between two bounds that close in on final_rate (Luo et al.,
// "Adaptive Gradient Methods with Dynamic Bound of Learning Rate", arXiv 1902.09843). In update t: p -= m *
// clip(lr * sqrt(c2) / c1 / (sqrt(v) + epsilon), final_rate * (1 - 1 / (gamma * t + 1)), final_rate * (1 + 1
// / (gamma * t))), where c = 1 - beta^t. `final_rate` does not follow the learning rate; give it a schedule
// of its own. `gamma` is above 0.
struct AdaBound : Rule<AdaBound> {
  static constexpr char kName[] = "optim::AdaBound";
  Hyper learning_rate = 0.001;
  Hyper beta1 = 0.9;
  Hyper beta2 = 0.999;
  Hyper epsilon = 1e-8;
  Hyper final_rate = 0.1;
  Hyper gamma = 0.001;
  bool amsbound = false;  // "AMSBound": v is its largest value so far.
  Tensor operator()(Parameter& p) const;
  std::vector<Bounded> Bounds() const;
};

// p -= lr * (sign(beta1 * m + (1 - beta1) * g) + weight_decay * p), then m = beta2 * m + (1 - beta2) * g
// (Chen et al., "Symbolic Discovery of Optimization Algorithms", arXiv 2302.06675).
struct Lion : Rule<Lion> {
  static constexpr char kName[] = "optim::Lion";
  Hyper learning_rate = 1e-4;
  Hyper beta1 = 0.9;
  Hyper beta2 = 0.99;
  Hyper weight_decay = 0;
  Tensor operator()(Parameter& p) const;
  std::vector<Bounded> Bounds() const;
};

// Resilient backpropagation: steps along the sign of the gradient, whose size grows by `grow` where the sign
// stays and shrinks by `shrink` where the sign has changed; there the update leaves p as it is (Riedmiller
// and Braun, 1993, in PyTorch's form). Sizes start at the learning rate and stay from `least` to `most`. Only
// for gradients of the whole data: those of small batches change their signs by chance.
struct Rprop : Rule<Rprop> {
  static constexpr char kName[] = "optim::Rprop";
  Hyper learning_rate = 0.01;  // The size of the first step; above 0.
  Hyper shrink = 0.5;          // Above 0 and below 1.
  Hyper grow = 1.2;            // Above 1.
  Hyper least = 1e-6;          // Above 0.
  Hyper most = 50;
  Tensor operator()(Parameter& p) const;
  std::vector<Bounded> Bounds() const;
};

// Stochastic descent with a falling rate, for averages (Polyak and Juditsky, 1992, as in PyTorch). In update
// t: eta = lr / (1 + lambda * lr * (t - 1))^alpha;  p -= eta * (g + lambda * p). The option .average =
// optim::Swa{.start = t0 + 1} keeps PyTorch's average of the parameters, and UseAverages reads it.
struct Asgd : Rule<Asgd> {
  static constexpr char kName[] = "optim::Asgd";
  Hyper learning_rate = 0.01;
  Hyper lambda = 1e-4;
  Hyper alpha = 0.75;
  Tensor operator()(Parameter& p) const;
  std::vector<Bounded> Bounds() const;
};

// AdamW whose step of each parameter is scaled to the norm of the parameter (You et al., "Large Batch
// Optimization for Deep Learning", arXiv 1904.00962). A parameter of zeros, or a step of zeros, is not
// scaled.
struct Lamb : Rule<Lamb> {
  static constexpr char kName[] = "optim::Lamb";
  static constexpr bool kUpdatesRows = false;
  Hyper learning_rate = 0.001;
  Hyper beta1 = 0.9;
  Hyper beta2 = 0.999;
  Hyper epsilon = 1e-6;
  Hyper weight_decay = 0.01;
  Tensor operator()(Parameter& p) const;
  std::vector<Bounded> Bounds() const;
};

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_ADAPTIVE_RULES_H_
