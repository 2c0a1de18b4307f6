#include "sinter/runtime/cpu/host_runtime.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/host/thread_pool.h"
#include "sinter/runtime/memory/process_allocator.h"
#include "sinter/tests/runtime/fake_gpu.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

class HostRuntimeTest : public ::testing::Test {
 protected:
  ThreadPool pool_{2};
  StepContext context_ = {.pool = &pool_, .scratch_stride = 128};
  HostRuntime cpu_{Device::Cpu(1), context_, *ProcessAllocator(Device::Cpu(1))};
};

TEST_F(HostRuntimeTest, SaysWhatItIs) {
  EXPECT_EQ(cpu_.device(), Device::Cpu(1));
  EXPECT_EQ(&cpu_.allocator(), *ProcessAllocator(Device::Cpu(1)));
  EXPECT_TRUE(cpu_.is_host_memory());
  EXPECT_EQ(cpu_.alignment(), 64);
}

TEST_F(HostRuntimeTest, CopiesAtOnceAndCounts) {
  const std::vector<int> from = {1, 2, 3};
  std::vector<int> to(3), back(3), copy(3);
  ASSERT_TRUE(cpu_.Upload(to.data(), from.data(), 12).ok());
  EXPECT_THAT(to, ElementsAre(1, 2, 3));
  ASSERT_TRUE(cpu_.Download(back.data(), to.data(), 8).ok());
  EXPECT_THAT(back, ElementsAre(1, 2, 0));
  HostRuntime other(Device::Cpu(0), context_, *ProcessAllocator());
  ASSERT_TRUE(cpu_.WaitFor(other).ok());
  ASSERT_TRUE(cpu_.CopyFrom(other, copy.data(), from.data(), 4).ok());
  EXPECT_THAT(copy, ElementsAre(1, 0, 0));
  ASSERT_TRUE(cpu_.Fill(to.data(), 0xff, 12).ok());
  EXPECT_THAT(to, Each(-1));
  EXPECT_TRUE(cpu_.Synchronize().ok());
  EXPECT_EQ(cpu_.traffic().uploaded, 12);
  EXPECT_EQ(cpu_.traffic().downloaded, 8);
  EXPECT_EQ(cpu_.traffic().copied, 4);
}

TEST_F(HostRuntimeTest, WaitsForDevicesThatAreBehind) {
  FakeGpu gpu(Device::Gpu(0), nullptr);
  std::vector<int> value = {0};
  const int one = 1;
  ASSERT_TRUE(gpu.Upload(value.data(), &one, 4).ok());
  EXPECT_EQ(value[0], 0);
  ASSERT_TRUE(cpu_.WaitFor(gpu).ok());
  EXPECT_EQ(value[0], 1);
  const int two = 2;
  ASSERT_TRUE(gpu.Upload(value.data(), &two, 4).ok());
  int copy = 0;
  ASSERT_TRUE(cpu_.CopyFrom(gpu, &copy, value.data(), 4).ok());
  EXPECT_EQ(copy, 2);
}

TEST_F(HostRuntimeTest, CapturesNothing) {
  bool called = false;
  const auto captured = cpu_.Capture([&] {
    called = true;
    return absl::OkStatus();
  });
  ASSERT_TRUE(captured.ok());
  EXPECT_EQ(*captured, nullptr);
  EXPECT_FALSE(called);
}

TEST_F(HostRuntimeTest, NeedsScratchMemoryOnceAKernelWantsIt) {
  TestPlan plan;
  TestFunction f(plan, "f");
  const uint32_t x = f.Arena(DType::kF32, {4});
  f.Copy(x, f.Arena(DType::kF32, {4}));
  const Plan made = *plan.Make();
  const fb::Plan& table = made.table();
  const fb::Step& copy = *table.functions()->Get(0)->steps()->Get(0);
  absl::StatusOr<std::unique_ptr<Step>> step = cpu_.MakeStep(table, copy);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(cpu_.ScratchBytes(), 0u);
  const std::vector<float> from = {1, 2, 3, 4};
  std::vector<float> to(4);
  void* const buffers[] = {const_cast<float*>(from.data()), to.data()};
  ASSERT_TRUE(
      (*step)
          ->Run({.buffers = buffers, .workspace = nullptr, .scratch = nullptr, .library_workspace = nullptr})
          .ok());
  EXPECT_THAT(to, ElementsAre(1, 2, 3, 4));

  TestPlan with_kernel;
  TestFunction g(with_kernel, "g");
  g.Kernel("add_f32", {}, {g.Arena(DType::kF32, {4})}, 4, 1, 100);
  const Plan second = *with_kernel.Make();
  // Fails, because the runtime has loaded no code. MakeStep checks this after it has read the kernel's
  // scratch size.
  EXPECT_FALSE(cpu_.MakeStep(second.table(), *second.table().functions()->Get(0)->steps()->Get(0)).ok());
  EXPECT_EQ(cpu_.ScratchBytes(), 256u);
}

}  // namespace
}  // namespace sinter
