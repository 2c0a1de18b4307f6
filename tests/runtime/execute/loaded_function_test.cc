// Counts the heap allocations of a run with the program's own malloc.
#include "sinter/runtime/execute/loaded_function.h"

#include <cstdlib>

#include "gtest/gtest.h"
#include "sinter/tests/runtime/counted_malloc.h"
#include "sinter/tests/runtime/step_values.h"

namespace sinter {
namespace {

class AllocationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!kCountsAllocations) GTEST_SKIP() << "sanitizers bring their own malloc";
    const int64_t before = allocations;
    void* volatile memory = std::malloc(1);
    std::free(memory);
    ASSERT_GT(allocations, before);
  }

  // Returns the allocations per run of the only function, after some warm-up runs: the average over
  // BoundFunction::Run with and without a profile, and Session::Run.
  static int64_t CountOf(const TestPlan& plan, const std::vector<const HostTensor*>& inputs) {
    Session session = *plan.MakeSession({.threads = 2});
    const std::string function = session.plan().Functions()[0].name;
    BoundFunction bound = *session.Bind(function);
    std::vector<Argument> arguments;
    for (size_t i = 0; i < inputs.size(); ++i) arguments.emplace_back(bound.inputs()[i].name, *inputs[i]);
    for (const Argument& argument : arguments) EXPECT_TRUE(bound.Set(argument).ok());
    EXPECT_TRUE(bound.Run().ok());
    EXPECT_TRUE(session.Run(function, arguments).ok());
    Profile profile;
    EXPECT_TRUE(bound.Run(&profile).ok());
    const int64_t before = allocations;
    for (int i = 0; i < 3; ++i) {
      if (!bound.Run().ok()) std::abort();
      if (!bound.Run(&profile).ok()) std::abort();
      for (const Argument& argument : arguments) {
        if (!bound.Set(argument).ok()) std::abort();
      }
      if (!session.Run(function, arguments).ok()) std::abort();
    }
    const int64_t count = allocations - before;
    EXPECT_EQ(count % 9, 0);
    return count / 9;
  }
};

TEST_F(AllocationTest, KernelsCopiesAndTheCatalogueAllocateNothing) {
  TestPlan plan;
  plan.AddVariable("w", DType::kF32, {4096}, 1);
  TestFunction f(plan, "f");
  const uint32_t x = f.Input("x", DType::kF32, {4096}), y = f.Arena(DType::kF32, {4096});
  f.Kernel("add_f32", {x, f.Variable(0)}, {y}, 4096, 16, 128);
  f.Copy(y, f.Variable(0));
  f.Catalog("cumsum", {1, 64, 64, 1, 0}, {y}, {y});
  f.Output("y", y);
  f.Output("x", x);
  const HostTensor tensor = *HostTensor::Zeros(DType::kF32, {4096});
  EXPECT_EQ(CountOf(plan, {&tensor}), 0);
  const std::vector<float> shifted(4097);
  const HostTensor unaligned = *HostTensor::View(DType::kF32, {4096}, shifted.data() + 1);
  EXPECT_EQ(CountOf(plan, {&unaligned}), 0);
}

TEST_F(AllocationTest, SeveralDevicesAllocateNothing) {
  setenv("SINTER_CPU_DEVICES", "2", 1);
  TestPlan plan;
  plan.UseDevices({Device::Cpu(0), Device::Cpu(1)});
  plan.AddVariable("w", DType::kF32, {4096}, 1, 1);
  TestFunction f(plan, "f");
  const uint32_t x = f.Input("x", DType::kF32, {4096}), y = f.Arena(DType::kF32, {4096});
  const uint32_t far = f.Arena(DType::kF32, {4096}, 1);
  f.Kernel("add_f32", {x, x}, {y}, 4096, 16, 128);
  f.Copy(y, far);
  f.Kernel("add_f32", {far, f.Variable(0)}, {f.Variable(0)}, 4096, 16, 128);
  f.Copy(f.Variable(0), y);
  f.Output("y", y);
  f.Output("w", f.Variable(0));
  const HostTensor tensor = *HostTensor::Zeros(DType::kF32, {4096});
  EXPECT_EQ(CountOf(plan, {&tensor}), 0);
  unsetenv("SINTER_CPU_DEVICES");
}

TestPlan MatmulPlan(DType dtype) {
  TestPlan plan;
  TestFunction f(plan, "f");
  fb::MatmulStepT s;
  s.batch = 1, s.m = 100, s.n = 120, s.k = 90, s.dtype = static_cast<fb::DType>(dtype);
  const uint32_t a = f.Input("a", dtype, {100, 90}), b = f.Input("b", dtype, {90, 120}),
                 y = f.Arena(dtype, {100, 120});
  f.Matmul(s, {a, b}, {y});
  f.Output("y", y);
  return plan;
}

TEST_F(AllocationTest, CollectivesAllocateNothing) {
  setenv("SINTER_CPU_DEVICES", "2", 1);
  TestPlan plan;
  plan.UseDevices({Device::Cpu(0), Device::Cpu(1)});
  TestFunction f(plan, "f");
  const uint32_t x = f.Input("x", DType::kF32, {4096});
  fb::CollectiveStepT step;
  step.dtype = fb::DType::F32, step.group = {0, 1}, step.elements = {4096};
  for (const uint32_t device : {0u, 1u}) {
    step.rank = device;
    const uint32_t sum = f.Arena(DType::kF32, {4096}, device);
    f.CollectiveLayout(step, {device == 0 ? x : f.InputOn(x, 1)}, {sum});
    f.Output(device == 0 ? "here" : "there", sum);
  }
  const HostTensor tensor = *HostTensor::Zeros(DType::kF32, {4096});
  EXPECT_EQ(CountOf(plan, {&tensor}), 0);
  unsetenv("SINTER_CPU_DEVICES");
}

TEST_F(AllocationTest, OwnKernelsAllocateNothing) {
  const HostTensor a = *HostTensor::Zeros(DType::kF64, {100, 90}),
                   b = *HostTensor::Zeros(DType::kF64, {90, 120});
  EXPECT_EQ(CountOf(MatmulPlan(DType::kF64), {&a, &b}), 0);
  TestPlan plan;
  TestFunction f(plan, "f");
  fb::PoolStepT s;
  s.dtype = fb::DType::F32, s.batch = 8, s.channels = 4, s.in_size = {28, 28}, s.out_size = {14, 14},
  s.window = {2, 2};
  s.strides = {2, 2}, s.padding = {0, 0, 0, 0};
  const uint32_t x = f.Input("x", DType::kF32, {8, 4, 28, 28}), y = f.Arena(DType::kF32, {8, 4, 14, 14});
  f.Pool(s, {x}, {y, f.Arena(DType::kU8, {8, 4, 14, 14})});
  const HostTensor images = *HostTensor::Zeros(DType::kF32, {8, 4, 28, 28});
  EXPECT_EQ(CountOf(plan, {&images}), 0);
}

// oneDNN builds a map of its arguments in each execute call; Sinter cannot change that.
TEST_F(AllocationTest, OneDnnAllocatesItsArgumentsOnly) {
  const HostTensor a = *HostTensor::Zeros(DType::kF32, {100, 90}),
                   b = *HostTensor::Zeros(DType::kF32, {90, 120});
  EXPECT_LE(CountOf(MatmulPlan(DType::kF32), {&a, &b}), 8);
}

}  // namespace
}  // namespace sinter
