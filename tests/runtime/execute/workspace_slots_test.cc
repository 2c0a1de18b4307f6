#include "sinter/runtime/execute/workspace_slots.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/session/session.h"
#include "sinter/tests/runtime/device_plans.h"
#include "sinter/tests/runtime/fake_gpu.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {
namespace {

using ::testing::Each;

constexpr size_t kMiB = size_t{1} << 20;

// Returns which steps before `step` it comes after: those in `before`.
std::vector<bool> After(size_t step, const std::set<uint32_t>& before) {
  std::vector<bool> comes_after(step);
  for (const uint32_t earlier : before) comes_after[earlier] = true;
  return comes_after;
}

TEST(WorkspaceSlotsTest, AChainHasOneSlot) {
  WorkspaceSlots slots(100);
  EXPECT_EQ(slots.Take(0, 100, After(0, {})), std::nullopt);
  EXPECT_EQ(slots.Take(2, 10, After(2, {0, 1})), 0u);
  EXPECT_EQ(slots.Take(3, 100, After(3, {0, 1, 2})), 2u);
  EXPECT_EQ(slots.bytes(), 100u);
  for (const uint32_t step : {0u, 2u, 3u}) EXPECT_EQ(slots.OffsetOf(step), 0u);
}

TEST(WorkspaceSlotsTest, OthersHaveSlotsAsLargeAsTheyNeed) {
  WorkspaceSlots slots(2000);
  EXPECT_EQ(slots.Take(0, 100, After(0, {})), std::nullopt);
  EXPECT_EQ(slots.Take(1, 600, After(1, {})), std::nullopt);
  EXPECT_EQ(slots.Take(2, 2000, After(2, {0})), 0u);
  // Both slots are free; the step takes the small one and leaves the large one.
  EXPECT_EQ(slots.Take(3, 700, After(3, {0, 1, 2})), 1u);
  EXPECT_EQ(slots.OffsetOf(2), 0u);
  EXPECT_EQ(slots.OffsetOf(1), 2048u);
  EXPECT_EQ(slots.OffsetOf(3), 2048u);
  EXPECT_EQ(slots.bytes(), 2048u + 1024u);
}

TEST(WorkspaceSlotsTest, WhereNoneIsLeftTheOldestIsWaitedFor) {
  WorkspaceSlots slots(1);
  for (uint32_t step = 0; step < WorkspaceSlots::kSlots; ++step) {
    EXPECT_EQ(slots.Take(step, 1, After(step, {})), std::nullopt);
  }
  EXPECT_EQ(slots.Take(4, 1, After(4, {})), 0u);
  EXPECT_EQ(slots.Take(5, 1, After(5, {3})), 3u);
  EXPECT_EQ(slots.Take(6, 1, After(6, {})), 1u);
}

TEST(WorkspaceSlotsTest, FurtherSlotsHaveABound) {
  WorkspaceSlots slots(200 * kMiB);
  EXPECT_EQ(slots.Take(0, 200 * kMiB, After(0, {})), std::nullopt);
  EXPECT_EQ(slots.Take(1, 40 * kMiB, After(1, {})), std::nullopt);
  // Another 40 MiB exceed the bound; 24 MiB remain.
  EXPECT_EQ(slots.Take(2, 40 * kMiB, After(2, {})), 0u);
  EXPECT_EQ(slots.Take(3, 24 * kMiB, After(3, {})), std::nullopt);
  EXPECT_EQ(slots.Take(4, 1, After(4, {})), 1u);
  // Only the first slot is large enough, although others are free.
  EXPECT_EQ(slots.Take(5, 100 * kMiB, After(5, {0, 1, 3, 4})), 2u);
  EXPECT_EQ(slots.bytes(), 200 * kMiB + WorkspaceSlots::kMaxMoreBytes);
}

constexpr int64_t kOperandSize = 300;

// Returns a plan with a chain of library steps. Beside each of them another library step of a different size
// runs, whose result is an output.
TestPlan ChainPlan(int64_t length) {
  TestPlan plan;
  plan.UseDevices({Device::Gpu(0)});
  TestFunction f(plan, "f");
  uint32_t last = f.Input("x", DType::kF32, {kOperandSize});
  std::vector<uint32_t> beside;
  for (int64_t i = 0; i < length; ++i) {
    const int64_t size = kOperandSize - 40 * i;
    const uint32_t next = f.Arena(DType::kF32, {kOperandSize});
    beside.push_back(f.Arena(DType::kF32, {size}));
    f.GpuKernel("library_f32", {last}, {next}, kOperandSize);
    f.GpuKernel("library_f32", {last}, {beside.back()}, static_cast<uint32_t>(size));
    last = next;
  }
  f.Output("last", last);
  for (size_t i = 0; i < beside.size(); ++i) f.Output("y" + std::to_string(i), beside[i]);
  return plan;
}

// True if one piece comes after the other, in either order.
bool AreOrdered(const std::vector<FakeGpu::Branch>& pieces, uint32_t a, uint32_t b) {
  const auto [earlier, later] = std::minmax(a, b);
  const std::function<bool(uint32_t)> comes_after = [&](uint32_t piece) {
    return std::ranges::any_of(pieces[piece].before,
                               [&](uint32_t k) { return k == earlier || comes_after(k); });
  };
  return comes_after(later);
}

TEST(WorkspaceSlotsTest, StepsOfASessionRunBesideEachOtherInSlotsOfTheirOwn) {
  constexpr int64_t kLength = 6;
  const TestPlan plan = ChainPlan(kLength);
  FakeGpus gpus;
  Session session = *gpus.MakeSession(plan);
  const SessionMemory memory = session.memory(Device::Gpu(0));
  // The chain, and 300, 260 and 220 floats beside it.
  EXPECT_EQ(memory.library_workspace, 1536 + 1536 + 1536 + 1024);
  EXPECT_EQ(memory.used, memory.predicted);
  EXPECT_EQ(memory.used, gpus.allocator(0).UsedBytes());
  for (int run = 0; run < 4; ++run) {
    absl::StatusOr<Outputs> out = session.Run("f", {{"x", Filled(kOperandSize, static_cast<float>(run))}});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_THAT(*(*out)["last"].Span<float>(), Each(static_cast<float>(run + kLength)));
    for (int i = 0; i < kLength; ++i) {
      EXPECT_THAT(*(*out)["y" + std::to_string(i)].Span<float>(), Each(static_cast<float>(run + i + 1)));
    }
  }
  const std::vector<FakeGpu::Branch>& pieces = gpus[0].branches();
  ASSERT_EQ(pieces.size(), size_t{2 * kLength});
  size_t unordered = 0;
  for (uint32_t a = 0; a < pieces.size(); ++a) {
    for (uint32_t b = 0; b < a; ++b) {
      const auto one = pieces[a].library_workspace, other = pieces[b].library_workspace;
      ASSERT_FALSE(one.empty() || other.empty());
      const bool overlap = one.data() < other.data() + other.size() && other.data() < one.data() + one.size();
      const bool ordered = AreOrdered(pieces, a, b);
      EXPECT_TRUE(ordered || !overlap) << b << " and " << a;
      unordered += ordered ? 0 : 1;
    }
  }
  EXPECT_GT(unordered, 10u);
}

TEST(WorkspaceSlotsTest, FunctionsShareTheMemoryAndProfilesRunInOrder) {
  TestPlan plan = ChainPlan(3);
  TestFunction g(plan, "g");
  const uint32_t x = g.Input("x", DType::kF32, {kOperandSize}), y = g.Arena(DType::kF32, {kOperandSize});
  g.GpuKernel("library_f32", {x}, {y}, kOperandSize);
  g.GpuKernel("library_f32", {y}, {y}, kOperandSize);
  g.Output("y", y);
  FakeGpus gpus;
  Session session = *gpus.MakeSession(plan);
  EXPECT_EQ(session.memory(Device::Gpu(0)).library_workspace, 1536 + 1536 + 1536 + 1024);
  const HostTensor one = Filled(kOperandSize, 1);
  Profile profile;
  for (int run = 0; run < 6; ++run) {
    absl::StatusOr<Outputs> out = session.Run("f", {{"x", one}}, run % 2 == 0 ? nullptr : &profile);
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_THAT(*(*out)["last"].Span<float>(), Each(4.0f));
    out = session.Run("g", {{"x", one}});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_THAT(*(*out)["y"].Span<float>(), Each(3.0f));
  }
}

}  // namespace
}  // namespace sinter
