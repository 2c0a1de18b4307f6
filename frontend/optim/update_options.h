// Parts of an update's options (rule.h) that all rules share, and its result.
//
//   auto update = optim::Adam{}.Minimize(loss, {.parameters = net.parameters(),
//                                               .loss_scale = optim::LossScale{},
//                                               .average = optim::Ema{.decay = 0.999}});
//   b.Log("norm", update.GradientNorm());
#ifndef SINTER_FRONTEND_OPTIM_UPDATE_OPTIONS_H_
#define SINTER_FRONTEND_OPTIM_UPDATE_OPTIONS_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "sinter/frontend/graph/graph.h"
#include "sinter/frontend/optim/hyper.h"

namespace sinter::optim {

// The variables to update: those that are listed, or by default all. An empty list is not the default: it is
// an error, because a module that has not been called yet has no parameters.
class ParameterList {
 public:
  ParameterList() = default;
  ParameterList(std::initializer_list<Variable> variables) : variables_(variables) {}
  ParameterList(std::vector<Variable> variables) : variables_(std::move(variables)) {}
  // nullopt: all.
  const std::optional<std::vector<Variable>>& variables() const { return variables_; }

 private:
  std::optional<std::vector<Variable>> variables_;
};

// Loss scaling, for gradients that f16 could not hold otherwise (Micikevicius et al., "Mixed Precision
// Training", arXiv 1710.03740). The loss is multiplied by a scale, and its gradients are divided by the scale
// before hooks and rules see them. If a gradient is not finite, the step changes neither the parameters nor
// the optimiser's state, and the scale is halved, down to 1. After `double_after` good steps in a row the
// scale is doubled, up to 2^24. All of this runs on the device.
//
//   sn::Graph graph("net", {.precision = sn::Precision::kF16});
//   optim::Adam{}.Minimize(loss, {.loss_scale = optim::LossScale{}});
//
// The scale is the variable "<name>/loss_scale"; "<name>/good_steps" counts good steps. Variables that the
// model itself assigns, such as BatchNorm's running statistics, change in every step.
struct LossScale {
  double initial = 65536;  // From 1 to 2^24. A power of two is best: scaling then rounds nothing.
  int64_t double_after = 2000;
  // Keeps the scale at `initial`. As with the static scale of NVIDIA Apex, gradients are not
  // looked at: a step whose gradients are not finite is applied as it is.
  bool constant = false;
};

// The exponential moving average of each parameter: a = decay * a + (1 - decay) * p after each update; the
// first update sets a = p (Polyak and Juditsky, 1992; Tarvainen and Valpola, arXiv 1703.01780). `decay` is at
// least 0 and below 1.
struct Ema {
  Hyper decay = 0.999;
};
// The mean of each parameter over some of the updates ("stochastic weight averaging", Izmailov et al., arXiv
// 1803.05407): of update start + 1, counted from 1, and of every `every`-th one after it.
struct Swa {
  int64_t start = 0;  // At least 0.
  int64_t every = 1;  // At least 1.
};
// averages.h reads the averages. They are the variables "<name>/average/<parameter>", f64 for f64 parameters
// and else f32; "<name>/averaged" counts the values in them. Updates that a loss scale drops are not
// averaged.
//
// With touched rows (Group::touched_rows_only) the averages are the same: those of all rows over all updates.
// But an update writes only those of the rows that it reads, after it has made up for the updates that did
// not read them. "<name>/average_log" and "<name>/average_log/<parameter>" are the logarithms of the products
// of all decays so far, now and when a row was last written; UseAverages makes up for the rest.
using Average = std::variant<Ema, Swa>;

// Slow weights that follow the parameters (Zhang et al., "Lookahead Optimizer", arXiv 1907.08610). They start
// as the parameters are before the first update. After every `every`-th update slow += rate * (p - slow), and
// p = slow; the rule's state stays as it is. They are the variables "<name>/slow/<parameter>", f64 for f64
// parameters and else f32; "<name>/lookahead_steps" counts the updates. Updates that a loss scale drops do
// not count. Averages see the parameters after this. Not with touched rows.
struct Lookahead {
  int64_t every = 5;  // At least 1.
  Hyper rate = 0.5;   // Above 0, at most 1.
};

// The outcome of an update. Its methods add their ops only when they are called, in the function of the
// update; after a wrong call they return tensors that are not ok.
class UpdateResult {
 public:
  UpdateResult() = default;
  // The number of the update, counted from 1, or of the last one if this one was dropped: i64[].
  Tensor Step(Where where = Where::current()) const;
  // The root of the sum of all squares of the gradients, as the first hook sees them: f32[], or f64[] if a
  // parameter is f64.
  Tensor GradientNorm(Where where = Where::current()) const;
  // True if the update changed the parameters: i1[]. A loss scale drops an update whose gradients are not
  // finite, and ApplyAccumulated one without gradients.
  Tensor Applied(Where where = Where::current()) const;

  // For Sinter's own sources.
  struct Made;
  explicit UpdateResult(std::shared_ptr<Made> made) : made_(std::move(made)) {}

 private:
  std::shared_ptr<Made> made_;  // Null after a wrong call.
};

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_UPDATE_OPTIONS_H_
