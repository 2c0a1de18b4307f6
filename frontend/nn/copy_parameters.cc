#include "sinter/frontend/nn/copy_parameters.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/graph/number_bounds.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter::nn {
namespace {

// The module's variables by their names below its path.
std::map<std::string, Variable> VariablesOf(const AnyModule& module) {
  const std::string& path = module.layer()->path();
  std::map<std::string, Variable> variables;
  for (const bool to_train : {true, false}) {
    for (const Variable& variable : module.layer()->Variables(to_train)) {
      const bool is_below = !path.empty() && variable.name().starts_with(path + ".");
      variables[is_below ? variable.name().substr(path.size() + 1) : variable.name()] = variable;
    }
  }
  return variables;
}

// Says why the variables cannot be copied; empty if they can.
std::string WrongPair(const std::map<std::string, Variable>& from,
                      const std::map<std::string, Variable>& to) {
  if (from.empty() || to.empty()) {
    return absl::StrCat("takes two modules with variables, and the ", from.empty() ? "first" : "second",
                        " has none: use it before");
  }
  for (const auto* side : {&from, &to}) {
    const auto& other = side == &from ? to : from;
    for (const auto& [name, variable] : *side) {
      const auto twin = other.find(name);
      if (twin != other.end() && twin->second.dtype() == variable.dtype() &&
          twin->second.shape() == variable.shape()) {
        continue;
      }
      return absl::StrCat("finds no counterpart of type ", TypeString(variable.dtype(), variable.shape()),
                          " for \"", variable.name(), "\" in the other module");
    }
  }
  return "";
}

}  // namespace

void CopyParameters(Builder& b, const AnyModule& from, const AnyModule& to, double rate, Where where) {
  Call call("CopyParameters", where, b.function());
  if (!call.ok()) return;
  const std::map<std::string, Variable> sources = VariablesOf(from), targets = VariablesOf(to);
  std::string wrong = OutOfBounds("a rate", rate, {.low = 0, .high = 1});
  if (wrong.empty()) wrong = WrongPair(sources, targets);
  if (!wrong.empty()) {
    call.Fail(wrong);
    return;
  }
  const LocationScope scope(&call.graph(), where, call.graph().ScopeOr("CopyParameters"));
  for (const auto& [name, target] : targets) {
    const Tensor value = StopGradient(b.Read(sources.at(name), where));
    const Tensor old = b.Read(target, where);
    const bool is_whole = rate == 1 || !IsFloat(target.dtype());
    b.Assign(target, is_whole ? value : old + (value - old) * rate, where);
  }
}

}  // namespace sinter::nn
