// The owner of a graph's variable, so that no module or optimiser takes over another's variable by its name.
// For Sinter's own sources only.
//
//   VariableOwner owner{.id = NextOwnerId(), .kind = VariableOwner::Kind::kModule, .what = "Linear(3)"};
//   // Null if another module has it.
//   ir::VariableOp op = graph.FindOrMake("weight", F32, {5, 3}, {}, where, owner);
#ifndef SINTER_FRONTEND_GRAPH_VARIABLE_OWNER_H_
#define SINTER_FRONTEND_GRAPH_VARIABLE_OWNER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/frontend/graph/tensor.h"

namespace sinter {

struct VariableOwner {
  enum class Kind { kProgram, kModule, kOptimizer };
  uint64_t id = 0;  // 0: the program, which may also use a variable that another owner made.
  Kind kind = Kind::kProgram;
  std::string what = {};  // Description: "Linear(3)".
  Where where = {};       // The line that made the variable.
};

// Returns an id that no other owner in this process has. Ids are only compared; no name or order depends on
// them.
uint64_t NextOwnerId();

// An optimiser that has state in a graph (optim/optimizer_identity.h).
struct OptimizerRecord {
  std::string prefix;                   // Prefix of its variables: "adam".
  bool named = false;                   // The program gave the name.
  std::string kind;                     // "optim::Adam".
  std::vector<std::string> parameters;  // The parameters that it updates, in the order of its first use.
  bool accumulates = false;
  bool is_scaled = false;  // It has a loss scale.
  bool averages = false;   // It keeps averages of its parameters.
  Where where = {};        // Line of its first use.
  uint64_t owner = 0;
};

// Returns "model.cc:41".
std::string LineOf(Where where);

}  // namespace sinter

#endif  // SINTER_FRONTEND_GRAPH_VARIABLE_OWNER_H_
