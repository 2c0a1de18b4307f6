// Chooses variables: what a group of an optimiser's parameters is, which of a module's parameters are wanted.
//
//   std::vector<Variable> weights = net.parameters(Glob("*.weight"));
//   optim::AdamW{.groups = {{.of = RankBelow(2), .with = [](optim::AdamW& o) { o.weight_decay = 0; }}}}.Minimize(loss);
#ifndef SINTER_FRONTEND_GRAPH_VARIABLE_FILTER_H_
#define SINTER_FRONTEND_GRAPH_VARIABLE_FILTER_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/frontend/graph/graph.h"

namespace sinter {

// Any function of a variable will do.
using VariableFilter = std::function<bool(const Variable&)>;

// By the whole name: '*' stands for any characters, also none, '?' for one.
VariableFilter Glob(std::string_view pattern);
// Variables of a rank less than this: RankBelow(2) is biases and the scales and offsets of norms.
VariableFilter RankBelow(int64_t rank);
// One of these.
VariableFilter Among(const std::vector<Variable>& variables);

}  // namespace sinter

#endif  // SINTER_FRONTEND_GRAPH_VARIABLE_FILTER_H_
