// Makes random programs for tests that compare different ways to compile and run one program.
// The programs are DAGs of pointwise ops, broadcasts, reductions, transposes, slices, reshapes, concats,
// softmaxes and matmuls, with several outputs.
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
  std::string text;                         // A module with variables @v0, @v1, ... and one function @f.
  std::vector<reference::Value> inputs;     // Values of in0, in1, ..., then of the variables.
  std::vector<std::string> input_names;     // Names of the arguments that are inputs.
  std::vector<std::string> output_names;    // Names of the results that are outputs, in order.
  std::vector<std::string> variable_names;  // Names of the variables: the other arguments and last results.
  std::vector<size_t> first_reads;          // Argument numbers of the variables.
};

// Returns the same graph for the same seed. Values stay of order 1, so that rounding errors do not grow. All
// floats are f32. With `gradients`, some outputs are gradients of a sum with respect to arguments.
RandomGraph MakeRandomGraph(uint64_t seed, bool gradients = false, int ops = 25);

}  // namespace sinter::numerics

#endif  // SINTER_TESTS_NUMERICS_RANDOM_GRAPH_H_
