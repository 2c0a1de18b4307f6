// The variables that an update changes, and their values. For Sinter's own sources only.
//
//   std::optional<std::vector<Target>> targets = TargetsOf(call, loss, candidates, /*allow_unused=*/false);
#ifndef SINTER_FRONTEND_OPTIM_UPDATE_TARGETS_H_
#define SINTER_FRONTEND_OPTIM_UPDATE_TARGETS_H_

#include <optional>
#include <string>
#include <vector>

#include "sinter/frontend/graph/graph_state.h"

namespace sinter::optim {

// A parameter, its current value, and the value that the loss was computed from. The two values differ if an
// earlier optimiser of the same function has updated the parameter.
struct Target {
  Variable variable;
  Tensor now;
  Tensor in_loss;
};

// The variables to update. nullopt: every trainable variable that the function has read and the loss depends
// on.
using Candidates = std::optional<std::vector<Variable>>;

// Returns the handle of a variable.
Variable VariableOf(GraphState& graph, ir::VariableOp op);

// True if each of the variables can be updated, judging by its handle; else keeps an error, unless it already
// has one.
bool CheckHandles(Call& call, const std::vector<Variable>& variables);

// Returns those of the candidates that the loss depends on. nullopt, with an error kept, if there is none, or
// if a named candidate does not qualify; `allow_unused` skips those that the loss does not depend on.
std::optional<std::vector<Target>> TargetsOf(Call& call, const Tensor& loss, const Candidates& candidates,
                                             bool allow_unused);

std::vector<std::string> NamesOf(const std::vector<Target>& targets);

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_UPDATE_TARGETS_H_
