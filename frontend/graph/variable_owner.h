// Who made a variable of a graph, so that nobody gets another's by its name. Sinter's own sources only.
//
//   VariableOwner owner{.id = NextOwnerId(), .kind = VariableOwner::Kind::kModule, .what = "Linear(3)"};
//   ir::VariableOp op = graph.FindOrMake("weight", F32, {5, 3}, {}, where, owner);    // Null if another module has it.
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
  uint64_t id =
      0;  // 0: the program, by the variable's name. It may also ask for a variable that another owner made.
  Kind kind = Kind::kProgram;
  std::string what = {};  // "Linear(3)".
  Where where = {};       // The line that made the variable.
};

// A number that no other owner of this process has. Only compared: no name and no order comes from it.
uint64_t NextOwnerId();

// An optimiser that has state in a graph (optim/optimizer_identity.h).
struct OptimizerRecord {
  std::string prefix;                   // Of its variables: "adam".
  bool named = false;                   // By the program.
  std::string kind;                     // "Adam".
  std::vector<std::string> parameters;  // That it updates, in the order of its first use.
  bool accumulates = false;
  bool is_scaled = false;  // By a loss scale.
  Where where = {};        // Of its first use.
  uint64_t owner = 0;
};

// "model.cc:41".
std::string LineOf(Where where);

}  // namespace sinter

#endif  // SINTER_FRONTEND_GRAPH_VARIABLE_OWNER_H_
