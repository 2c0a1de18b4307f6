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
//
// Batches that do not fit in memory are cut into smaller ones: a function that accumulates their gradients runs several
// times, then one that updates, with the mean of the gradients. Both call the same optimiser; what Accumulate takes of its
// fields is the loss scale alone. k equal parts with mean losses give what the whole batch would have given.
//
//   graph.Function("accumulate", [&](Builder& b) { ...; optim::AdamW{}.Accumulate(loss); });
//   graph.Function("update", [&](Builder& b) { optim::AdamW{.learning_rate = b.Scalar("lr")}.ApplyAccumulated(b); });
//
// The sums are the variables "<optimiser>/accumulated/<parameter>", which each update empties; "<optimiser>/accumulated_losses"
// counts. An update with nothing accumulated changes no parameter.
#ifndef SINTER_FRONTEND_OPTIM_OPTIMIZER_H_
#define SINTER_FRONTEND_OPTIM_OPTIMIZER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "sinter/frontend/graph.h"
#include "sinter/frontend/ops.h"

namespace sinter::optim {

// Dynamic loss scaling, for gradients that f16 cannot hold otherwise (Micikevicius et al., "Mixed Precision Training", arXiv
// 1710.03740): gradients are those of the loss times a scale, divided by it again before they are clipped or used. If any
// of them is not finite, the step changes neither parameters nor the optimiser's state, and the scale is halved, down to 1;
// after `double_after` good steps in a row it is doubled, up to 2^24. All of this happens on the device.
//
//   graph.SetPrecision(sn::Precision::kF16);
//   optim::Adam{.loss_scale = optim::LossScale{}}.Minimize(loss);
//
// The scale is the variable "<optimiser>/loss_scale", beside "<optimiser>/good_steps". What the model itself assigns, such as
// the running statistics of BatchNorm, is assigned in every step.
struct LossScale {
  double initial = 65536;  // From 1 to 2^24, best a power of two: then scaling rounds nothing.
  int64_t double_after = 2000;
};

// p -= lr * (g + weight_decay * p)
struct Sgd {
  Operand learning_rate = 0.01;
  double weight_decay = 0;
  double clip_norm = 0;  // Scales all gradients so that their global norm is at most this; 0: no clipping.
  std::optional<LossScale> loss_scale = std::nullopt;
  void Minimize(const Tensor& loss, Where where = Where::current()) const;
  void MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters,
                    Where where = Where::current()) const;
  void Accumulate(const Tensor& loss, Where where = Where::current()) const;
  void ApplyAccumulated(Builder& b, Where where = Where::current()) const;
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
  std::optional<LossScale> loss_scale = std::nullopt;
  void Minimize(const Tensor& loss, Where where = Where::current()) const;
  void MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters,
                    Where where = Where::current()) const;
  void Accumulate(const Tensor& loss, Where where = Where::current()) const;
  void ApplyAccumulated(Builder& b, Where where = Where::current()) const;
};

// Kingma and Ba, "Adam" (arXiv 1412.6980), algorithm 1; weight_decay is added to the gradient.
struct Adam {
  Operand learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double clip_norm = 0;
  std::optional<LossScale> loss_scale = std::nullopt;
  void Minimize(const Tensor& loss, Where where = Where::current()) const;
  void MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters,
                    Where where = Where::current()) const;
  void Accumulate(const Tensor& loss, Where where = Where::current()) const;
  void ApplyAccumulated(Builder& b, Where where = Where::current()) const;
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
  std::optional<LossScale> loss_scale = std::nullopt;
  void Minimize(const Tensor& loss, Where where = Where::current()) const;
  void MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters,
                    Where where = Where::current()) const;
  void Accumulate(const Tensor& loss, Where where = Where::current()) const;
  void ApplyAccumulated(Builder& b, Where where = Where::current()) const;
};

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_OPTIMIZER_H_
