// Random programs: DAGs of pointwise ops, broadcasts, reductions, transposes, slices, reshapes, concats, softmaxes and
// matrix products, with several outputs, for comparing what should not differ.
//
//   RandomGraph graph = MakeRandomGraph(seed);
//   absl::StatusOr<Plan> plan = CompileText(graph.text, "random");
#ifndef SINTER_TESTS_NUMERICS_RANDOM_GRAPH_H_
#define SINTER_TESTS_NUMERICS_RANDOM_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sinter/tests/reference/value.h"

namespace sinter::numerics {

struct RandomGraph {
  std::string text;                       // A module of variables @v0, @v1, ... and one function, @f.
  std::vector<reference::Value> inputs;   // Of the function's arguments: in0, in1, ..., then the variables'.
  std::vector<std::string> input_names;   // Of the arguments that are inputs.
  std::vector<std::string> output_names;  // Of the results that are outputs, in order.
  std::vector<std::string>
      variable_names;               // Of the other arguments and of the last results, in the same order.
  std::vector<size_t> first_reads;  // Argument numbers of the variables.
};

// The same for the same seed. Values stay of order 1, so that rounding errors do not grow; all floats are f32. With
// gradients, some outputs are gradients of a sum with respect to arguments.
RandomGraph MakeRandomGraph(uint64_t seed, bool gradients = false, int ops = 25);

}  // namespace sinter::numerics

#endif  // SINTER_TESTS_NUMERICS_RANDOM_GRAPH_H_
