// Optimisers: from a loss to new values of the parameters that it is computed from.
//
//   optim::AdamW{.learning_rate = b.Scalar("lr"), .weight_decay = 0.1, .clip_norm = 1.0}.Minimize(loss);
//
// A learning rate may be a number, fixed when compiled, or a rank-0 f32 tensor, such as an input: then a
// schedule (schedule.h) needs no recompilation. Updates are elementwise and become one fused kernel over all parameters.
// Parameters of bf16 or f16 are updated in f32 and rounded. Options out of their bounds are errors at the user's line.
//
// Minimize() updates the trainable variables that the function has read so far and that the loss depends on by ops that have
// a gradient; MinimizeOver() names them, and one on which the loss does not depend is an error.
//
//   optim::Adam{.name = "critic"}.MinimizeOver(d_loss, d.parameters());
//   optim::Adam{.name = "generator"}.MinimizeOver(g_loss, g.parameters());
//
// Optimisers are values, and may be written anew in each function. A graph has one optimiser for each name, over one set of
// parameters: its state is in variables named "<name>/<slot>/<parameter>", "<name>/step" and the like. Calls under one name
// are calls of the same optimiser, whatever their learning rate; under the same name, other parameters or another kind are
// an error with both lines. Without a name, calls of one kind over the same set of parameters are of the same optimiser; the
// first of a kind has the kind's name, "adam", one over other parameters "adam_2", and so on, in the order in which the graph
// is built. Sets that overlap without being the same are an error that asks for names. (Sgd without accumulation and
// without a loss scale has no state, and needs no name.)
//
// Groups give some parameters settings of their own. All have one count of steps, one clip_norm and one loss scale.
//
//   optim::AdamW{.weight_decay = 0.1,
//                .groups = {{.of = RankBelow(2), .with = [](optim::AdamW& o) { o.weight_decay = 0; }},
//                           {.of = Glob("head.*"), .rate_scale = 10}}}.Minimize(loss);
//
// Batches that do not fit in memory are cut into smaller ones: a function that accumulates their gradients runs several
// times, then one that updates, with the mean of the gradients. Both call the same optimiser; what Accumulate takes of its
// fields is the name and the loss scale. k equal parts with mean losses give what the whole batch would have given.
//
//   graph.Function("accumulate", [&](Builder& b) { ...; optim::AdamW{}.Accumulate(loss); });
//   graph.Function("update", [&](Builder& b) { optim::AdamW{.learning_rate = b.Scalar("lr")}.ApplyAccumulated(b); });
//
// The sums are the variables "<name>/accumulated/<parameter>", which each update empties; "<name>/accumulated_losses"
// counts. An update with nothing accumulated changes no parameter. Without a name, ApplyAccumulated is that of the only
// unnamed optimiser of its kind that accumulates; if there are several it is an error.
#ifndef SINTER_FRONTEND_OPTIM_OPTIMIZER_H_
#define SINTER_FRONTEND_OPTIM_OPTIMIZER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sinter/frontend/graph/graph.h"
#include "sinter/frontend/graph/variable_filter.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter::optim {

// Dynamic loss scaling, for gradients that f16 cannot hold otherwise (Micikevicius et al., "Mixed Precision Training", arXiv
// 1710.03740): gradients are those of the loss times a scale, divided by it again before they are clipped or used. If any
// of them is not finite, the step changes neither parameters nor the optimiser's state, and the scale is halved, down to 1;
// after `double_after` good steps in a row it is doubled, up to 2^24. All of this happens on the device.
//
//   graph.SetPrecision(sn::Precision::kF16);
//   optim::Adam{.loss_scale = optim::LossScale{}}.Minimize(loss);
//
// The scale is the variable "<name>/loss_scale", beside "<name>/good_steps". What the model itself assigns, such as
// the running statistics of BatchNorm, is assigned in every step.
struct LossScale {
  double initial = 65536;  // From 1 to 2^24, best a power of two: then scaling rounds nothing.
  int64_t double_after = 2000;
};

// Bounds of the options below: learning rates, weight decays, clip_norm and epsilon are at least 0; momentum, beta1 and beta2
// are at least 0 and below 1.

// p -= lr * (g + weight_decay * p)
struct Sgd {
  // Settings of some of the parameters. Of several groups that fit a parameter the first counts; a group that fits none is an
  // error.
  struct Group {
    VariableFilter of = {};
    double rate_scale = 1;  // Times the learning rate; at least 0.
    // Changes the settings, but for clip_norm, loss_scale, name and groups.
    std::function<void(Sgd&)> with = {};
  };
  Operand learning_rate = 0.01;
  double weight_decay = 0;
  double clip_norm = 0;  // Scales all gradients so that their global norm is at most this; 0: no clipping.
  std::optional<LossScale> loss_scale = std::nullopt;
  std::string name = {};
  std::vector<Group> groups = {};
  void Minimize(const Tensor& loss, Where where = Where::current()) const;
  void MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters,
                    Where where = Where::current()) const;
  void Accumulate(const Tensor& loss, Where where = Where::current()) const;
  void AccumulateOver(const Tensor& loss, const std::vector<Variable>& parameters,
                      Where where = Where::current()) const;
  void ApplyAccumulated(Builder& b, Where where = Where::current()) const;
};

// v = momentum * v + g + weight_decay * p;  p -= lr * v (Polyak, 1964), or with nesterov p -= lr * (g' +
// momentum * v) where g' = g + weight_decay * p (Sutskever et al., "On the importance of initialization and
// momentum", 2013).
struct Momentum {
  struct Group {  // As Sgd's.
    VariableFilter of = {};
    double rate_scale = 1;
    std::function<void(Momentum&)> with = {};
  };
  Operand learning_rate = 0.01;
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0;
  double clip_norm = 0;
  std::optional<LossScale> loss_scale = std::nullopt;
  std::string name = {};
  std::vector<Group> groups = {};
  void Minimize(const Tensor& loss, Where where = Where::current()) const;
  void MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters,
                    Where where = Where::current()) const;
  void Accumulate(const Tensor& loss, Where where = Where::current()) const;
  void AccumulateOver(const Tensor& loss, const std::vector<Variable>& parameters,
                      Where where = Where::current()) const;
  void ApplyAccumulated(Builder& b, Where where = Where::current()) const;
};

// Kingma and Ba, "Adam" (arXiv 1412.6980), algorithm 1; weight_decay is added to the gradient.
struct Adam {
  struct Group {  // As Sgd's.
    VariableFilter of = {};
    double rate_scale = 1;
    std::function<void(Adam&)> with = {};
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
  void Minimize(const Tensor& loss, Where where = Where::current()) const;
  void MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters,
                    Where where = Where::current()) const;
  void Accumulate(const Tensor& loss, Where where = Where::current()) const;
  void AccumulateOver(const Tensor& loss, const std::vector<Variable>& parameters,
                      Where where = Where::current()) const;
  void ApplyAccumulated(Builder& b, Where where = Where::current()) const;
};

// Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (arXiv 1711.05101): p -= lr * weight_decay *
// p besides.
struct AdamW {
  struct Group {  // As Sgd's.
    VariableFilter of = {};
    double rate_scale = 1;
    std::function<void(AdamW&)> with = {};
  };
  Operand learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  double clip_norm = 0;
  std::optional<LossScale> loss_scale = std::nullopt;
  std::string name = {};
  std::vector<Group> groups = {};
  void Minimize(const Tensor& loss, Where where = Where::current()) const;
  void MinimizeOver(const Tensor& loss, const std::vector<Variable>& parameters,
                    Where where = Where::current()) const;
  void Accumulate(const Tensor& loss, Where where = Where::current()) const;
  void AccumulateOver(const Tensor& loss, const std::vector<Variable>& parameters,
                      Where where = Where::current()) const;
  void ApplyAccumulated(Builder& b, Where where = Where::current()) const;
};

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_OPTIMIZER_H_
