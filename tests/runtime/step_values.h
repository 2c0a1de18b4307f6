// Converts tensors of any type from and to doubles, and runs single steps on them.
// For tests that compare with an f64 reference.
//
//   HostTensor x = MakeTensor(DType::kBf16, {2, 3}, RandomValues(6, 1));
//   std::vector<std::vector<double>> results =
//       RunStep({&x}, {{DType::kBf16, {2, 3}}}, [&](auto& f, auto in, auto out) { f.Copy(in[0], out[0]); });
#ifndef SINTER_TESTS_RUNTIME_STEP_VALUES_H_
#define SINTER_TESTS_RUNTIME_STEP_VALUES_H_

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "sinter/runtime/host/number.h"
#include "sinter/runtime/tensor/tensor.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {

// Returns multiples of 1/8 from -2 to 2, which every float type holds exactly. With `whole`: integers from 0
// to 4.
inline std::vector<double> RandomValues(int64_t count, int seed, bool whole = false) {
  std::mt19937 random(static_cast<uint32_t>(seed));
  std::vector<double> values(static_cast<size_t>(count));
  for (double& value : values)
    value = whole ? static_cast<int>(random() % 5) : (static_cast<int>(random() % 33) - 16) / 8.0;
  return values;
}

inline HostTensor MakeTensor(DType dtype, std::vector<int64_t> shape, const std::vector<double>& values) {
  HostTensor tensor = *HostTensor::Zeros(dtype, std::move(shape));
  std::byte* const data = static_cast<std::byte*>(tensor.mutable_data());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_TRUE(StoreNumber(values[i], dtype, data + i * static_cast<size_t>(SizeOf(dtype))).ok());
  }
  return tensor;
}

inline std::vector<double> ToDoubles(const HostTensor& tensor) {
  std::vector<double> values(static_cast<size_t>(tensor.num_elements()));
  const std::byte* const data = static_cast<const std::byte*>(tensor.data());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = LoadNumber(tensor.dtype(), data + i * static_cast<size_t>(SizeOf(tensor.dtype())));
  }
  return values;
}

struct TensorType {
  DType dtype;
  std::vector<int64_t> shape;
};

using AddStep =
    std::function<void(TestFunction&, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs)>;

// Runs one step with poisoned outputs, twice for each number of threads. All runs must give the same values.
inline std::vector<std::vector<double>> RunStep(const std::vector<const HostTensor*>& inputs,
                                                const std::vector<TensorType>& outputs, const AddStep& add,
                                                const std::vector<int>& threads = {1, 3}) {
  TestPlan plan;
  TestFunction f(plan, "f");
  std::vector<uint32_t> in, out;
  std::vector<Argument> arguments;
  std::vector<std::string> names;
  for (size_t i = 0; i < inputs.size(); ++i) names.push_back("x" + std::to_string(i));
  for (size_t i = 0; i < inputs.size(); ++i) {
    in.push_back(f.Input(names[i], inputs[i]->dtype(), inputs[i]->shape()));
    arguments.emplace_back(names[i], *inputs[i]);
  }
  for (const TensorType& type : outputs) out.push_back(f.Arena(type.dtype, type.shape));
  add(f, in, out);
  for (size_t i = 0; i < outputs.size(); ++i) f.Output("y" + std::to_string(i), out[i]);
  std::vector<std::vector<double>> results, first;
  for (const int count : threads) {
    absl::StatusOr<Session> session = plan.MakeSession({.threads = count, .poison = true});
    EXPECT_TRUE(session.ok()) << session.status();
    if (!session.ok()) return std::vector<std::vector<double>>(outputs.size());
    for (int run = 0; run < 2; ++run) {
      absl::StatusOr<Outputs> values = session->Run("f", arguments);
      EXPECT_TRUE(values.ok()) << values.status();
      if (!values.ok()) return std::vector<std::vector<double>>(outputs.size());
      results.clear();
      for (size_t i = 0; i < outputs.size(); ++i) results.push_back(ToDoubles(values->tensor(i)));
      if (first.empty()) first = results;
      EXPECT_TRUE(results == first) << count << " threads, run " << run;
    }
  }
  return results;
}

// Returns the tolerance, relative to the larger of 1 and the expected value.
inline double Tolerance(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 1e-13;
    case DType::kF32:
      return 2e-6;
    case DType::kBf16:
      return 8e-3;
    case DType::kF16:
      return 1e-3;
    default:
      return 0;
  }
}

inline void ExpectNear(const std::vector<double>& got, const std::vector<double>& want, double tolerance,
                       const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_LE(std::abs(got[i] - want[i]), tolerance * std::max(1.0, std::abs(want[i])))
        << what << ", element " << i << ": " << got[i] << " instead of " << want[i];
  }
}

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_STEP_VALUES_H_
