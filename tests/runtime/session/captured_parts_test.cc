// Steps that cannot be captured run between the captures of their neighbours (Step::capture_limit).
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/device/loop_step.h"
#include "sinter/runtime/session/session.h"
#include "sinter/tests/runtime/device_plans.h"
#include "sinter/tests/runtime/fake_gpu.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {
namespace {

using ::testing::Each;

constexpr uint32_t kNumbers = 64;

// y = 2 x, 4 x; z = y + 1 by `step`; w = 2 z, 4 z.
TestPlan PlanAround(const std::string& step) {
  TestPlan plan;
  plan.UseDevices({Device::Gpu(0)});
  TestFunction f(plan, "f");
  const auto arena = [&] { return f.Arena(DType::kF32, {kNumbers}); };
  const uint32_t x = f.Input("x", DType::kF32, {kNumbers});
  const auto doubled = [&](uint32_t from) {
    const uint32_t to = arena();
    f.GpuKernel("add_f32", {from, from}, {to}, kNumbers);
    return to;
  };
  const uint32_t y = doubled(doubled(x)), z = arena();
  f.GpuKernel(step, {y}, {z}, kNumbers);
  f.Output("w", doubled(doubled(z)));
  return plan;
}

// Runs the function several times. The runs of `profile`, if any, come last.
void ExpectRuns(Session& session, Profile* profile) {
  for (int run = 1; run <= 5; ++run) {
    const float x = static_cast<float>(run);
    absl::StatusOr<Outputs> out = session.Run("f", {{"x", Filled(kNumbers, x)}}, run > 3 ? profile : nullptr);
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_THAT(*(*out)["w"].Span<float>(), Each(4 * (4 * x + 1))) << run;
  }
}

TEST(CapturedPartsTest, AStepThatWaitsSplitsACapture) {
  FakeGpus gpus;
  absl::StatusOr<Session> session = gpus.MakeSession(PlanAround("waiting_f32"));
  ASSERT_TRUE(session.ok()) << session.status();
  ExpectRuns(*session, nullptr);
  EXPECT_EQ(gpus[0].counts().captures, 2);
  EXPECT_EQ(gpus[0].counts().launches, 2 * 4);
  // Five steps of the first run, four that are captured once, and in later runs the one that waits.
  EXPECT_EQ(gpus[0].counts().steps, 5 + 4 + 4);
}

TEST(CapturedPartsTest, AStepThatAllocatesDoesNot) {
  FakeGpus gpus;
  absl::StatusOr<Session> session = gpus.MakeSession(PlanAround("allocating_f32"));
  ASSERT_TRUE(session.ok()) << session.status();
  ExpectRuns(*session, nullptr);
  EXPECT_EQ(gpus[0].counts().captures, 1);
  EXPECT_EQ(gpus[0].counts().launches, 4);
}

// A thread launches a graph in less time than a kernel, so a kernel that is short is captured alone.
TEST(CapturedPartsTest, AShortKernelAloneIsCaptured) {
  for (const uint32_t numbers : {kNumbers, 1u << 20}) {
    TestPlan plan;
    plan.UseDevices({Device::Gpu(0)});
    TestFunction f(plan, "f");
    const uint32_t x = f.Input("x", DType::kF32, {numbers}), y = f.Arena(DType::kF32, {numbers});
    f.GpuKernel("add_f32", {x, x}, {y}, numbers);
    f.Output("y", y);
    FakeGpus gpus;
    absl::StatusOr<Session> session = gpus.MakeSession(plan);
    ASSERT_TRUE(session.ok()) << session.status();
    for (int run = 0; run < 3; ++run) {
      absl::StatusOr<Outputs> out = session->Run("f", {{"x", Filled(numbers, 2)}});
      ASSERT_TRUE(out.ok()) << out.status();
      EXPECT_THAT(*(*out)["y"].Span<float>(), Each(4));
    }
    EXPECT_EQ(gpus[0].counts().captures, numbers == kNumbers ? 1 : 0);
  }
}

TEST(CapturedPartsTest, ProfilesTimeEveryStep) {
  FakeGpus gpus;
  absl::StatusOr<Session> session = gpus.MakeSession(PlanAround("waiting_f32"));
  ASSERT_TRUE(session.ok()) << session.status();
  Profile profile;
  ExpectRuns(*session, &profile);
  EXPECT_EQ(profile.runs, 2);
  ASSERT_EQ(profile.steps.size(), 5u);
  // The library's step is two pieces of work.
  for (size_t i = 0; i < profile.steps.size(); ++i) {
    EXPECT_NEAR(profile.steps[i].seconds_min, FakeGpu::kSecondsOfWork * (i == 2 ? 2 : 1), 1e-9) << i;
  }
  EXPECT_EQ(gpus[0].counts().captures, 4);
}

// The body of a loop that runs this kernel, or an inner loop that does.
CaptureLimit LimitOfLoop(const std::string& kernel, bool has_guard, bool is_nested) {
  TestPlan plan;
  plan.UseDevices({Device::Gpu(0)});
  fb::LoopArgumentT argument;
  {
    TestFunction f(plan, plan.table.fragments, "inner");
    const uint32_t x = f.Parameter(DType::kF32, {kNumbers}, true);
    f.GpuKernel(kernel, {x}, {x}, kNumbers);
  }
  if (is_nested) {
    TestFunction f(plan, plan.table.fragments, "outer");
    const uint32_t x = f.Parameter(DType::kF32, {kNumbers}, true);
    f.Loop(0, 2, {argument}, {}, {x});
  }
  TestFunction f(plan, "f");
  fb::StepT& step = f.Loop(is_nested ? 1 : 0, 3, {argument}, {}, {f.Arena(DType::kF32, {kNumbers})});
  if (has_guard) step.body.AsLoopStep()->guard = 0;
  const std::string bytes = plan.Bytes();
  const fb::Plan& table = *fb::GetPlan(bytes.data());
  const auto allocator = *CachingAllocator::Create(std::make_unique<HostMemory>(Device::Cpu(0)));
  FakeGpu gpu(Device::Gpu(0), allocator.get());
  const absl::StatusOr<std::unique_ptr<Step>> loop =
      MakeLoopStep(table, *table.functions()->Get(0)->steps()->Get(0), gpu);
  SINTER_CHECK(loop.ok()) << loop.status();
  return (*loop)->capture_limit();
}

TEST(CapturedPartsTest, LoopsHaveTheLimitsOfTheirSteps) {
  for (const bool is_nested : {false, true}) {
    for (const bool has_guard : {false, true}) {
      EXPECT_EQ(LimitOfLoop("library_f32", has_guard, is_nested), CaptureLimit::kAnywhere);
      EXPECT_EQ(LimitOfLoop("allocating_f32", has_guard, is_nested),
                has_guard ? CaptureLimit::kNowhere : CaptureLimit::kNotInConditions);
      EXPECT_EQ(LimitOfLoop("waiting_f32", has_guard, is_nested), CaptureLimit::kNowhere);
    }
  }
}

}  // namespace
}  // namespace sinter
