// A function that updates many parameters.
//
//   graph.Function("f", Mode::kTrain, [](Builder& b) { Parameters(b, 1000); });
#ifndef SINTER_TESTS_FRONTEND_PARAMETER_UPDATES_H_
#define SINTER_TESTS_FRONTEND_PARAMETER_UPDATES_H_

#include <string>

#include "sinter/frontend/sinter.h"

namespace sinter {

// Adam updates of `count` parameters of three shapes. The gradients are the parameters themselves. Six
// buffers each.
inline void Parameters(Builder& b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const std::string name = "p" + std::to_string(i);
    const Shape shape = {1 + i % 3};
    const VariableInit one = {VariableInit::Kind::kConstant, 1, 0};
    Variable p = b.MakeVariable(name, F32, shape, {.init = one});
    Variable m = b.MakeVariable(name + ".m", F32, shape), v = b.MakeVariable(name + ".v", F32, shape);
    Tensor g = b.Read(p), mean = 0.9 * b.Read(m) + 0.1 * g, square = 0.75 * b.Read(v) + 0.25 * Square(g);
    b.Assign(m, mean);
    b.Assign(v, square);
    b.Assign(p, g - mean / Sqrt(square));
  }
}

}  // namespace sinter

#endif  // SINTER_TESTS_FRONTEND_PARAMETER_UPDATES_H_
