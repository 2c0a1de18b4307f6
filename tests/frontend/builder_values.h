// Values of a function that a test builds, for tests of functions of the builder.
//
//   Values got = Compute([](Builder& b) { b.Output("y", Exp(Vector(b, {0, 1}))); });
//   EXPECT_NEAR(got["y"][1], 2.718, 1e-3);
#ifndef SINTER_TESTS_FRONTEND_BUILDER_VALUES_H_
#define SINTER_TESTS_FRONTEND_BUILDER_VALUES_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sinter/tests/frontend/run_graph.h"

namespace sinter {

using Values = std::map<std::string, std::vector<double>>;

inline std::vector<double> Doubles(const HostTensor& tensor) {
  const auto copy = [](auto span) {
    SINTER_CHECK(span.ok()) << span.status();
    return std::vector<double>(span->begin(), span->end());
  };
  switch (tensor.dtype()) {
    case DType::kF64:
      return copy(tensor.Span<double>());
    case DType::kF32:
      return copy(tensor.Span<float>());
    case DType::kI32:
      return copy(tensor.Span<int32_t>());
    case DType::kI64:
      return copy(tensor.Span<int64_t>());
    case DType::kI1:
      return copy(tensor.Span<bool>());
    default:
      SINTER_CHECK(false) << "no doubles of " << DTypeName(tensor.dtype());
      return {};
  }
}

// Runs the function that `body` builds `runs` times and returns the outputs of the last run.
inline Values Compute(const std::function<void(Builder&)>& body, int runs = 1, Mode mode = Mode::kTrain,
                      int64_t seed = 1) {
  Graph graph("g", {.seed = seed});
  graph.Function("f", mode, body);
  Session session = MustStart(graph, {.device = TestDevice()});
  Values values;
  for (int run = 0; run < runs; ++run) {
    const auto outputs = session.Run("f", {});
    SINTER_CHECK(outputs.ok()) << outputs.status();
    for (size_t i = 0; i < outputs->size(); ++i)
      values[std::string(outputs->name(i))] = Doubles(outputs->tensor(i));
  }
  return values;
}

inline Tensor Vector(Builder& b, const std::vector<double>& values, Shape shape = {}, DType dtype = F64) {
  if (shape.empty()) shape = {static_cast<int64_t>(values.size())};
  return Cast(b.Constant(*HostTensor::FromVector<double>(shape, values)), dtype);
}
inline Tensor Whole(Builder& b, const std::vector<int32_t>& values, Shape shape = {}) {
  if (shape.empty()) shape = {static_cast<int64_t>(values.size())};
  return b.Constant(*HostTensor::FromVector<int32_t>(shape, values));
}

// Expects the gradient of the rank-0 f64 result of `loss` towards x to be that of central differences.
inline void ExpectGradient(const std::vector<double>& x, const Shape& shape,
                           const std::function<Tensor(Builder&, const Tensor&)>& loss,
                           double tolerance = 1e-6, double step = 1e-5) {
  Graph graph("g", {.seed = 1});
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    const Tensor in = b.Input("x", F64, shape);
    const Tensor y = loss(b, in);
    b.Output("y", y);
    b.Output("gradient", Gradients(y, {in})[0]);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const auto run = [&](const std::vector<double>& at) {
    auto outputs = session.Run("f", {{"x", *HostTensor::FromVector<double>(shape, at)}});
    SINTER_CHECK(outputs.ok()) << outputs.status();
    return std::pair(Doubles((*outputs)["y"])[0], Doubles((*outputs)["gradient"]));
  };
  const std::vector<double> gradient = run(x).second;
  ASSERT_EQ(gradient.size(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    std::vector<double> at = x;
    at[i] = x[i] + step;
    const double above = run(at).first;
    at[i] = x[i] - step;
    const double slope = (above - run(at).first) / (2 * step);
    EXPECT_NEAR(gradient[i], slope, tolerance * (1 + std::abs(slope))) << "element " << i;
  }
}

}  // namespace sinter

#endif  // SINTER_TESTS_FRONTEND_BUILDER_VALUES_H_
