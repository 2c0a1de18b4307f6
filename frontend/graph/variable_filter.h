// Chooses variables: the parameters of an optimiser's group, or some parameters of a module.
//
//   std::vector<Variable> weights = net.parameters(Glob("*.weight"));
//   auto no_decay = [](optim::AdamW& o) { o.weight_decay = 0; };
//   optim::AdamW{}.Minimize(loss, {.groups = {{.of = RankBelow(2), .with = no_decay}}});
#ifndef SINTER_FRONTEND_GRAPH_VARIABLE_FILTER_H_
#define SINTER_FRONTEND_GRAPH_VARIABLE_FILTER_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/frontend/graph/graph.h"

namespace sinter {

// True for the variables to choose. Any function of a variable works.
using VariableFilter = std::function<bool(const Variable&)>;

// Matches the whole name. '*' matches any number of characters, '?' matches one.
VariableFilter Glob(std::string_view pattern);
// Matches variables of a rank less than this. RankBelow(2) matches biases and the scales and offsets of
// norms.
VariableFilter RankBelow(int64_t rank);
// Matches these variables.
VariableFilter Among(const std::vector<Variable>& variables);

}  // namespace sinter

#endif  // SINTER_FRONTEND_GRAPH_VARIABLE_FILTER_H_
