// Minimize, Accumulate and ApplyAccumulated for any optimiser, given its rule and settings.
#ifndef SINTER_FRONTEND_OPTIM_MINIMIZE_H_
#define SINTER_FRONTEND_OPTIM_MINIMIZE_H_

#include <optional>
#include <string>
#include <vector>

#include "sinter/frontend/optim/optimizer.h"
#include "sinter/frontend/optim/update.h"

namespace sinter::optim {

// The update of some of the parameters.
struct Settings {
  Rule rule;
  Operand learning_rate = 0.0;
  double rate_scale = 1;
  VariableFilter of = {};  // Null: the parameters of no group.
};

// An optimiser, in the form that the functions below take.
struct Method {
  std::string kind;  // "Adam".
  std::string name;  // The name that the program gave; empty if none.
  bool has_slots = true;
  double clip_norm = 0;
  std::optional<LossScale> loss_scale;
  Settings rest;
  std::vector<Settings> groups;  // The first group that matches a parameter applies.
  std::string wrong;             // An error in the options; empty if they are valid.
};

// The variables to update. nullopt: every trainable variable that the function has read and the loss depends
// on.
using Candidates = std::optional<std::vector<Variable>>;

void Minimize(const Method& method, const Tensor& loss, const Candidates& candidates, Where where);
void Accumulate(const Method& method, const Tensor& loss, const Candidates& candidates, Where where);
void ApplyAccumulated(const Method& method, Builder& b, Where where);

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_MINIMIZE_H_
