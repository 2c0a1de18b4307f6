// Hooks: change the gradients before the rule sees them, in the order in which an update lists them.
//
//   optim::Adam{}.Minimize(loss, {.hooks = {optim::ClipNorm(1), optim::Decay(1e-4)}});
//
// A hook sees the gradients of all parameters: of the whole batch, also on a mesh and after Accumulate, and
// without the loss scale. They have the type in which the update is computed: f64 for f64 parameters, else
// f32. Any function of Gradients is a hook:
//
//   auto centralize = [](optim::Gradients& g) {     // Yong et al., arXiv 2004.01461.
//     for (size_t i = 0; i < g.size(); ++i) {
//       if (g[i].rank() > 1) g.Set(i, g[i] - Mean(g[i], {1}, {.keep_dims = true}));
//     }
//   };
//   optim::Adam{}.Minimize(loss, {.hooks = {centralize}});
#ifndef SINTER_FRONTEND_OPTIM_HOOKS_H_
#define SINTER_FRONTEND_OPTIM_HOOKS_H_

#include <concepts>
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sinter/frontend/graph/graph.h"
#include "sinter/frontend/graph/variable_filter.h"
#include "sinter/frontend/optim/hyper.h"

namespace sinter::optim {

class Update;

// The gradients of one update.
class Gradients {
 public:
  // For Sinter's own sources. `values` are the parameters' values, in the type of their gradients;
  // `touched_only` are the positions of those with touched rows only (Group::touched_rows_only).
  Gradients(Update& update, std::vector<Variable> variables, std::vector<Tensor> values,
            std::vector<Tensor> gradients, std::set<size_t> touched_only);

  size_t size() const { return gradients_.size(); }
  // The gradient of parameter i.
  const Tensor& operator[](size_t i) const { return gradients_[i]; }
  // Replaces it by one of the same type and shape.
  void Set(size_t i, const Tensor& gradient);
  const Variable& variable(size_t i) const { return variables_[i]; }
  // The value of parameter i before the update, in its gradient's type.
  const Tensor& value(size_t i) const { return values_[i]; }
  // The same of all rows, where the value is of some.
  Tensor WholeValue(size_t i);
  // True if the value and the gradient are of the rows that the loss read, and not of all.
  bool has_touched_rows_only(size_t i) const { return touched_only_.contains(i); }

  // The root of the sum of all squares, of rank 0: f64 if a gradient has this type, else f32.
  Tensor Norm();
  // The number of this update, counted from 1: f32[].
  Tensor Step();
  // A hyper-parameter of this update, in the type and on the device of gradient i.
  Operand At(const Hyper& hyper, size_t i);
  // A tensor of rank 0 in the type and on the device of gradient i.
  Tensor Near(const Tensor& scalar, size_t i);
  // Random numbers of a normal distribution with mean 0 and deviation 1, in the type and shape of gradient i.
  Tensor RandomLike(size_t i);
  // Keeps an error with the line of the update; `message` is the rest of a sentence.
  void Fail(std::string_view message);

 private:
  Update* update_;
  std::vector<Variable> variables_;
  std::vector<Tensor> values_, gradients_;
  std::set<size_t> touched_only_;
  Tensor norm_;  // Norm of the gradients as they are; not ok before it is asked for.
};

class Hook {
 public:
  template <typename F>
    requires std::invocable<F&, Gradients&> && (!std::same_as<std::remove_cvref_t<F>, Hook>)
  Hook(F run) : run_(std::move(run)) {}
  // A hook with hyper-parameters, which the update checks.
  Hook(std::string name, std::vector<Bounded> hypers, std::function<void(Gradients&)> run)
      : name_(std::move(name)), hypers_(std::move(hypers)), run_(std::move(run)) {}

  void operator()(Gradients& gradients) const { run_(gradients); }
  // Describes an error in the hyper-parameters, as the rest of a sentence; empty if there is none.
  std::string wrong() const;

 private:
  std::string name_;  // Empty for one of the program's own.
  std::vector<Bounded> hypers_;
  std::function<void(Gradients&)> run_;
};

// Bounds of the numbers below: at least 0, except where they say more. `of` limits a hook to some of the
// parameters.

// g += rate * p: the gradient of rate / 2 * |p|^2, "weight decay" or L2. AdamW, Lion and others have a decay
// that bypasses the gradient.
Hook Decay(Hyper rate, VariableFilter of = {});
// g += rate * sign(p): the gradient of rate * |p|_1.
Hook Lasso(Hyper rate, VariableFilter of = {});
// Scales all gradients by min(1, most / norm), where norm is the norm of all of them together (Pascanu et
// al., arXiv 1211.5063). `most` is above 0.
Hook ClipNorm(Hyper most);
// Limits each element to the range from -most to most. `most` is above 0.
Hook ClipValue(Hyper most);
// g += normal numbers of variance eta / (1 + t)^gamma, where t counts updates from 0 (Neelakantan et al.,
// "Adding Gradient Noise Improves Learning for Very Deep Networks", arXiv 1511.06807).
Hook Noise(Hyper eta, Hyper gamma = 0.55);
// g = trust * |p| / (|g| + decay * |p|) * (g + decay * p), for each parameter with its own norms (You et al.,
// "Large Batch Training of Convolutional Networks", arXiv 1708.03888). Where |p| or the divisor is 0, the
// factor is 1. With Momentum{.rate_in_velocity = true} this is the paper's LARS. |p| is the norm of all rows
// also where only the touched ones are updated: each update then reads the whole table, and writes no more of
// it than those.
struct LarsOptions {
  Hyper trust = 0.001;
  Hyper decay = 0;
  VariableFilter of = {};
};
Hook Lars(const LarsOptions& options = {});

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_HOOKS_H_
