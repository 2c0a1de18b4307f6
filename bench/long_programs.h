// Programs of many ops, by their length: for how the time to compile grows with it. All train by Adam, but for `chain` and
// `ports`, in a function "train".
//
//   SINTER_ASSIGN_OR_RETURN(Graph graph, MakeLongProgram("gru", 256));    // 256 steps of one recurrent layer
//   SINTER_ASSIGN_OR_RETURN(Plan plan, Compile(graph));
#ifndef SINTER_BENCH_LONG_PROGRAMS_H_
#define SINTER_BENCH_LONG_PROGRAMS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/frontend/sinter.h"

namespace sinter::bench {

// Names that MakeLongProgram knows:
//   gru         a gated recurrent unit over an embedding, unrolled, with a loss of the last state
//   gru_text    the same with a loss of every state, as a language model has
//   rnn         a tanh layer over f32 inputs, unrolled
//   chain       pointwise ops, each of the one before
//   parameters  parameters of one small shape, all in one loss
//   mlp         linear layers with ReLU, one behind the other
//   residual    x + Linear(Relu(LayerNorm(x))), one behind the other
//   convolutions  x + Conv2d(Relu(BatchNorm(x))), one behind the other
//   ports       inputs of which each gives an output
const std::vector<std::string>& LongProgramNames();

// `length`: steps, ops, parameters, layers or ports. NotFound for another name, InvalidArgument for a length below 1.
absl::StatusOr<Graph> MakeLongProgram(std::string_view name, int64_t length);

}  // namespace sinter::bench

#endif  // SINTER_BENCH_LONG_PROGRAMS_H_
