// Outputs of a module in f64 and the values of its parameters, for tests of layers.
//
//   ModuleRun run([&](Builder& b) { b.Output("y", net(x)); });
//   run.outputs["y"]; run.variables["linear.weight"];
#ifndef SINTER_TESTS_FRONTEND_NN_MODULE_VALUES_H_
#define SINTER_TESTS_FRONTEND_NN_MODULE_VALUES_H_

#include <functional>

#include "sinter/tests/frontend/builder_values.h"

namespace sinter {

struct ModuleRun {
  explicit ModuleRun(const std::function<void(Builder&)>& body, Mode mode = Mode::kEval) {
    Graph graph("g", {.seed = 3});
    graph.Function("f", mode, body);
    Session session = MustStart(graph, {.device = TestDevice()});
    for (const Variable& variable : graph.variables()) {
      const auto value = session.ReadVariable(variable.name());
      SINTER_CHECK(value.ok()) << value.status();
      variables[variable.name()] = Doubles(*value);
    }
    const auto results = session.Run("f", {});
    SINTER_CHECK(results.ok()) << results.status();
    for (size_t i = 0; i < results->size(); ++i)
      outputs[std::string(results->name(i))] = Doubles(results->tensor(i));
  }
  Values outputs, variables;
};

// Numbers between -1 and 1.
inline std::vector<double> Waves(int64_t count, int step = 7) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(std::sin(static_cast<double>(i * step + 1)));
  return numbers;
}

// x [rows, in] times w [in, out].
inline std::vector<double> Product(const std::vector<double>& x, const std::vector<double>& w, size_t in,
                                   size_t out) {
  std::vector<double> y(x.size() / in * out, 0);
  for (size_t r = 0; r < x.size() / in; ++r)
    for (size_t i = 0; i < in; ++i)
      for (size_t o = 0; o < out; ++o) y[r * out + o] += x[r * in + i] * w[i * out + o];
  return y;
}

inline void ExpectNear(const std::vector<double>& got, const std::vector<double>& want,
                       double tolerance = 1e-11) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << i;
}

}  // namespace sinter

#endif  // SINTER_TESTS_FRONTEND_NN_MODULE_VALUES_H_
