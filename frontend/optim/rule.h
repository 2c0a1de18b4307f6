// Rules of one's own, and what every rule's calls take and return.
//
// A rule is a struct of hyper-parameters with a call operator, which returns a parameter's new value from its
// gradient. Rule<R> adds Minimize and the other calls; all options of UpdateOptions work.
//
//   struct SignMomentum : optim::Rule<SignMomentum> {
//     static constexpr char kName[] = "SignMomentum";
//     optim::Hyper learning_rate = 1e-4;   // Every rule has it.
//     optim::Hyper beta = 0.95;
//     Tensor operator()(optim::Parameter& p) const {
//       Tensor m = p.At(beta) * p.Slot("m") + p.OneMinus(beta) * p.gradient;
//       p.SetSlot("m", m);
//       return p.value - p.At(learning_rate) * Sign(m);
//     }
//   };
//   SignMomentum{.learning_rate = b.Scalar("lr")}.Minimize(loss, {.parameters = net.parameters()});
//
// The call operator builds the update of one parameter; it is called once for each. It uses any ops.
#ifndef SINTER_FRONTEND_OPTIM_RULE_H_
#define SINTER_FRONTEND_OPTIM_RULE_H_

#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sinter/frontend/graph/graph.h"
#include "sinter/frontend/graph/variable_filter.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/frontend/optim/hooks.h"
#include "sinter/frontend/optim/hyper.h"
#include "sinter/frontend/optim/update_options.h"

// GCC counts the empty base class of a rule as a member that Adam{.beta1 = 0.5} leaves out, and warns where
// the rule is written, in the program's own file. So the warning has to stay off behind this line. A program
// that wants it for its own structs defines SINTER_WARN_OF_MISSING_FIELDS, and gets it for rules too.
#if defined(__GNUC__) && !defined(__clang__) && !defined(SINTER_WARN_OF_MISSING_FIELDS)
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#endif

namespace sinter::optim {

class Update;
struct Rows;

// One parameter in an update, for the call operator of a rule.
class Parameter {
 public:
  // For Sinter's own sources. `rows` is null if the update is of all rows.
  Parameter(Update& update, Variable of, Tensor current, Tensor its_gradient, const Rows* rows);

  const Variable variable;
  // The value before the update and the gradient after the hooks, of the parameter's shape: f64 for f64
  // parameters, else f32. Of the touched rows only, one below the other, if the group says so.
  const Tensor value, gradient;

  // A slot: a tensor that lasts from update to update. It has the type of `value` and starts at zero, and it
  // is the variable "<optimiser>/<slot>/<parameter>". Its shape is the parameter's, or `shape`, which must be
  // the same at every call. Where `value` is of some rows, so is what Slot returns and SetSlot takes, except
  // for a slot of rank 0, which all rows share.
  Tensor Slot(std::string_view slot);
  Tensor Slot(std::string_view slot, const Shape& shape);
  // Gives the slot a new value, unless the update is dropped (LossScale).
  void SetSlot(std::string_view slot, const Tensor& next);

  // A hyper-parameter of this update, in the type and on the device of `value`; a number stays a number.
  Operand At(const Hyper& hyper);
  // 1 - hyper.
  Operand OneMinus(const Hyper& hyper);
  // 1 - beta^t, where t is the number of the update, counted from 1.
  Tensor BiasCorrection(const Hyper& beta);
  // The number of the update, counted from 1, in the type of `value`.
  Tensor Step();
  // Keeps an error with the line of the update, and returns a tensor that is not ok. `message` is the rest of
  // a sentence, such as "updates matrices only".
  Tensor Fail(std::string_view message);

 private:
  // The variable of a slot, made if necessary.
  Variable SlotVariable(std::string_view slot, const Shape& shape);

  Update* update_;
  const Rows* rows_;
  std::map<std::string, Variable, std::less<>> slots_;
};

// Changes the hyper-parameters of a rule R: any function of the rule. It is not a std::function because GCC
// 12 fails on a group that leaves out a member of such a type, one whose destructor has no explicit noexcept.
template <typename R>
class Edit {
 public:
  Edit() noexcept {}
  template <typename F>
    requires std::invocable<const F&, R&>
  Edit(F edit) : edit_(std::move(edit)) {}
  Edit(const Edit& other) : edit_(other.edit_) {}
  Edit& operator=(const Edit& other) = default;
  ~Edit() noexcept {}

  // Changes nothing if no function was given.
  void operator()(R& rule) const {
    if (edit_) edit_(rule);
  }

 private:
  std::function<void(R&)> edit_;
};

// Settings for some of the parameters. The first group that matches a parameter applies. A group that matches
// none is an error.
template <typename R>
struct Group {
  VariableFilter of = {};
  double rate_scale = 1;  // Factor of the learning rate; at least 0.
  Edit<R> with = {};      // Changes the hyper-parameters.
  // Updates only those rows of a table that the loss read, by Gather along dimension 0 (nn::Embedding), and
  // only their part of the slots: a step's time does not depend on the table's length. Sgd computes the same
  // numbers; rules with slots leave those of other rows as they were, as PyTorch's SparseAdam does. Hooks see
  // the touched rows; Lars takes the norm of all rows, and decays the touched ones. Averages (.average) are
  // those of all rows. Not for rules whose step depends on all rows (Lamb, Muon, Adafactor), nor Lookahead.
  // Accumulate and ApplyAccumulated both need such a group.
  bool touched_rows_only = false;
  // Room for the different rows that are read until the next update, and their gradients; for Accumulate of
  // touched rows. If more are read, the update makes the rows NaN; a loss scale that adapts drops the update.
  int64_t accumulated_rows = 0;
};

// Options of an update. Calls of one optimiser in several functions may have options of their own, except
// that Accumulate and ApplyAccumulated need both a loss scale, or none.
template <typename R>
struct UpdateOptions {
  // The variables to update; by default, all trainable ones that the function has read so far and that the
  // loss depends on through ops with a gradient. A listed variable that the loss does not depend on is an
  // error.
  ParameterList parameters = {};
  // Name of the optimiser, which names its variables; see optimizer.h for the default.
  std::string name = {};
  std::vector<Group<R>> groups = {};
  std::vector<Hook> hooks = {};  // hooks.h
  std::optional<LossScale> loss_scale = {};
  std::optional<Average> average = {};      // Keeps averages of the weights, for averages.h.
  std::optional<Lookahead> lookahead = {};  // Lets slow weights lead the parameters.
  bool allow_unused = false;                // Skips listed variables that the loss does not depend on.
};

// The non-template form of a rule with its options, for Sinter's own sources.
struct Method {
  // The update of some of the parameters.
  struct Settings {
    std::function<Tensor(Parameter&)> rule;
    std::vector<Bounded> hypers;
    VariableFilter of = {};  // Null: the parameters of no group.
    double rate_scale = 1;
    bool touched_rows_only = false;
    bool updates_rows = true;  // R::kUpdatesRows
    int64_t accumulated_rows = 0;
  };
  std::string kind;  // "optim::Adam".
  bool has_slots = true;
  ParameterList parameters;
  std::string name;
  Settings rest;
  std::vector<Settings> groups;
  std::vector<Hook> hooks;
  std::optional<LossScale> loss_scale;
  std::optional<Average> average;
  std::optional<Lookahead> lookahead;
  bool allow_unused = false;
};
UpdateResult MinimizeBy(const Method& method, const Tensor& loss, Where where);
UpdateResult ApplyBy(const Method& method, const std::vector<Variable>& parameters,
                     const std::vector<Tensor>& gradients, Where where);
void AccumulateBy(const Method& method, const Tensor& loss, Where where);
UpdateResult ApplyAccumulatedBy(const Method& method, Builder& b, Where where);

// Base class of a rule R: an aggregate with a Hyper learning_rate, a kName and a call operator.
template <typename R>
struct Rule {
  // Adds an update that makes the loss, a float of rank 0, smaller.
  UpdateResult Minimize(const Tensor& loss, const UpdateOptions<R>& options = {},
                        Where where = Where::current()) const {
    return MinimizeBy(MethodOf(options), loss, where);
  }
  // Adds an update from gradients in hand, one for each parameter and of its shape. Takes no loss scale.
  UpdateResult Apply(const std::vector<Variable>& parameters, const std::vector<Tensor>& gradients,
                     const UpdateOptions<R>& options = {}, Where where = Where::current()) const {
    return ApplyBy(MethodOf(options), parameters, gradients, where);
  }
  // Adds the gradients of a loss to the sums that ApplyAccumulated uses (optimizer.h). Of the options it uses
  // the parameters, the name, the loss scale and the groups of touched rows.
  void Accumulate(const Tensor& loss, const UpdateOptions<R>& options = {},
                  Where where = Where::current()) const {
    AccumulateBy(MethodOf(options), loss, where);
  }
  // Adds an update from the means of the accumulated gradients.
  UpdateResult ApplyAccumulated(Builder& b, const UpdateOptions<R>& options = {},
                                Where where = Where::current()) const {
    return ApplyAccumulatedBy(MethodOf(options), b, where);
  }

  // A rule may define these itself. Kind: the name in messages; in lower case and without a namespace it is
  // also the default name of an optimiser.
  std::string Kind() const { return R::kName; }
  // Bounds of the hyper-parameters, except those of the learning rate, which is at least 0.
  std::vector<Bounded> Bounds() const { return {}; }
  static constexpr bool kHasSlots = true;  // False: its updates need no state.
  // False: its update of an element looks at other rows, so that groups of touched rows are an error.
  static constexpr bool kUpdatesRows = true;

 private:
  static Method::Settings SettingsOf(const R& rule, const VariableFilter& of, double rate_scale) {
    R scaled = rule;
    scaled.learning_rate = scaled.learning_rate.Times(rate_scale);
    std::vector<Bounded> hypers = rule.Bounds();
    hypers.push_back({"a learning rate", rule.learning_rate, {.low = 0}});
    return {[scaled](Parameter& p) { return scaled(p); },
            std::move(hypers),
            of,
            rate_scale,
            /*touched_rows_only=*/false,
            R::kUpdatesRows,
            /*accumulated_rows=*/0};
  }
  Method MethodOf(const UpdateOptions<R>& options) const {
    const R& rule = static_cast<const R&>(*this);
    Method method{.kind = rule.Kind(),
                  .has_slots = R::kHasSlots,
                  .parameters = options.parameters,
                  .name = options.name,
                  .rest = SettingsOf(rule, {}, 1),
                  .groups = {},
                  .hooks = options.hooks,
                  .loss_scale = options.loss_scale,
                  .average = options.average,
                  .lookahead = options.lookahead,
                  .allow_unused = options.allow_unused};
    for (const Group<R>& group : options.groups) {
      R changed = rule;
      group.with(changed);
      method.groups.push_back(SettingsOf(changed, group.of, group.rate_scale));
      method.groups.back().touched_rows_only = group.touched_rows_only;
      method.groups.back().accumulated_rows = group.accumulated_rows;
    }
    return method;
  }
};

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_RULE_H_
