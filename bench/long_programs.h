// MakeLongProgram: programs of a chosen length, to measure the growth of the compile time.
//
//   SINTER_ASSIGN_OR_RETURN(Graph graph, MakeLongProgram("gru", 256));    // 256 steps of one recurrent layer
//   SINTER_ASSIGN_OR_RETURN(Plan plan, Compile(graph));
//
// All programs except `chain` and `ports` train with Adam in a function "train".
#ifndef SINTER_BENCH_LONG_PROGRAMS_H_
#define SINTER_BENCH_LONG_PROGRAMS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/frontend/sinter.h"

namespace sinter::bench {

// Returns the names for MakeLongProgram:
//   gru         a gated recurrent unit over an embedding, unrolled, with a loss on the last state
//   gru_text    the same with a loss on every state, as in a language model
//   rnn         a tanh layer over f32 inputs, unrolled
//   chain       pointwise ops, each applied to the result of the previous one
//   parameters  parameters of the same small shape, all in one loss
//   mlp         linear layers with ReLU, in sequence
//   residual    x + Linear(Relu(LayerNorm(x))), in sequence
//   convolutions  x + Conv2d(Relu(BatchNorm(x))), in sequence
//   ports       inputs with one output each
const std::vector<std::string>& LongProgramNames();

// Returns the program `name` with `length` steps, ops, parameters, layers or ports. NotFound: unknown name.
// InvalidArgument: `length` is below 1.
absl::StatusOr<Graph> MakeLongProgram(std::string_view name, int64_t length);

}  // namespace sinter::bench

#endif  // SINTER_BENCH_LONG_PROGRAMS_H_
