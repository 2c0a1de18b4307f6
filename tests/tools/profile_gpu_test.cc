// `sinter profile` on a GPU: its step times must agree with the time of the whole run.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/memory/device_info.h"
#include "sinter/tests/runtime/test_plan.h"
#include "sinter/tools/function_profile.h"
#include "sinter/tools/profile_text.h"

namespace sinter {
namespace {

using tools::FunctionProfile;
using tools::ProfiledStep;

class ProfileGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (NumGpus() == 0) GTEST_SKIP() << "this machine has 0 GPUs";
  }
};

// A plan of `count` copies of `floats` elements, which alternate between two tensors.
TestPlan CopiesPlan(int64_t floats, int count) {
  TestPlan plan;
  plan.UseDevices({Device::Gpu(0)});
  plan.AddVariable("v", DType::kF32, {floats}, 1);
  TestFunction f(plan, "f");
  uint32_t from = f.Variable(0);
  const uint32_t places[] = {f.Arena(DType::kF32, {floats}), f.Arena(DType::kF32, {floats})};
  for (int i = 0; i < count; ++i) {
    f.Copy(from, places[i % 2]).bytes = 8 * static_cast<double>(floats);
    from = places[i % 2];
  }
  f.Output("y", from);
  return plan;
}

FunctionProfile ProfileOf(const TestPlan& plan) {
  absl::StatusOr<Session> session = plan.MakeSession();
  EXPECT_TRUE(session.ok()) << session.status();
  BoundFunction f = *session->Bind("f");
  absl::StatusOr<FunctionProfile> profile = tools::ProfileFunction(*session, f, "f");
  EXPECT_TRUE(profile.ok()) << profile.status();
  std::cout << tools::ProfileText(*profile, 4);
  return *std::move(profile);
}

TEST_F(ProfileGpuTest, LargeStepsTakeWhatTheRunTakes) {
  const FunctionProfile profile = ProfileOf(CopiesPlan(1 << 26, 10));
  EXPECT_NEAR(profile.StepSeconds() / profile.run_seconds, 1, 0.1);
  EXPECT_NEAR(profile.marked_seconds / profile.run_seconds, 1, 0.1);
  for (const ProfiledStep& step : profile.steps) {
    EXPECT_EQ(step.bound.limit, "memory");
    EXPECT_NEAR(step.bound.seconds / step.seconds, 1, 0.25) << step.what;
  }
}

// A run of many small steps is mostly gaps between them. The cost of the events is measured, and most of it
// subtracted.
TEST_F(ProfileGpuTest, MostOfWhatMarksAddToSmallStepsIsTakenOff) {
  const FunctionProfile profile = ProfileOf(CopiesPlan(1 << 10, 200));
  EXPECT_GT(profile.seconds_per_event, 0);
  EXPECT_LT(profile.seconds_per_event, 1e-5);
  const double added = profile.marked_seconds - profile.run_seconds;
  EXPECT_NEAR(profile.StepSeconds(), profile.run_seconds, added / 2);
}

TEST_F(ProfileGpuTest, ALargeMatmulIsNearTheRoofline) {
  TestPlan plan;
  plan.UseDevices({Device::Gpu(0)});
  const int64_t n = 4096;
  plan.AddVariable("a", DType::kBf16, {n, n}, 1);
  plan.table.variables[0]->initializer->kind = fb::InitializerKind::Normal;
  plan.table.variables[0]->initializer->b = 1;
  TestFunction f(plan, "f");
  fb::MatmulStepT matmul;
  matmul.batch = 1, matmul.m = matmul.n = matmul.k = n, matmul.dtype = fb::DType::BF16;
  const uint32_t a = f.Variable(0), y = f.Arena(DType::kBf16, {n, n});
  fb::StepT& step = f.Matmul(matmul, {a, a}, {y});
  step.flops = 2 * static_cast<double>(n) * static_cast<double>(n * n);
  step.bytes = 6 * static_cast<double>(n * n);
  f.Output("y", y);
  const FunctionProfile profile = ProfileOf(plan);
  EXPECT_EQ(profile.steps[0].bound.limit, "compute");
  EXPECT_GT(profile.steps[0].bound.seconds / profile.steps[0].seconds, 0.6);
  EXPECT_LT(profile.steps[0].bound.seconds / profile.steps[0].seconds, 1.3);
}

}  // namespace
}  // namespace sinter
