// Optimisers: compute new values of the parameters from a loss.
//
//   optim::AdamW{.learning_rate = b.Scalar("lr"), .weight_decay = 0.1, .clip_norm = 1.0}.Minimize(loss);
//
// adaptive_rules.h has more rules, which are used alike.
//
// A learning rate is a number, fixed at compilation, or a rank-0 f32 tensor, such as an input. With an input,
// a schedule (schedule.h) needs no recompilation. Updates are elementwise and become one fused kernel over
// all parameters. Parameters of bf16 or f16 are updated in f32 and rounded. An option out of its bounds is an
// error at the user's line.
//
// Minimize() updates the trainable variables that the function has read so far and that the loss depends on
// through ops with a gradient. MinimizeOver() updates the given variables; a variable that the loss does not
// depend on is an error.
//
//   optim::Adam{.name = "critic"}.MinimizeOver(d_loss, d.parameters());
//   optim::Adam{.name = "generator"}.MinimizeOver(g_loss, g.parameters());
//
// Optimisers are values; each function may construct its own. A graph has one optimiser for each name, over
// one set of parameters. Its state is in variables named "<name>/<slot>/<parameter>", "<name>/step" and
// similar. Calls with one name are calls of the same optimiser, whatever their learning rates. The same name
// with other parameters or another kind is an error with both lines. Without a name, calls of one kind over
// the same set of parameters are calls of the same optimiser. The first unnamed optimiser of a kind gets the
// kind's name, "adam"; one over other parameters gets "adam_2", and so on, in the order in which the graph is
// built. Sets that overlap without being equal are an error that asks for names. (Sgd without accumulation
// and without a loss scale has no state, and needs no name.)
//
// Groups give some parameters settings of their own. All groups share the step count, clip_norm and the loss
// scale.
//
//   optim::AdamW{.weight_decay = 0.1,
//                .groups = {{.of = RankBelow(2), .with = [](optim::AdamW& o) { o.weight_decay = 0; }},
//                           {.of = Glob("head.*"), .rate_scale = 10}}}.Minimize(loss);
//
// A batch that does not fit in memory can be cut into smaller ones. One function accumulates gradients and
// runs several times; then another function updates the parameters with the mean of the gradients. Both use
// the same optimiser. Accumulate uses only the name and the loss scale of the optimiser's fields. k equal
// parts with mean losses give the result of the whole batch.
//
//   graph.Function("accumulate", Mode::kTrain, [&](Builder& b) { ...; optim::AdamW{}.Accumulate(loss); });
//   graph.Function("update", Mode::kTrain, [&](Builder& b) {
//     optim::AdamW{.learning_rate = b.Scalar("lr")}.ApplyAccumulated(b);
//   });
//
// The sums are in the variables "<name>/accumulated/<parameter>", which each update sets to zero;
// "<name>/accumulated_losses" counts the losses. An update with nothing accumulated changes no parameter.
// On a mesh, each rank sums the gradients of its part of the batch, and the update alone exchanges them
// (docs/parallel.md).
// Without a name, ApplyAccumulated uses the only unnamed optimiser of its kind that accumulates; several are
// an error.
#ifndef SINTER_FRONTEND_OPTIM_OPTIMIZER_H_
#define SINTER_FRONTEND_OPTIM_OPTIMIZER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sinter/frontend/graph/graph.h"
#include "sinter/frontend/graph/variable_filter.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter::optim {

// Dynamic loss scaling, for gradients that f16 could not hold otherwise (Micikevicius et al., "Mixed
// Precision Training", arXiv 1710.03740). The loss is multiplied by a scale, and its gradients are divided by
// the scale before they are clipped or used. If a gradient is not finite, the step changes neither the
// parameters nor the optimiser's state, and the scale is halved, down to 1. After `double_after` good steps
// in a row the scale is doubled, up to 2^24. All of this runs on the device.
//
//   sn::Graph graph("net", {.precision = sn::Precision::kF16});
//   optim::Adam{.loss_scale = optim::LossScale{}}.Minimize(loss);
//
// The scale is the variable "<name>/loss_scale"; "<name>/good_steps" counts good steps. Variables that the
// model itself assigns, such as BatchNorm's running statistics, change in every step.
struct LossScale {
  double initial = 65536;  // From 1 to 2^24. A power of two is best: scaling then rounds nothing.
  int64_t double_after = 2000;
};

// The parts of every rule's calls. Each rule has a MethodOf, defined in its source.
struct Method;
using MethodPtr = std::shared_ptr<const Method>;
// `parameters` null: those that the function has read and the loss depends on.
void MinimizeBy(const MethodPtr& method, const Tensor& loss, const std::vector<Variable>* parameters,
                Where where);
void AccumulateBy(const MethodPtr& method, const Tensor& loss, const std::vector<Variable>* parameters,
                  Where where);
void ApplyAccumulatedBy(const MethodPtr& method, Builder& b, Where where);
MethodPtr MethodOf(const struct Sgd& o);
MethodPtr MethodOf(const struct Momentum& o);
MethodPtr MethodOf(const struct Adam& o);
MethodPtr MethodOf(const struct AdamW& o);

// Bounds of the options below: learning rates, weight decays, clip_norm and epsilon are at least 0; momentum,
// beta1 and beta2 are at least 0 and below 1.

// p -= lr * (g + weight_decay * p)
struct Sgd {
  // Settings for some of the parameters. The first group that matches a parameter applies. A group that
  // matches no parameter is an error.
  struct Group {
    VariableFilter of = {};
    double rate_scale = 1;  // Factor of the learning rate; at least 0.
    // Changes the settings, except clip_norm, loss_scale, name and groups.
    std::function<void(Sgd&)> with = {};
  };
  Operand learning_rate = 0.01;
  double weight_decay = 0;
  double clip_norm = 0;  // Scales all gradients so that their global norm is at most this. 0: no clipping.
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

// v = momentum * v + g + weight_decay * p;  p -= lr * v (Polyak, 1964). With nesterov: p -= lr * (g' +
// momentum * v), where g' = g + weight_decay * p (Sutskever et al., "On the importance of initialization and
// momentum", 2013).
struct Momentum {
  struct Group {  // See Sgd::Group.
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

// Kingma and Ba, "Adam" (arXiv 1412.6980), algorithm 1. Adds weight_decay * p to the gradient.
struct Adam {
  struct Group {  // See Sgd::Group.
    VariableFilter of = {};
    double rate_scale = 1;
    std::function<void(Adam&)> with = {};
  };
  Operand learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  bool amsgrad = false;  // Divides by the root of the largest v so far (Reddi et al., arXiv 1904.09237).
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

// Adam with decoupled weight decay: also p -= lr * weight_decay * p (Loshchilov and Hutter, "Decoupled Weight
// Decay Regularization", arXiv 1711.05101).
struct AdamW {
  struct Group {  // See Sgd::Group.
    VariableFilter of = {};
    double rate_scale = 1;
    std::function<void(AdamW&)> with = {};
  };
  Operand learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  bool amsgrad = false;  // Divides by the root of the largest v so far (Reddi et al., arXiv 1904.09237).
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

#endif  // SINTER_FRONTEND_OPTIM_OPTIMIZER_H_
