// Compiles a graph and runs one of its functions, as most frontend tests need.
//
//   Session session = MustStart(graph);
//   std::vector<float> y = Floats(session, "f", {{"x", x}}, "y");
//
// A test of DeviceTest runs on the CPU, or on the device in SINTER_TEST_DEVICE:
//
//   using RollTest = DeviceTest;
//   TEST_F(RollTest, Wraps) { Session session = MustStart(graph, {.device = TestDevice()}); ... }
#ifndef SINTER_TESTS_FRONTEND_RUN_GRAPH_H_
#define SINTER_TESTS_FRONTEND_RUN_GRAPH_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <initializer_list>
#include <random>
#include <string_view>
#include <vector>

#include "sinter/frontend/sinter.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/memory/device_info.h"

namespace sinter {

// Returns the device in SINTER_TEST_DEVICE, such as gpu:0; the CPU if it is not set.
inline Device TestDevice() {
  const char* const name = std::getenv("SINTER_TEST_DEVICE");
  return name ? *Device::Parse(name) : Device::Cpu();
}

// Skips its tests if the machine lacks TestDevice().
class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (TestDevice().is_gpu() && TestDevice().index() >= NumGpus()) GTEST_SKIP() << "this machine has 0 GPUs";
  }
};

inline Session MustStart(const Graph& graph, const CompileOptions& options = {}) {
  absl::StatusOr<Plan> plan = Compile(graph, options);
  SINTER_CHECK(plan.ok()) << plan.status();
  absl::StatusOr<Session> session = Session::Create(*std::move(plan));
  SINTER_CHECK(session.ok()) << session.status();
  return *std::move(session);
}

inline std::vector<float> ToFloats(const HostTensor& tensor) {
  auto values = tensor.Span<float>();
  SINTER_CHECK(values.ok()) << values.status();
  return std::vector<float>(values->begin(), values->end());
}

inline std::vector<float> Floats(Session& session, std::string_view function,
                                 std::initializer_list<Argument> arguments, std::string_view output) {
  auto outputs = session.Run(function, arguments);
  SINTER_CHECK(outputs.ok()) << outputs.status();
  return ToFloats((*outputs)[output]);
}

// Returns numbers in [-1, 1), the same for the same seed.
inline HostTensor RandomFloats(const Shape& shape, unsigned seed) {
  std::mt19937 draw(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  absl::StatusOr<HostTensor> tensor = HostTensor::Zeros(DType::kF32, shape);
  SINTER_CHECK(tensor.ok()) << tensor.status();
  for (float& x : *tensor->MutableSpan<float>()) x = uniform(draw);
  return *std::move(tensor);
}

inline std::vector<float> VariableFloats(Session& session, std::string_view name) {
  auto tensor = session.ReadVariable(name);
  SINTER_CHECK(tensor.ok()) << tensor.status();
  return ToFloats(*tensor);
}

}  // namespace sinter

#endif  // SINTER_TESTS_FRONTEND_RUN_GRAPH_H_
