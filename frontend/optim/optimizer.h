// Optimisers: compute new values of the parameters from a loss.
//
//   optim::AdamW{.learning_rate = b.Scalar("lr"), .weight_decay = 0.1}.Minimize(loss);
//   optim::Sgd{}.Minimize(loss, {.parameters = head.parameters(), .hooks = {optim::ClipNorm(1)}});
//
// An optimiser is a rule with hyper-parameters, a struct of this header, of adaptive_rules.h, of
// matrix_rules.h or of one's own. rule.h has its calls and their options: which parameters, what is done to
// the gradients first (hooks.h), loss scaling, averages of the weights.
//
// A hyper-parameter is a number, fixed at compilation, a rank-0 f32 tensor, such as an input, or a schedule
// (hyper.h). Updates are elementwise and become one fused kernel over all parameters. Parameters of bf16 or
// f16 are updated in f32 and rounded. A number out of its bounds is an error at the user's line.
//
// Minimize() updates the trainable variables that the function has read so far and that the loss depends on
// through ops with a gradient, or the given variables.
//
//   optim::Adam{}.Minimize(d_loss, {.parameters = d.parameters(), .name = "critic"});
//   optim::Adam{}.Minimize(g_loss, {.parameters = g.parameters(), .name = "generator"});
//
// Optimisers are values; each function may construct its own. A graph has one optimiser for each name, over
// one set of parameters. Its state is in variables named "<name>/<slot>/<parameter>", "<name>/step" and
// similar. Calls with one name are calls of the same optimiser, whatever their learning rates. The same name
// with other parameters or another kind is an error with both lines. Without a name, calls of one kind over
// the same set of parameters are calls of the same optimiser. The first unnamed optimiser of a kind gets the
// kind's name, "adam"; one over other parameters gets "adam_2", and so on, in the order in which the graph is
// built. Sets that overlap without being equal are an error that asks for names. (Sgd has no state without
// accumulation, a loss scale, averages or a schedule, and needs no name.)
//
// Groups give some parameters settings of their own. All groups share the step count, the hooks and the loss
// scale.
//
//   optim::AdamW{.weight_decay = 0.1}.Minimize(
//       loss, {.groups = {{.of = RankBelow(2), .with = [](optim::AdamW& o) { o.weight_decay = 0; }},
//                         {.of = Glob("head.*"), .rate_scale = 10}}});
//
// A batch that does not fit in memory can be cut into smaller ones. One function accumulates gradients and
// runs several times; then another function updates the parameters with the mean of the gradients. Both use
// the same optimiser. Accumulate uses only the parameters, the name, the loss scale and the groups of touched
// rows of the options. k equal parts with mean losses give the result of the whole batch.
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

#include <string>
#include <vector>

#include "sinter/frontend/optim/rule.h"

namespace sinter::optim {

// Bounds of the hyper-parameters: learning rates, weight decays and epsilon are at least 0; momentum, beta1
// and beta2 are at least 0 and below 1.

// p -= lr * g
struct Sgd : Rule<Sgd> {
  static constexpr char kName[] = "optim::Sgd";
  static constexpr bool kHasSlots = false;
  Hyper learning_rate = 0.01;
  Tensor operator()(Parameter& p) const;
};

// v = momentum * v + g;  p -= lr * v (Polyak, 1964). With nesterov: p -= lr * (g + momentum * v) (Sutskever
// et al., "On the importance of initialization and momentum", 2013).
struct Momentum : Rule<Momentum> {
  Hyper learning_rate = 0.01;
  Hyper momentum = 0.9;
  bool nesterov = false;
  // v = momentum * v + (1 - dampening) * g, except in the first update, where v = g; 0 with nesterov.
  Hyper dampening = 0;
  // The form of the papers and of Chainer's MomentumSGD, which differs while the rate changes: v = momentum *
  // v + lr * g;  p -= v. With nesterov: p -= lr * g + momentum * v.
  bool rate_in_velocity = false;
  Tensor operator()(Parameter& p) const;
  std::string Kind() const { return nesterov ? "optim::Nesterov" : "optim::Momentum"; }
  std::vector<Bounded> Bounds() const;
};

// Kingma and Ba, "Adam" (arXiv 1412.6980), algorithm 1.
struct Adam : Rule<Adam> {
  static constexpr char kName[] = "optim::Adam";
  Hyper learning_rate = 0.001;
  Hyper beta1 = 0.9;
  Hyper beta2 = 0.999;
  Hyper epsilon = 1e-8;
  bool amsgrad = false;  // Divides by the root of the largest v so far (Reddi et al., arXiv 1904.09237).
  bool epsilon_inside_root = false;  // Divides by sqrt(v + epsilon), as `eps_root` of Optax.
  Tensor operator()(Parameter& p) const;
  std::vector<Bounded> Bounds() const;
};

// Adam with decoupled weight decay: also p -= lr * weight_decay * p (Loshchilov and Hutter, "Decoupled Weight
// Decay Regularization", arXiv 1711.05101). Their factor eta scales the whole step, and the rate does not
// scale their decay: so .learning_rate = alpha * eta and .weight_decay = decay / alpha. A schedule of eta is
// one of the learning rate.
struct AdamW : Rule<AdamW> {
  static constexpr char kName[] = "optim::AdamW";
  Hyper learning_rate = 0.001;
  Hyper beta1 = 0.9;
  Hyper beta2 = 0.999;
  Hyper epsilon = 1e-8;
  bool amsgrad = false;
  Hyper weight_decay = 0.01;
  bool epsilon_inside_root = false;
  Tensor operator()(Parameter& p) const;
  std::vector<Bounded> Bounds() const;
};

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_OPTIMIZER_H_
