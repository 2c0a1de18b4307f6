// Decides which optimiser of the graph a call means.
// Optimisers are values, made anew in each function. Two calls use the same optimiser if they have the same
// name, or without names the same kind and the same set of parameters. For Sinter's own sources only.
//
//   std::optional<UpdateOwner> owner = FindOptimizer(call, {.kind = "optim::Adam"}, {"weight", "bias"});
//   // "adam" for the first unnamed Adam of the graph, "adam_2" for the first over other parameters.
#ifndef SINTER_FRONTEND_OPTIM_OPTIMIZER_IDENTITY_H_
#define SINTER_FRONTEND_OPTIM_OPTIMIZER_IDENTITY_H_

#include <optional>
#include <string>
#include <vector>

#include "sinter/frontend/optim/update.h"

namespace sinter::optim {

struct OptimizerUse {
  std::string kind;          // "optim::Adam".
  std::string name = {};     // The name that the program gave; empty if none.
  bool accumulates = false;  // True for Accumulate.
  bool is_scaled = false;    // Has a loss scale.
};

// Returns the optimiser over these parameters; its first use records it in the graph. nullopt, with an error
// kept that has both lines, if its name belongs to an optimiser over other parameters or of another kind, or
// if it is unnamed and shares some, but not all, parameters with another one.
std::optional<UpdateOwner> FindOptimizer(Call& call, const OptimizerUse& use,
                                         const std::vector<std::string>& parameters);

// The optimiser whose gradients ApplyAccumulated uses, and its parameters. nullopt, with an error kept, if
// there is none or more than one.
struct AccumulatingOptimizer {
  UpdateOwner owner;
  std::vector<std::string> parameters;
};
std::optional<AccumulatingOptimizer> FindAccumulating(Call& call, const OptimizerUse& use);

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_OPTIMIZER_IDENTITY_H_
