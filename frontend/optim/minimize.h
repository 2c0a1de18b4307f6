// Minimize, Accumulate and ApplyAccumulated of any optimiser, from its rule and settings. Sinter's own sources only.
#ifndef SINTER_FRONTEND_OPTIM_MINIMIZE_H_
#define SINTER_FRONTEND_OPTIM_MINIMIZE_H_

#include <optional>
#include <string>
#include <vector>

#include "sinter/frontend/optim/optimizer.h"
#include "sinter/frontend/optim/update.h"

namespace sinter::optim {

// How some of the parameters are updated.
struct Settings {
  Rule rule;
  Operand learning_rate = 0.0;
  double rate_scale = 1;
  VariableFilter of = {};  // Null: those of no group.
};

// An optimiser, as the calls below see it.
struct Method {
  std::string kind;  // "Adam".
  std::string name;  // The program's; empty: none.
  bool has_slots = true;
  double clip_norm = 0;
  std::optional<LossScale> loss_scale;
  Settings rest;
  std::vector<Settings> groups;  // The first that fits counts.
  std::string wrong;             // With its options; empty: nothing.
};

// The variables to update; null: every trainable variable that the function has read and that the loss depends on.
using Candidates = std::optional<std::vector<Variable>>;

void Minimize(const Method& method, const Tensor& loss, const Candidates& candidates, Where where);
void Accumulate(const Method& method, const Tensor& loss, const Candidates& candidates, Where where);
void ApplyAccumulated(const Method& method, Builder& b, Where where);

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_MINIMIZE_H_
