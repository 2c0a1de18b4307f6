// Runs single steps on gpu:0 in all ways and compares the bits; tests skip without a GPU.
//
//   class MyTest : public GpuTest {};
//   TEST_F(MyTest, Copies) {
//     fb::CopyStepT copy;
//     copy.bytes = 24;
//     const HostTensor x = MakeTensor(DType::kF32, {6}, RandomValues(6, 1));
//     EXPECT_EQ(RunOnGpu(MakeStepPlan(copy), {&x}, {DType::kF32, {6}}), ToDoubles(x));
//   }
#ifndef SINTER_TESTS_RUNTIME_CUDA_GPU_STEPS_H_
#define SINTER_TESTS_RUNTIME_CUDA_GPU_STEPS_H_

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/cuda/cuda_runtime.h"
#include "sinter/runtime/cuda/driver/cuda_devices.h"
#include "sinter/tests/runtime/step_values.h"

namespace sinter {

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const absl::Status status = CudaAvailable(); !status.ok()) GTEST_SKIP() << status.message();
    ASSERT_TRUE(Shared().ok()) << Shared().status();
  }
  // The runtime of gpu:0. All tests of a program share it, because the context and the libraries' handles are
  // slow to create.
  DeviceRuntime& gpu() { return **Shared(); }

  static const absl::StatusOr<std::unique_ptr<DeviceRuntime>>& Shared() {
    static const auto* const shared =
        new absl::StatusOr<std::unique_ptr<DeviceRuntime>>(MakeCudaRuntime(Device::Gpu(0)));
    return *shared;
  }

  // Runs the plan's only step twice, and once more captured, if it can be. The bits must be the same.
  std::vector<double> RunOnGpu(const fb::PlanT& plan, const std::vector<const HostTensor*>& inputs,
                               const TensorType& output);
  absl::StatusOr<std::vector<double>> TryOnGpu(const fb::PlanT& plan,
                                               const std::vector<const HostTensor*>& inputs,
                                               const TensorType& output) {
    return TryOnGpu(plan, inputs, std::vector<TensorType>{output});
  }
  // Returns the values of all outputs, one behind the other.
  absl::StatusOr<std::vector<double>> TryOnGpu(const fb::PlanT& plan,
                                               const std::vector<const HostTensor*>& inputs,
                                               const std::vector<TensorType>& outputs);
  // Returns the error of MakeStep, or OK.
  absl::Status MakeError(const fb::PlanT& plan);
};

// Returns a plan with one function, one step and one source line. It does not describe inputs and outputs,
// because no step reads their descriptions.
template <typename Body>
fb::PlanT MakeStepPlan(const Body& body, uint32_t inputs = 1, uint32_t outputs = 1) {
  fb::PlanT plan;
  auto location = std::make_unique<fb::SourceLocationT>();
  location->file = "model.cc";
  location->line = 12;
  plan.locations.push_back(std::move(location));
  auto step = std::make_unique<fb::StepT>();
  step->name = "step";
  step->body.Set(Body(body));
  for (uint32_t i = 0; i < inputs; ++i) step->inputs.push_back(i);
  for (uint32_t i = 0; i < outputs; ++i) step->outputs.push_back(inputs + i);
  step->locations = {0};
  auto function = std::make_unique<fb::FunctionT>();
  function->name = "f";
  function->steps.push_back(std::move(step));
  plan.functions.push_back(std::move(function));
  return plan;
}

// A plan packed as bytes, the form that a runtime reads.
class PackedPlan {
 public:
  explicit PackedPlan(const fb::PlanT& plan) { builder_.Finish(fb::Plan::Pack(builder_, &plan)); }
  const fb::Plan& plan() const { return *fb::GetPlan(builder_.GetBufferPointer()); }
  const fb::Step& step() const { return *plan().functions()->Get(0)->steps()->Get(0); }

 private:
  flatbuffers::FlatBufferBuilder builder_;
};

// Returns values from -1 to 1 with more bits than any tested type has. MakeTensor rounds them to its type.
inline std::vector<double> FullValues(int64_t count, int seed) {
  std::mt19937_64 random(static_cast<uint64_t>(seed));
  std::uniform_real_distribution<double> distribution(-1, 1);
  std::vector<double> values(static_cast<size_t>(count));
  for (double& value : values) value = distribution(random);
  return values;
}

// A sum, and the sum of the absolute values, to which rounding errors are proportional.
struct Sum {
  double value = 0;
  double magnitude = 0;
  void Add(double matmul) {
    value += matmul;
    magnitude += matmul < 0 ? -matmul : matmul;
  }
};

// Allowed relative errors: of a result of the type, and of a sum of products.
struct SumTolerance {
  double result;
  double sum;
};
inline SumTolerance ToleranceOfSums(DType dtype, bool is_tf32) {
  switch (dtype) {
    case DType::kF64:
      return {2e-16, 1e-14};
    case DType::kBf16:
      return {4e-3, 2e-6};
    case DType::kF16:
      return {5e-4, 2e-6};
    default:
      // tf32 rounds each operand to 11 significant bits: an error of 2^-11, half a unit in the last place,
      // for each.
      return {1e-7, is_tf32 ? 1.1e-3 : 2e-6};
  }
}

void ExpectSums(const std::vector<double>& got, const std::vector<Sum>& want, SumTolerance tolerance,
                const std::string& what);

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_CUDA_GPU_STEPS_H_
