// The Method of a rule's options, for the sources of rules.
//
//   Rule RuleOf(const Lion& o) { return [...](Update& u, ...) { ... }; }
//   std::string KindOf(const Lion&) { return "Lion"; }
//   std::vector<Option> OptionsOf(const Lion& o) { return {{"a beta1", o.beta1, kFraction}}; }
//   MethodPtr MethodOf(const Lion& o) { return MakeMethod(o); }
//
// MakeMethod finds the other three by the rule's type.
#ifndef SINTER_FRONTEND_OPTIM_RULE_METHODS_H_
#define SINTER_FRONTEND_OPTIM_RULE_METHODS_H_

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/number_bounds.h"
#include "sinter/frontend/optim/loss_scaling.h"
#include "sinter/frontend/optim/minimize.h"

namespace sinter::optim {

// A numeric option of an optimiser.
struct Option {
  std::string_view what;
  double value;
  NumberBounds bounds;
};

constexpr NumberBounds kFraction = {.low = 0, .below = 1};

inline Tensor WithDecay(Update& u, const Tensor& g, const Tensor& p, double weight_decay) {
  return weight_decay == 0 ? g : u.Add(g, u.Mul(p, weight_decay));
}

inline std::string WrongIn(const LossScale& scale) {
  const auto& [initial, double_after] = scale;
  if (initial >= 1 && initial <= LossScaling::kLargest && double_after >= 1) return "";
  return absl::StrCat("needs a first loss scale from 1 to 2^24 and at least 1 step until it is doubled, got ",
                      initial, " and ", double_after);
}

// Describes an error in the options, as the rest of a sentence; empty if there is none.
template <typename Optimizer>
std::string WrongIn(const Optimizer& o) {
  std::vector<Option> options = OptionsOf(o);
  if (!o.learning_rate.is_tensor()) {
    options.push_back({"a learning rate", o.learning_rate.number().real(), {.low = 0}});
  }
  options.push_back({"a weight decay", o.weight_decay, {.low = 0}});
  options.push_back({"a clip_norm", o.clip_norm, {.low = 0}});
  for (const Option& option : options) {
    std::string wrong = OutOfBounds(option.what, option.value, option.bounds);
    if (!wrong.empty()) return wrong;
  }
  return o.loss_scale ? WrongIn(*o.loss_scale) : "";
}

// Describes an error in a group's settings; empty if there is none.
template <typename Optimizer>
std::string WrongInGroup(const Optimizer& o, const typename Optimizer::Group& group,
                         const Optimizer& changed) {
  if (!group.of) return "has a group that does not say of which parameters it is: set .of";
  if (std::string wrong = OutOfBounds("a rate_scale", group.rate_scale, {.low = 0}); !wrong.empty())
    return wrong;
  if (changed.clip_norm != o.clip_norm || changed.loss_scale.has_value() != o.loss_scale.has_value() ||
      changed.name != o.name || !changed.groups.empty()) {
    return "has a group that changes clip_norm, loss_scale, name or groups, which are of all parameters "
           "together";
  }
  return WrongIn(changed);
}

template <typename Optimizer>
MethodPtr MakeMethod(const Optimizer& o) {
  Method method{.kind = KindOf(o),
                .name = o.name,
                .has_slots = !std::is_same_v<Optimizer, Sgd>,
                .clip_norm = o.clip_norm,
                .loss_scale = o.loss_scale,
                .rest = {RuleOf(o), o.learning_rate},
                .groups = {},
                .wrong = WrongIn(o)};
  for (const typename Optimizer::Group& group : o.groups) {
    Optimizer changed = o;
    changed.groups.clear();
    if (group.with) group.with(changed);
    if (method.wrong.empty()) method.wrong = WrongInGroup(o, group, changed);
    method.groups.push_back({RuleOf(changed), changed.learning_rate, group.rate_scale, group.of});
  }
  return std::make_shared<const Method>(std::move(method));
}

// Returns the options that rules with two moments have.
inline std::vector<Option> BetaOptions(double beta1, double beta2, double epsilon) {
  return {{"a beta1", beta1, kFraction}, {"a beta2", beta2, kFraction}, {"an epsilon", epsilon, {.low = 0}}};
}

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_RULE_METHODS_H_
