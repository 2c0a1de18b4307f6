// More rules of optimisers, which adapt the rate of each element. They are used like those of optimizer.h:
//
//   optim::Lion{.learning_rate = b.Scalar("lr"), .weight_decay = 0.1}.Minimize(loss);
//
// In all but Lion and Lamb, weight_decay * p is added to the gradient g.
#ifndef SINTER_FRONTEND_OPTIM_ADAPTIVE_RULES_H_
#define SINTER_FRONTEND_OPTIM_ADAPTIVE_RULES_H_

#include "sinter/frontend/optim/optimizer.h"

namespace sinter::optim {

MethodPtr MethodOf(const struct AdaGrad& o);
MethodPtr MethodOf(const struct AdaDelta& o);
MethodPtr MethodOf(const struct RmsProp& o);
MethodPtr MethodOf(const struct Adamax& o);
MethodPtr MethodOf(const struct NAdam& o);
MethodPtr MethodOf(const struct RAdam& o);
MethodPtr MethodOf(const struct Lion& o);
MethodPtr MethodOf(const struct Lamb& o);

// s += g * g;  p -= lr * g / (sqrt(s) + epsilon) (Duchi et al., "Adaptive Subgradient Methods", 2011).
struct AdaGrad {
  struct Group {  // See Sgd::Group.
    VariableFilter of = {};
    double rate_scale = 1;
    std::function<void(AdaGrad&)> with = {};
  };
  Operand learning_rate = 0.01;
  double epsilon = 1e-10;
  double weight_decay = 0;
  double clip_norm = 0;
  std::optional<LossScale> loss_scale = std::nullopt;
  std::string name = {};
  std::vector<Group> groups = {};
  void Minimize(const Tensor& loss, Where where = Where::current()) const {
    MinimizeBy(MethodOf(*this), loss, nullptr, where);
  }
  void MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters,
                    Where where = Where::current()) const {
    MinimizeBy(MethodOf(*this), loss, &parameters, where);
  }
  void Accumulate(const Tensor& loss, Where where = Where::current()) const {
    AccumulateBy(MethodOf(*this), loss, nullptr, where);
  }
  void AccumulateOver(const Tensor& loss, const std::vector<Variable>& parameters,
                      Where where = Where::current()) const {
    AccumulateBy(MethodOf(*this), loss, &parameters, where);
  }
  void ApplyAccumulated(Builder& b, Where where = Where::current()) const {
    ApplyAccumulatedBy(MethodOf(*this), b, where);
  }
};

// s and u are decaying means of g * g and d * d, where d = g * sqrt(u + epsilon) / sqrt(s + epsilon); p -=
// lr * d (Zeiler, arXiv 1212.5701).
struct AdaDelta {
  struct Group {  // See Sgd::Group.
    VariableFilter of = {};
    double rate_scale = 1;
    std::function<void(AdaDelta&)> with = {};
  };
  Operand learning_rate = 1.0;
  double rho = 0.9;
  double epsilon = 1e-6;
  double weight_decay = 0;
  double clip_norm = 0;
  std::optional<LossScale> loss_scale = std::nullopt;
  std::string name = {};
  std::vector<Group> groups = {};
  void Minimize(const Tensor& loss, Where where = Where::current()) const {
    MinimizeBy(MethodOf(*this), loss, nullptr, where);
  }
  void MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters,
                    Where where = Where::current()) const {
    MinimizeBy(MethodOf(*this), loss, &parameters, where);
  }
  void Accumulate(const Tensor& loss, Where where = Where::current()) const {
    AccumulateBy(MethodOf(*this), loss, nullptr, where);
  }
  void AccumulateOver(const Tensor& loss, const std::vector<Variable>& parameters,
                      Where where = Where::current()) const {
    AccumulateBy(MethodOf(*this), loss, &parameters, where);
  }
  void ApplyAccumulated(Builder& b, Where where = Where::current()) const {
    ApplyAccumulatedBy(MethodOf(*this), b, where);
  }
};

// s is a decaying mean of g * g; v = momentum * v + g / (sqrt(s) + epsilon); p -= lr * v (Hinton's lectures,
// 2012). With `centered`, the square of the decaying mean of g is taken from s.
struct RmsProp {
  struct Group {  // See Sgd::Group.
    VariableFilter of = {};
    double rate_scale = 1;
    std::function<void(RmsProp&)> with = {};
  };
  Operand learning_rate = 0.01;
  double alpha = 0.99;
  double epsilon = 1e-8;
  double momentum = 0;
  bool centered = false;
  double weight_decay = 0;
  double clip_norm = 0;
  std::optional<LossScale> loss_scale = std::nullopt;
  std::string name = {};
  std::vector<Group> groups = {};
  void Minimize(const Tensor& loss, Where where = Where::current()) const {
    MinimizeBy(MethodOf(*this), loss, nullptr, where);
  }
  void MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters,
                    Where where = Where::current()) const {
    MinimizeBy(MethodOf(*this), loss, &parameters, where);
  }
  void Accumulate(const Tensor& loss, Where where = Where::current()) const {
    AccumulateBy(MethodOf(*this), loss, nullptr, where);
  }
  void AccumulateOver(const Tensor& loss, const std::vector<Variable>& parameters,
                      Where where = Where::current()) const {
    AccumulateBy(MethodOf(*this), loss, &parameters, where);
  }
  void ApplyAccumulated(Builder& b, Where where = Where::current()) const {
    ApplyAccumulatedBy(MethodOf(*this), b, where);
  }
};

// Adam with the decaying maximum of |g| in place of sqrt(v) (Kingma and Ba, arXiv 1412.6980, algorithm 2).
struct Adamax {
  struct Group {  // See Sgd::Group.
    VariableFilter of = {};
    double rate_scale = 1;
    std::function<void(Adamax&)> with = {};
  };
  Operand learning_rate = 0.002;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double clip_norm = 0;
  std::optional<LossScale> loss_scale = std::nullopt;
  std::string name = {};
  std::vector<Group> groups = {};
  void Minimize(const Tensor& loss, Where where = Where::current()) const {
    MinimizeBy(MethodOf(*this), loss, nullptr, where);
  }
  void MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters,
                    Where where = Where::current()) const {
    MinimizeBy(MethodOf(*this), loss, &parameters, where);
  }
  void Accumulate(const Tensor& loss, Where where = Where::current()) const {
    AccumulateBy(MethodOf(*this), loss, nullptr, where);
  }
  void AccumulateOver(const Tensor& loss, const std::vector<Variable>& parameters,
                      Where where = Where::current()) const {
    AccumulateBy(MethodOf(*this), loss, &parameters, where);
  }
  void ApplyAccumulated(Builder& b, Where where = Where::current()) const {
    ApplyAccumulatedBy(MethodOf(*this), b, where);
  }
};

// Adam whose first moment looks a step ahead, as in Nesterov's momentum (Dozat, "Incorporating Nesterov
// Momentum into Adam", 2016), with a constant beta1.
struct NAdam {
  struct Group {  // See Sgd::Group.
    VariableFilter of = {};
    double rate_scale = 1;
    std::function<void(NAdam&)> with = {};
  };
  Operand learning_rate = 0.002;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double clip_norm = 0;
  std::optional<LossScale> loss_scale = std::nullopt;
  std::string name = {};
  std::vector<Group> groups = {};
  void Minimize(const Tensor& loss, Where where = Where::current()) const {
    MinimizeBy(MethodOf(*this), loss, nullptr, where);
  }
  void MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters,
                    Where where = Where::current()) const {
    MinimizeBy(MethodOf(*this), loss, &parameters, where);
  }
  void Accumulate(const Tensor& loss, Where where = Where::current()) const {
    AccumulateBy(MethodOf(*this), loss, nullptr, where);
  }
  void AccumulateOver(const Tensor& loss, const std::vector<Variable>& parameters,
                      Where where = Where::current()) const {
    AccumulateBy(MethodOf(*this), loss, &parameters, where);
  }
  void ApplyAccumulated(Builder& b, Where where = Where::current()) const {
    ApplyAccumulatedBy(MethodOf(*this), b, where);
  }
};

// Adam that rectifies the variance of its first steps (Liu et al., "On the Variance of the Adaptive Learning
// Rate and Beyond", arXiv 1908.03265): where the estimate of v has too few terms, p -= lr * m.
struct RAdam {
  struct Group {  // See Sgd::Group.
    VariableFilter of = {};
    double rate_scale = 1;
    std::function<void(RAdam&)> with = {};
  };
  Operand learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double clip_norm = 0;
  std::optional<LossScale> loss_scale = std::nullopt;
  std::string name = {};
  std::vector<Group> groups = {};
  void Minimize(const Tensor& loss, Where where = Where::current()) const {
    MinimizeBy(MethodOf(*this), loss, nullptr, where);
  }
  void MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters,
                    Where where = Where::current()) const {
    MinimizeBy(MethodOf(*this), loss, &parameters, where);
  }
  void Accumulate(const Tensor& loss, Where where = Where::current()) const {
    AccumulateBy(MethodOf(*this), loss, nullptr, where);
  }
  void AccumulateOver(const Tensor& loss, const std::vector<Variable>& parameters,
                      Where where = Where::current()) const {
    AccumulateBy(MethodOf(*this), loss, &parameters, where);
  }
  void ApplyAccumulated(Builder& b, Where where = Where::current()) const {
    ApplyAccumulatedBy(MethodOf(*this), b, where);
  }
};

// p -= lr * (sign(beta1 * m + (1 - beta1) * g) + weight_decay * p), then m = beta2 * m + (1 - beta2) * g
// (Chen et al., "Symbolic Discovery of Optimization Algorithms", arXiv 2302.06675).
struct Lion {
  struct Group {  // See Sgd::Group.
    VariableFilter of = {};
    double rate_scale = 1;
    std::function<void(Lion&)> with = {};
  };
  Operand learning_rate = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0;
  double clip_norm = 0;
  std::optional<LossScale> loss_scale = std::nullopt;
  std::string name = {};
  std::vector<Group> groups = {};
  void Minimize(const Tensor& loss, Where where = Where::current()) const {
    MinimizeBy(MethodOf(*this), loss, nullptr, where);
  }
  void MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters,
                    Where where = Where::current()) const {
    MinimizeBy(MethodOf(*this), loss, &parameters, where);
  }
  void Accumulate(const Tensor& loss, Where where = Where::current()) const {
    AccumulateBy(MethodOf(*this), loss, nullptr, where);
  }
  void AccumulateOver(const Tensor& loss, const std::vector<Variable>& parameters,
                      Where where = Where::current()) const {
    AccumulateBy(MethodOf(*this), loss, &parameters, where);
  }
  void ApplyAccumulated(Builder& b, Where where = Where::current()) const {
    ApplyAccumulatedBy(MethodOf(*this), b, where);
  }
};

// AdamW whose step of each parameter is scaled to the norm of the parameter (You et al., "Large Batch
// Optimization for Deep Learning", arXiv 1904.00962). A parameter of zeros, or a step of zeros, is not
// scaled.
struct Lamb {
  struct Group {  // See Sgd::Group.
    VariableFilter of = {};
    double rate_scale = 1;
    std::function<void(Lamb&)> with = {};
  };
  Operand learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0.01;
  double clip_norm = 0;
  std::optional<LossScale> loss_scale = std::nullopt;
  std::string name = {};
  std::vector<Group> groups = {};
  void Minimize(const Tensor& loss, Where where = Where::current()) const {
    MinimizeBy(MethodOf(*this), loss, nullptr, where);
  }
  void MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters,
                    Where where = Where::current()) const {
    MinimizeBy(MethodOf(*this), loss, &parameters, where);
  }
  void Accumulate(const Tensor& loss, Where where = Where::current()) const {
    AccumulateBy(MethodOf(*this), loss, nullptr, where);
  }
  void AccumulateOver(const Tensor& loss, const std::vector<Variable>& parameters,
                      Where where = Where::current()) const {
    AccumulateBy(MethodOf(*this), loss, &parameters, where);
  }
  void ApplyAccumulated(Builder& b, Where where = Where::current()) const {
    ApplyAccumulatedBy(MethodOf(*this), b, where);
  }
};

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_ADAPTIVE_RULES_H_
