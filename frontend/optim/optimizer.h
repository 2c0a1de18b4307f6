// Optimisers: from a loss to new values of the parameters that it is computed from.
//
//   optim::AdamW{.learning_rate = b.Scalar("lr"), .weight_decay = 0.1, .clip_norm = 1.0}.Minimize(loss);
//
// A learning rate may be a number, fixed when compiled, or a rank-0 f32 tensor, such as an input: then a
// schedule (schedule.h) needs no recompilation. State is kept in variables named
// "<optimiser>/<slot>/<parameter>". Updates are elementwise and become one fused kernel over all parameters.
// Parameters of bf16 or f16 are updated in f32 and rounded.
//
// Minimize() updates the trainable variables that the function has read so far and that the loss depends on;
// MinimizeOver() names them.
#ifndef SINTER_FRONTEND_OPTIM_OPTIMIZER_H_
#define SINTER_FRONTEND_OPTIM_OPTIMIZER_H_

#include <vector>

#include "sinter/frontend/graph.h"
#include "sinter/frontend/ops.h"

namespace sinter::optim {

// p -= lr * (g + weight_decay * p)
struct Sgd {
  Operand learning_rate = 0.01;
  double weight_decay = 0;
  double clip_norm = 0;  // Scales all gradients so that their global norm is at most this; 0: no clipping.
  void Minimize(const Tensor& loss, Where where = Where::current()) const;
  void MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters,
                    Where where = Where::current()) const;
};

// v = momentum * v + g + weight_decay * p;  p -= lr * v (Polyak, 1964), or with nesterov p -= lr * (g' +
// momentum * v) where g' = g + weight_decay * p (Sutskever et al., "On the importance of initialization and
// momentum", 2013).
struct Momentum {
  Operand learning_rate = 0.01;
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0;
  double clip_norm = 0;
  void Minimize(const Tensor& loss, Where where = Where::current()) const;
  void MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters,
                    Where where = Where::current()) const;
};

// Kingma and Ba, "Adam" (arXiv 1412.6980), algorithm 1; weight_decay is added to the gradient.
struct Adam {
  Operand learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double clip_norm = 0;
  void Minimize(const Tensor& loss, Where where = Where::current()) const;
  void MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters,
                    Where where = Where::current()) const;
};

// Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (arXiv 1711.05101): p -= lr * weight_decay *
// p besides.
struct AdamW {
  Operand learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  double clip_norm = 0;
  void Minimize(const Tensor& loss, Where where = Where::current()) const;
  void MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters,
                    Where where = Where::current()) const;
};

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_OPTIMIZER_H_
