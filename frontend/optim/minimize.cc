#include <algorithm>
#include <functional>
#include <set>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/optim/averaging.h"
#include "sinter/frontend/optim/lookahead.h"
#include "sinter/frontend/optim/loss_scaling.h"
#include "sinter/frontend/optim/optimizer_identity.h"
#include "sinter/frontend/optim/rule.h"
#include "sinter/frontend/optim/touched_rows.h"
#include "sinter/frontend/optim/update.h"
#include "sinter/frontend/optim/update_targets.h"

namespace sinter::optim {

// The update to which an UpdateResult refers.
struct UpdateResult::Made {
  Update update;
  std::string kind;
  std::optional<Gradients> gradients;  // As the first hook saw them.
};

namespace {

using MadePtr = std::shared_ptr<UpdateResult::Made>;

// Slots between Accumulate and ApplyAccumulated: the sums of gradients, and the number of accumulated losses.
constexpr char kSums[] = "accumulated";
constexpr char kCount[] = "accumulated_losses";

std::string WrongInGroup(const Method::Settings& group) {
  if (!group.of) return "has a group that does not say of which parameters it is: set .of";
  std::string wrong = OutOfBounds("a rate_scale", group.rate_scale, {.low = 0});
  if (wrong.empty()) wrong = OutOfBounds("accumulated_rows", group.accumulated_rows, {.low = 0});
  return wrong.empty() ? WrongIn(group.hypers) : wrong;
}

// Describes an error in the options, as the rest of a sentence; empty if there is none.
std::string WrongMethod(const Method& method) {
  std::string wrong = WrongIn(method.rest.hypers);
  for (size_t i = 0; wrong.empty() && i < method.groups.size(); ++i) wrong = WrongInGroup(method.groups[i]);
  for (size_t i = 0; wrong.empty() && i < method.hooks.size(); ++i) wrong = method.hooks[i].wrong();
  if (wrong.empty() && method.loss_scale) wrong = WrongIn(*method.loss_scale);
  if (wrong.empty() && method.average) wrong = WrongIn(*method.average);
  if (wrong.empty() && method.lookahead) wrong = WrongIn(*method.lookahead);
  return wrong;
}

// True if the options are valid; else keeps an error.
bool CheckOptions(Call& call, const Method& method) {
  const std::string wrong = WrongMethod(method);
  if (!wrong.empty()) call.Fail(wrong);
  return wrong.empty();
}

// Returns the settings of each parameter, in order. nullopt, with an error kept, if a group matches no
// parameter.
std::optional<std::vector<const Method::Settings*>> SettingsOf(Call& call, const Method& method,
                                                               const std::vector<Target>& targets) {
  std::vector<const Method::Settings*> result;
  for (const Target& target : targets) {
    auto group =
        std::ranges::find_if(method.groups, [&](const Method::Settings& g) { return g.of(target.variable); });
    result.push_back(group == method.groups.end() ? &method.rest : &*group);
  }
  for (size_t i = 0; i < method.groups.size(); ++i) {
    if (std::ranges::find(result, &method.groups[i]) != result.end()) continue;
    call.Fail(absl::StrCat("has a group, number ", i, " from 0, that fits none of the ", targets.size(),
                           " parameters, such as \"", targets[0].variable.name(),
                           "\", or only some that groups before it have"));
    return std::nullopt;
  }
  return result;
}

// The parts of its targets that an update changes: all, or the rows that the loss read.
struct Parts {
  std::vector<const Method::Settings*> settings;
  std::vector<std::optional<RowReads>> reads;  // By target; nullopt: all of it.
  std::vector<std::optional<Rows>> rows = {};  // Those of the reads, with the gradients.
};

// True if the rule and the options can update some rows of a table alone; else keeps an error.
bool CheckRows(Call& call, const Method& method, const Method::Settings& settings, const Target& target) {
  const std::string name = absl::StrCat("\"", target.variable.name(), "\"");
  std::string wrong;
  if (!settings.updates_rows) {
    wrong = absl::StrCat("has a rule whose step of a row depends on all rows of ", name,
                         "; leave out touched_rows_only, or update ", name,
                         " by an optimiser of its own with a rule of elements, such as Adam");
  } else if (method.lookahead) {
    wrong = absl::StrCat("keeps slow weights (.lookahead), which move all rows of ", name,
                         " that were read since they last moved; leave out touched_rows_only, or keep an "
                         "average (.average) instead");
  }
  if (!wrong.empty()) call.Fail(wrong);
  return wrong.empty();
}

// Nullopt, with an error kept, if a group of touched rows does not fit the rule, the options or the loss.
std::optional<Parts> PartsOf(Call& call, const Method& method, const Tensor& loss,
                             const std::vector<Target>& targets) {
  auto settings = SettingsOf(call, method, targets);
  if (!settings) return std::nullopt;
  Parts parts = {std::move(*settings), std::vector<std::optional<RowReads>>(targets.size())};
  for (size_t i = 0; i < targets.size(); ++i) {
    if (!parts.settings[i]->touched_rows_only) continue;
    if (!CheckRows(call, method, *parts.settings[i], targets[i])) return std::nullopt;
    parts.reads[i] = RowReads::Find(call, loss, targets[i]);
    if (!parts.reads[i]) return std::nullopt;
  }
  return parts;
}

// As PartsOf, without reads of a loss. `wrong` says why touched rows are an error.
std::optional<Parts> WholeParts(Call& call, const Method& method, const std::vector<Target>& targets,
                                const std::function<std::string(const Target&, bool touched_rows)>& wrong) {
  auto settings = SettingsOf(call, method, targets);
  if (!settings) return std::nullopt;
  for (size_t i = 0; i < targets.size(); ++i) {
    const bool rows = (*settings)[i]->touched_rows_only;
    if (const std::string why = wrong(targets[i], rows); !why.empty()) {
      call.Fail(why);
      return std::nullopt;
    }
    if (rows && !CheckRows(call, method, *(*settings)[i], targets[i])) return std::nullopt;
  }
  return Parts{std::move(*settings), std::vector<std::optional<RowReads>>(targets.size()),
               std::vector<std::optional<Rows>>(targets.size())};
}

// Returns the gradients of the loss, in the type in which updates are computed. Finds the rows of the parts.
std::vector<Tensor> GradientsOf(Call& call, const Tensor& loss, const std::vector<Target>& targets,
                                Parts& parts) {
  const Where where = call.where();
  std::vector<Tensor> in_loss;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (parts.reads[i]) {
      llvm::append_range(in_loss, parts.reads[i]->values());
    } else {
      in_loss.push_back(targets[i].in_loss);
    }
  }
  const std::vector<Tensor> all = sinter::Gradients(loss, in_loss, {}, where);
  std::vector<Tensor> gradients;
  if (all.size() != in_loss.size()) return gradients;
  auto next = all.begin();
  for (size_t i = 0; i < targets.size(); ++i) {
    const DType dtype = Update::ComputeType(targets[i].variable.dtype());
    parts.rows.emplace_back();
    if (!parts.reads[i]) {
      gradients.push_back(Cast(*next++, dtype, where));
      continue;
    }
    const auto end = next + static_cast<std::ptrdiff_t>(parts.reads[i]->values().size());
    const RowGradients combined = parts.reads[i]->Combine(call, {next, end}, dtype);
    next = end;
    parts.rows.back() = combined.rows;
    gradients.push_back(combined.gradient);
  }
  return gradients;
}

// Returns the gradients with the parameters' values in their types.
Gradients WithValues(Update& u, const std::vector<Target>& targets, const std::vector<Tensor>& gradients,
                     const Parts& parts) {
  std::vector<Variable> variables;
  std::vector<Tensor> values;
  std::set<size_t> touched_only;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (parts.rows[i]) touched_only.insert(i);
    variables.push_back(targets[i].variable);
    const std::optional<Rows>& rows = parts.rows[i];
    const Tensor now = rows ? rows->Of(targets[i].now, u.where()) : targets[i].now;
    values.push_back(Cast(now, gradients[i].dtype(), u.where()));
  }
  return Gradients(u, variables, values, gradients, touched_only);
}

bool KeepAverages(Call& call, Update& u, const std::vector<AveragedPart>& parts, const Average& average) {
  if (!AddToAverages(u, parts, average)) return false;
  std::vector<OptimizerRecord>& records = call.graph().optimizers;
  std::ranges::find(records, u.prefix(), &OptimizerRecord::prefix)->averages = true;
  return true;
}

// Assigns new values to the parameters, from gradients that still have the loss scale.
UpdateResult Step(Call& call, const MadePtr& made, const std::vector<Target>& targets,
                  std::vector<Tensor> gradients, const Parts& parts, std::optional<LossScaling>& scaling,
                  const Method& method) {
  Update& u = made->update;
  if (scaling) {
    scaling->Unscale(gradients);
    scaling->Judge(gradients);
  }
  Gradients hooked = WithValues(u, targets, gradients, parts);
  made->gradients = hooked;
  for (const Hook& hook : method.hooks) hook(hooked);
  std::vector<AveragedPart> averaged;
  for (size_t i = 0; i < targets.size() && !u.failed(); ++i) {
    const Variable& variable = targets[i].variable;
    const Rows* const rows = parts.rows[i] ? &*parts.rows[i] : nullptr;
    Parameter parameter(u, variable, hooked.value(i), hooked[i], rows);
    averaged.push_back({variable, hooked.value(i), rows});
    const Tensor next = parts.settings[i]->rule(parameter);
    if (next.ok() && next.shape() != parameter.value.shape()) {
      u.Fail(absl::StrCat("has a rule that changes \"", variable.name(), "\" from ",
                          TypeString(variable.dtype(), parameter.value.shape()), " to ", next.ToString(),
                          "; its call operator must return a value of the parameter's shape"));
    }
    if (u.failed()) break;
    if (rows) {
      u.AssignRows(variable, *rows, next);
    } else {
      u.Assign(variable, next);
    }
  }
  if (u.failed() || (method.lookahead && !LookAhead(u, targets, *method.lookahead))) return {};
  if (u.failed() || (method.average && !KeepAverages(call, u, averaged, *method.average))) return {};
  return UpdateResult(made);
}

// An update of these targets, whose optimiser is decided on now if it has state or a name, else when it first
// needs a variable. Null, with an error kept, if it cannot be.
MadePtr MakeUpdate(Call& call, const Update::Origin& origin, const Method& method, bool accumulates,
                   const std::vector<Target>& targets) {
  const OptimizerUse use = {method.kind, method.name, accumulates, method.loss_scale.has_value()};
  auto find = [use, names = NamesOf(targets)](Call& at) { return FindOptimizer(at, use, names); };
  auto made = std::make_shared<UpdateResult::Made>(
      UpdateResult::Made{Update(&call.function(), origin, find), method.kind, std::nullopt});
  const bool decides = method.has_slots || use.is_scaled || accumulates || !method.name.empty();
  return !decides || made->update.FindsOwner() ? made : nullptr;
}

// Computes the gradients of a loss and passes them to `then`, with the state that it needs.
UpdateResult WithGradients(
    std::string_view call_name, const Tensor& loss, const Method& method, bool accumulates, Where where,
    const std::function<UpdateResult(Call&, const MadePtr&, const std::vector<Target>&, std::vector<Tensor>,
                                     const Parts&, std::optional<LossScaling>&)>& then) {
  if (!Call(method.kind, where, {loss}).ok()) return {};  // The graph keeps the error.
  LocationScope scope(&loss.function()->graph(), where, method.kind);
  Call call(call_name, where, {loss});
  if (!call.ok() || !CheckOptions(call, method)) return {};
  if (!IsFloat(loss.dtype()) || loss.rank() != 0) {
    call.Fail("takes a float loss of rank 0; Mean(loss) or Sum(loss) first");
    return {};
  }
  // An update runs on the device of its parameter.
  UnplacedScope unplaced(&call.function());
  auto targets = TargetsOf(call, loss, method.parameters.variables(), method.allow_unused);
  if (!targets) return {};
  auto parts = PartsOf(call, method, loss, *targets);
  if (!parts) return {};
  const MadePtr made =
      MakeUpdate(call, {std::string(call_name), {loss}, where}, method, accumulates, *targets);
  if (!made) return {};
  std::optional<LossScaling> scaling;
  if (method.loss_scale) scaling.emplace(made->update, *method.loss_scale);
  std::vector<Tensor> gradients = GradientsOf(call, scaling ? scaling->Scaled(loss) : loss, *targets, *parts);
  return gradients.empty() ? UpdateResult()
                           : then(call, made, *targets, std::move(gradients), *parts, scaling);
}

// Returns the targets of gradients in hand. nullopt, with an error kept, if the two do not fit.
std::optional<std::vector<Target>> TargetsOfApply(Call& call, const Method& method,
                                                  const std::vector<Variable>& parameters,
                                                  const std::vector<Tensor>& gradients) {
  std::string wrong;
  if (parameters.size() != gradients.size()) {
    wrong = absl::StrCat("needs one gradient for each parameter, got ", gradients.size(), " for ",
                         parameters.size());
  } else if (method.parameters.variables()) {
    wrong = "takes the parameters as its first argument; leave out the option .parameters";
  } else if (method.loss_scale) {
    wrong = "takes gradients without a loss scale; leave out the option .loss_scale, or use Minimize";
  }
  std::vector<Target> targets;
  if (wrong.empty() && !CheckHandles(call, parameters)) return std::nullopt;
  for (size_t i = 0; wrong.empty() && i < parameters.size(); ++i) {
    if (gradients[i].shape() != parameters[i].shape() || !IsFloat(gradients[i].dtype())) {
      wrong = absl::StrCat("needs a gradient of floats of the shape of \"", parameters[i].name(), "\", ",
                           TypeString(parameters[i].dtype(), parameters[i].shape()), ", got ",
                           gradients[i].ToString());
      break;
    }
    const Tensor now = Builder(&call.function()).Read(parameters[i], call.where());
    targets.push_back({parameters[i], now, now});
  }
  if (wrong.empty()) return targets;
  call.Fail(wrong);
  return std::nullopt;
}

// False, with an error kept, if the options list other parameters than those whose gradients were
// accumulated.
bool CheckAccumulated(Call& call, const Method& method, const std::vector<std::string>& accumulated) {
  const auto& listed = method.parameters.variables();
  if (!listed) return true;
  if (!CheckHandles(call, *listed)) return false;
  std::set<std::string> names;
  for (const Variable& variable : *listed) names.insert(variable.name());
  if (names == std::set<std::string>(accumulated.begin(), accumulated.end())) return true;
  call.Fail(absl::StrCat("was given ", names.size(), " parameters that are not the ", accumulated.size(),
                         ", such as \"", accumulated[0],
                         "\", whose gradients were accumulated; leave out the option .parameters"));
  return false;
}

// Describes why Accumulate cannot sum a gradient, of all rows or of the touched ones; empty if it can.
std::string WrongSums(Update& u, const Variable& variable, const Method::Settings& settings) {
  const bool sums_rows = HasRowSums(u, variable);
  const bool sums_all = u.builder().function()->graph().variable_ops.contains(
      absl::StrCat(u.prefix(), "/", kSums, "/", variable.name()));
  if (settings.touched_rows_only && settings.accumulated_rows < 1) {
    return absl::StrCat("accumulates the touched rows only of \"", variable.name(),
                        "\" and needs to know how many different rows it reads at most until the update; set "
                        ".accumulated_rows beside .touched_rows_only, for instance to the reads of all "
                        "batches that are accumulated");
  }
  if (settings.touched_rows_only ? sums_all : sums_rows) {
    return absl::StrCat("sums the gradients of ", sums_all ? "the touched rows" : "all rows", " of \"",
                        variable.name(), "\", and a call before it those of ",
                        sums_all ? "all rows" : "the touched rows", "; give both the same groups");
  }
  return "";
}

}  // namespace

UpdateResult MinimizeBy(const Method& method, const Tensor& loss, Where where) {
  return WithGradients(
      "Minimize", loss, method, /*accumulates=*/false, where,
      [&](Call& call, const MadePtr& made, const std::vector<Target>& targets, std::vector<Tensor> gradients,
          const Parts& parts, std::optional<LossScaling>& scaling) {
        return Step(call, made, targets, std::move(gradients), parts, scaling, method);
      });
}

UpdateResult ApplyBy(const Method& method, const std::vector<Variable>& parameters,
                     const std::vector<Tensor>& gradients, Where where) {
  if (!Call(method.kind, where, gradients).ok()) return {};  // The graph keeps the error.
  LocationScope scope(&gradients[0].function()->graph(), where, method.kind);
  Call call("Apply", where, gradients);
  if (!call.ok() || !CheckOptions(call, method)) return {};
  UnplacedScope unplaced(&call.function());
  auto targets = TargetsOfApply(call, method, parameters, gradients);
  if (!targets) return {};
  const MadePtr made = MakeUpdate(call, {"Apply", gradients, where}, method, /*accumulates=*/false, *targets);
  if (!made) return {};
  std::vector<Tensor> wide;
  for (size_t i = 0; i < gradients.size(); ++i) {
    wide.push_back(Cast(gradients[i], Update::ComputeType(parameters[i].dtype()), where));
  }
  auto parts = WholeParts(call, method, *targets, [](const Target&, bool touched_rows) -> std::string {
    if (!touched_rows) return "";
    return "was given gradients of whole tensors; leave out touched_rows_only, or use Minimize";
  });
  if (!parts) return {};
  std::optional<LossScaling> no_scaling;
  return Step(call, made, *targets, std::move(wide), *parts, no_scaling, method);
}

void AccumulateBy(const Method& method, const Tensor& loss, Where where) {
  WithGradients(
      "Accumulate", loss, method, /*accumulates=*/true, where,
      [&](Call& call, const MadePtr& made, const std::vector<Target>& targets, std::vector<Tensor> gradients,
          const Parts& parts, std::optional<LossScaling>&) -> UpdateResult {
        Update& u = made->update;
        for (size_t i = 0; i < targets.size(); ++i) {
          const Variable& variable = targets[i].variable;
          const Method::Settings& settings = *parts.settings[i];
          if (std::string wrong = WrongSums(u, variable, settings); !wrong.empty()) u.Fail(wrong);
          if (u.failed()) return {};
          if (parts.rows[i]) {
            AddToRowSums(call, u, variable, {*parts.rows[i], gradients[i]}, settings.accumulated_rows);
            continue;
          }
          Variable sum = u.Accumulator(variable, kSums);
          if (!sum.ok()) return {};
          u.Assign(sum, u.Add(u.Read(sum), gradients[i]));
        }
        Variable count = u.State(kCount, DType::kI64, {}, 0);
        if (count.ok()) u.Assign(count, u.Add(u.Read(count), 1));
        return {};
      });
}

namespace {

// Describes why ApplyAccumulated cannot update all rows of a target, or the touched ones; empty if it can.
std::string WrongRows(bool has_row_sums, const Target& target, bool touched_rows) {
  if (has_row_sums == touched_rows) return "";
  return absl::StrCat(touched_rows ? "updates the touched rows only of \"" : "updates all rows of \"",
                      target.variable.name(), "\", but Accumulate sums the gradients of ",
                      has_row_sums ? "its touched rows" : "all of its rows",
                      "; give both calls the same group with touched_rows_only, or leave it out of both");
}

// Returns the accumulated gradients of all targets, and sets their sums to zero if the update counts. Keeps
// the rows that they are of in the parts.
std::vector<Tensor> TakeSums(Update& u, const std::vector<Target>& targets, const Tensor& losses,
                             const Tensor& counts, Parts& parts) {
  std::vector<Tensor> gradients;
  for (size_t i = 0; i < targets.size(); ++i) {
    const auto here = [&](const Tensor& x) {
      return IsPlaced(targets[i].now) ? Copy(x, targets[i].now, u.where()) : x;
    };
    Tensor total;
    if (parts.settings[i]->touched_rows_only) {
      const RowGradients sums = TakeRowSums(u, targets[i].variable, here(counts));
      if (u.failed()) return {};
      parts.rows[i] = sums.rows;
      total = sums.gradient;
    } else {
      const Variable sum = u.Accumulator(targets[i].variable, kSums);
      if (!sum.ok()) return {};
      total = u.Read(sum);
      // Not a plain zero: this way the kernel that reads the sums also sets them to zero.
      u.AssignAlways(sum, Select(u.At(here(counts)), u.At(0), u.At(total)));
    }
    gradients.push_back(u.Div(total, Cast(here(losses), total.dtype(), u.where())));
  }
  return gradients;
}

}  // namespace

UpdateResult ApplyAccumulatedBy(const Method& method, Builder& b, Where where) {
  if (!Call(method.kind, where, b.function()).ok()) return {};  // The graph keeps the error.
  GraphState& graph = b.function()->graph();
  LocationScope scope(&graph, where, method.kind);
  Call call("ApplyAccumulated", where, b.function());
  if (!call.ok() || !CheckOptions(call, method)) return {};
  UnplacedScope unplaced(&call.function());
  auto found = FindAccumulating(call, {method.kind, method.name, false, method.loss_scale.has_value()});
  if (!found || !CheckAccumulated(call, method, found->parameters)) return {};
  auto made = std::make_shared<UpdateResult::Made>(
      UpdateResult::Made{Update(&call.function(), {"ApplyAccumulated", {}, where},
                                [owner = found->owner](Call&) { return std::optional<UpdateOwner>(owner); }),
                         method.kind, std::nullopt});
  Update& u = made->update;
  Variable count = u.State(kCount, DType::kI64, {}, 0);
  if (!count.ok()) return {};
  Tensor losses = u.Read(count), counts = u.At(losses) > u.At(0);
  u.CountOnlyIf(counts);
  u.AssignAlways(count, Select(u.At(counts), u.At(0), u.At(losses)));
  std::vector<Target> targets;
  for (const std::string& name : found->parameters) {
    const Variable variable = VariableOf(graph, graph.variable_ops.at(name));
    const Tensor now = u.Read(variable);
    targets.push_back({variable, now, now});
  }
  auto parts = WholeParts(call, method, targets, [&](const Target& target, bool touched_rows) {
    return WrongRows(HasRowSums(u, target.variable), target, touched_rows);
  });
  if (!parts) return {};
  std::vector<Tensor> gradients = TakeSums(u, targets, losses, counts, *parts);
  if (gradients.size() != targets.size()) return {};
  std::optional<LossScaling> scaling;
  if (method.loss_scale) scaling.emplace(u, *method.loss_scale);
  return Step(call, made, targets, std::move(gradients), *parts, scaling, method);
}

namespace {

// Builds a part of an update's result, in the function of the update. Not ok, with an error kept, elsewhere.
Tensor Late(const MadePtr& made, std::string_view what, Where where,
            const std::function<Tensor(UpdateResult::Made&)>& build) {
  if (!made) return {};
  Call call(absl::StrCat(made->kind, "'s ", std::string(what)), where, made->update.builder().function());
  if (!call.ok()) return {};
  LocationScope scope(&call.graph(), where, made->kind);
  UnplacedScope unplaced(&call.function());
  made->update.set_where(where);
  return build(*made);
}

}  // namespace

Tensor UpdateResult::Step(Where where) const {
  return Late(made_, "Step", where, [](Made& made) { return made.update.StepAfter(); });
}

Tensor UpdateResult::GradientNorm(Where where) const {
  return Late(made_, "GradientNorm", where, [](Made& made) { return made.gradients->Norm(); });
}

Tensor UpdateResult::Applied(Where where) const {
  return Late(made_, "Applied", where, [](Made& made) { return made.update.Counts(); });
}

}  // namespace sinter::optim
