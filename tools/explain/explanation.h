// `sinter explain`: the exchanges of a plan with their reasons, their predicted times and the cut variables.
//
//   SINTER_ASSIGN_OR_RETURN(const Explanation all, Explain(plan, {.costs = &costs}));
//   std::cout << ExplanationText(all);                       // ExplanationJson for programs.
//   std::cout << ExchangeText(all.exchanges[2]);             // All that is known of one exchange.
#ifndef SINTER_TOOLS_EXPLAIN_EXPLANATION_H_
#define SINTER_TOOLS_EXPLAIN_EXPLANATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/ir/cost/device_costs.h"
#include "sinter/runtime/plan/plan.h"

namespace sinter::tools {

struct ExplainOptions {
  std::string function;                      // Only this function's exchanges; empty: all.
  int exchange = 0;                          // Only the exchange of this number; 0: all.
  const cost::DeviceCosts* costs = nullptr;  // Null: no times.
};

// Seconds of the exchanges of one run together.
struct ExchangeTimes {
  double seconds = 0;  // With the wait for other ranks.
  double exposed = 0;  // The part in which the rank runs no other step.
};

// Equal exchanges of one function: of one kind, size, line and reason.
struct ExplainedExchange {
  int number = 0;  // From 1, in the order of the plan's steps, whatever the options.
  std::string function;
  std::string kind;                                   // "all_reduce".
  std::vector<std::pair<std::string, int64_t>> axes;  // Names and sizes.
  std::vector<std::string> devices;                   // The members, if no axes name them.
  int64_t ranks = 0;                                  // Members that exchange with each other.
  std::vector<std::string> tensors;                   // Types of what a rank gives: "f32[768]".
  uint64_t bytes = 0;                                 // Bytes of these tensors.
  std::vector<uint32_t> steps;                        // Indices of the function's steps: one for each time.
  std::vector<std::string> lines;                     // The user's lines.
  std::string because;                                // Empty if the plan has no reason.
  std::string because_line;                           // The line to which `because` refers.
  std::vector<std::string> by_way_of;  // Lines from there to the exchange: the last ones alone.
  std::optional<ExchangeTimes> times;
};

struct ExplainedVariable {
  std::string name, type, line;
  std::vector<std::string> axes;  // Axes that cut it.
  uint64_t bytes = 0, part_bytes = 0;
};

struct Explanation {
  std::string plan;
  std::string mesh;  // "data 2 x tensor 4"; empty without a mesh.
  uint32_t ranks = 1;
  std::string costs;  // CostTable::device; empty: no times.
  std::vector<ExplainedExchange> exchanges;
  std::vector<ExplainedVariable> cut_variables;
  int whole_variables = 0;
  uint64_t whole_bytes = 0;               // Bytes of the whole variables.
  std::vector<std::string> stayed_whole;  // Values that ranks could share and do not, and why.
  std::vector<std::string> notes;         // Functions without times, with the reason.
};

// NotFound: the plan has no such function. InvalidArgument: it has no such exchange.
absl::StatusOr<Explanation> Explain(const Plan& plan, const ExplainOptions& options);

std::string ExplanationText(const Explanation& explanation);
std::string ExchangeText(const ExplainedExchange& exchange);
// One JSON object; seconds and bytes.
std::string ExplanationJson(const Explanation& explanation);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_EXPLAIN_EXPLANATION_H_
