#include "sinter/tools/predict/predicted_memory.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "sinter/runtime/session/session.h"
#include "sinter/tests/runtime/collective_plans.h"
#include "sinter/tests/runtime/mesh_plans.h"
#include "sinter/tests/runtime/test_plan.h"
#include "sinter/tests/runtime/training_plans.h"
#include "sinter/tools/predict/measured_steps.h"

namespace sinter {
namespace {

TEST(PredictedMemoryTest, MemoryIsThatOfASession) {
  TestPlan made = MeshPlan({1, 1}, Device::Cpu());
  made.UseTestKernels();
  const Plan plan = *made.Make();
  const std::vector<tools::PredictedMemory> predicted = tools::PredictMemory(plan.table(), 1000);
  absl::StatusOr<Session> session = Session::Create(plan.Share());
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_EQ(predicted.size(), 1u);
  const auto rounded = [](int64_t bytes) { return (static_cast<uint64_t>(bytes) + 511) / 512 * 512; };
  EXPECT_EQ(predicted[0].arena, rounded(session->memory().arena));
  EXPECT_EQ(predicted[0].variables, rounded(session->memory().variables));
  EXPECT_EQ(predicted[0].libraries, 0u) << "a CPU's libraries take no workspace of a device";
}

// The scores of 8 of 32 examples stay below 256 MiB.
TEST(PredictedMemoryTest, TheGradientOfAttentionKeepsScores) {
  TestPlan made;
  made.UseDevices({Device::Gpu(0)});
  TestFunction f(made, "f");
  fb::AttentionStepT step;
  step.dtype = fb::DType::BF16, step.packed = step.causal = step.backward = true, step.batch = 32;
  step.queries = step.keys = 1024, step.heads = step.key_heads = 12, step.width = 64, step.scale = 0.125;
  const auto tensor = [&] { return f.Arena(DType::kBf16, {32, 1024, 12, 64}); };
  const uint32_t stats = f.Arena(DType::kF32, {32, 12, 1024});
  const uint32_t packed = f.Arena(DType::kBf16, {32, 1024, 3, 12, 64});
  f.Attention(step, {packed, tensor(), stats, tensor()}, {f.Arena(DType::kBf16, {32, 1024, 3, 12, 64})});
  const absl::StatusOr<Plan> plan = made.Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(tools::PredictMemory(plan->table(), 1000)[0].libraries, uint64_t{8} * 12 * 1024 * 1024 * 2);
  EXPECT_EQ(tools::PredictMemory(plan->table(), 1e9)[0].libraries, uint64_t{1'000'000'000});
  tools::MeasuredSteps measured;
  measured.library_bytes[0] = 5000;
  const tools::PredictedMemory memory = tools::PredictMemory(plan->table(), 1e9, &measured)[0];
  EXPECT_EQ(memory.libraries, 5120u) << "what a session takes replaces the estimate";
  EXPECT_FALSE(memory.is_estimated);
  measured.library_bytes.clear();
  EXPECT_TRUE(tools::PredictMemory(plan->table(), 1e9, &measured)[0].is_estimated);
  const Plan of_kernels = *TrainingPlan({Device::Gpu(0), Device::Gpu(1)}, 64, /*with_copy=*/false).Make();
  EXPECT_EQ(tools::PredictMemory(of_kernels.table(), 1e9)[0].libraries, 0u) << "no library computes a step";
}

// A product in the body of a loop, and none outside of it.
TEST(PredictedMemoryTest, BodiesOfLoopsCallLibraries) {
  TestPlan made;
  made.UseDevices({Device::Gpu(0)});
  {
    TestFunction body(made, made.table.fragments, "body");
    fb::MatmulStepT step;
    step.m = step.n = step.k = 2, step.batch = 1, step.dtype = fb::DType::F32;
    const uint32_t a = body.Parameter(DType::kF32, {2, 2}), b = body.Parameter(DType::kF32, {2, 2});
    body.Matmul(step, {a, b}, {body.Parameter(DType::kF32, {2, 2}, true)});
  }
  TestFunction f(made, "f");
  const uint32_t x = f.Input("x", DType::kF32, {2, 2}), y = f.Arena(DType::kF32, {2, 2});
  f.Arena(DType::kF32, {16});  // The loop's workspace begins behind it.
  const auto at = [](uint32_t operand) {
    fb::LoopArgumentT argument;
    argument.operand = operand;
    return argument;
  };
  f.Loop(0, 3, {at(0), at(0), at(1)}, {x}, {y});
  f.Output("y", y);
  const absl::StatusOr<Plan> plan = made.Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(tools::PredictMemory(plan->table(), 1000)[0].libraries, 1000u);
}

// GPUs that write into each other's memory keep terms of large sums.
TEST(PredictedMemoryTest, LargeSumsOfGpusTakeMemory) {
  CollectiveCase c{.members = 2, .sizes = {1 << 20}, .device_kind = DeviceKind::kGpu};
  const Plan sum = *CollectivePlan(c).Make();
  const tools::PredictedMemory memory = tools::PredictMemory(sum.table(), 0)[0];
  EXPECT_EQ(memory.exchanges, uint64_t{2} << 20);
  EXPECT_EQ(memory.total(), memory.arena + memory.variables + memory.inputs + memory.exchanges);
  c.device_kind = DeviceKind::kCpu;
  EXPECT_EQ(tools::PredictMemory(CollectivePlan(c).Make()->table(), 0)[0].exchanges, 0u);
}

}  // namespace
}  // namespace sinter
