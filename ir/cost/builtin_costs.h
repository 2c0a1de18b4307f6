// Built-in cost tables, for machines that `sinter measure` has not measured.
//
//   const CostTable* table = FindBuiltinCosts("h200");         // Null: there is no such table.
//
// The comments in the source name the origin of each figure.
#ifndef SINTER_IR_COST_BUILTIN_COSTS_H_
#define SINTER_IR_COST_BUILTIN_COSTS_H_

#include <string_view>
#include <vector>

#include "sinter/ir/cost/cost_table.h"

namespace sinter::cost {

// "h200", "h100", "cpu".
std::vector<std::string_view> BuiltinCostNames();
const CostTable* FindBuiltinCosts(std::string_view name);

}  // namespace sinter::cost

#endif  // SINTER_IR_COST_BUILTIN_COSTS_H_
