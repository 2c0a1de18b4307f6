// Which optimiser of the graph a call means: optimisers are values, made anew in each function, so what is the same one
// follows from its name, or without a name from its kind and the set of its parameters. Sinter's own sources only.
//
//   std::optional<UpdateOwner> owner = FindOptimizer(call, {.kind = "Adam"}, {"weight", "bias"});
//   // "adam" for the first unnamed Adam of the graph, "adam_2" for the first over other parameters.
#ifndef SINTER_FRONTEND_OPTIM_OPTIMIZER_IDENTITY_H_
#define SINTER_FRONTEND_OPTIM_OPTIMIZER_IDENTITY_H_

#include <optional>
#include <string>
#include <vector>

#include "sinter/frontend/optim/update.h"

namespace sinter::optim {

struct OptimizerUse {
  std::string kind;          // "Adam".
  std::string name = {};     // The program's; empty: none.
  bool accumulates = false;  // Is Accumulate.
  bool is_scaled = false;    // Has a loss scale.
  bool keeps_state = true;   // False: it has no variables, so that its calls need not be of one optimiser.
};

// The optimiser over these parameters, recorded in the graph at its first use. Null, with an error kept that has both
// lines, when its name is that of one over other parameters or of another kind, and when an unnamed one has some of its
// parameters, but not the same.
std::optional<UpdateOwner> FindOptimizer(Call& call, const OptimizerUse& use,
                                         const std::vector<std::string>& parameters);

// The optimiser whose gradients ApplyAccumulated is to use, and its parameters. Null, with an error kept, when there is
// none, or more than one.
struct AccumulatingOptimizer {
  UpdateOwner owner;
  std::vector<std::string> parameters;
};
std::optional<AccumulatingOptimizer> FindAccumulating(Call& call, const OptimizerUse& use);

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_OPTIMIZER_IDENTITY_H_
