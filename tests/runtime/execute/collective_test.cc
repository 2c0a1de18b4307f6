// Collectives on CPU devices, in one process and several: every kind and type, compared with
// collective_plans.h.
#include "sinter/runtime/plan/collective.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/cpu/combine.h"
#include "sinter/runtime/cpu/host_collective.h"
#include "sinter/runtime/execute/launch_order.h"
#include "sinter/runtime/session/session.h"
#include "sinter/tests/runtime/collective_plans.h"
#include "sinter/tests/runtime/test_plan.h"
#include "sinter/tests/runtime/world_threads.h"

namespace sinter {
namespace {

using Kind = fb::CollectiveKind;
using ::testing::ElementsAre;

// Returns sizes that include odd, uneven and empty tensors.
std::vector<int64_t> SizesFor(Kind kind, uint32_t members, int64_t scale) {
  const CollectiveTraits& traits = TraitsOf(kind);
  if (traits.has_list) return {5 * scale, 0, 70 * scale};
  if (traits.parts == CollectiveTraits::Parts::kNone) return {5 * scale * members};
  const std::vector<int64_t> parts = {3 * scale, 0, 70 * scale, 2};
  return {parts.begin(), parts.begin() + members};
}

std::vector<CollectiveCase> CasesOf(DType dtype, uint32_t members, int64_t scale) {
  std::vector<CollectiveCase> cases;
  for (const Kind kind : fb::EnumValuesCollectiveKind()) {
    if (kind == Kind::SendRecv && members != 2) continue;
    for (const fb::ReduceOp combine : fb::EnumValuesReduceOp()) {
      if (TraitsOf(kind).combines ? !CanCombine(combine, dtype) : combine != fb::ReduceOp::Sum) continue;
      const bool is_rooted = kind == Kind::Reduce || kind == Kind::Broadcast || kind == Kind::RingShift;
      cases.push_back({.kind = kind,
                       .combine = combine,
                       .dtype = dtype,
                       .members = members,
                       .sizes = SizesFor(kind, members, scale),
                       .root = is_rooted ? members - 1 : 0});
    }
  }
  return cases;
}

class CollectiveTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("SINTER_CPU_DEVICES", "4", 1); }
  void TearDown() override { unsetenv("SINTER_CPU_DEVICES"); }

  static void ExpectHere(const CollectiveCase& c, int threads, bool is_wild) {
    absl::StatusOr<Session> session = CollectivePlan(c).MakeSession({.threads = threads, .poison = true});
    ASSERT_TRUE(session.ok()) << c.Name() << ": " << session.status();
    for (const uint32_t seed : {1u, 2u}) ExpectCollective(*session, c, seed, is_wild);
  }

  static void ExpectInWorld(const CollectiveCase& c, int processes) {
    const TestPlan plan = CollectivePlan(c);
    RunInWorld(processes, [&](World& world) {
      absl::StatusOr<Session> session = plan.MakeSession({.threads = 1, .world = &world, .poison = true});
      ASSERT_TRUE(session.ok()) << c.Name() << ": " << session.status();
      for (const uint32_t seed : {3u, 4u}) {
        ExpectCollective(*session, c, seed, /*is_wild=*/true, /*has_all=*/false);
      }
    });
  }
};

class CollectiveTypesTest : public CollectiveTest, public ::testing::WithParamInterface<int> {};

TEST_P(CollectiveTypesTest, EveryKindAmongOneToFour) {
  for (uint32_t members = 1; members <= 4; ++members) {
    for (const CollectiveCase& c : CasesOf(static_cast<DType>(GetParam()), members, 1)) {
      ExpectHere(c, 1, /*is_wild=*/false);
    }
  }
}

TEST_P(CollectiveTypesTest, AnyValuesByAnyNumberOfThreads) {
  for (const CollectiveCase& c : CasesOf(static_cast<DType>(GetParam()), 3, 700)) {
    ExpectHere(c, 2, /*is_wild=*/true);
  }
}

TEST_P(CollectiveTypesTest, SameBitsInOneTwoAndFourProcesses) {
  for (const int processes : {1, 2, 4}) {
    for (const CollectiveCase& c : CasesOf(static_cast<DType>(GetParam()), 4, 3)) ExpectInWorld(c, processes);
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, CollectiveTypesTest, ::testing::Range(0, kNumDTypes),
                         [](const ::testing::TestParamInfo<int>& info) {
                           return std::string(DTypeName(static_cast<DType>(info.param)));
                         });

TEST_F(CollectiveTest, SendAndReceiveBetweenProcesses) {
  ExpectInWorld({.kind = Kind::SendRecv, .members = 2, .sizes = {33}}, 2);
  ExpectInWorld({.kind = Kind::SendRecv, .members = 2, .sizes = {33}, .is_reversed = true}, 2);
}

TEST_F(CollectiveTest, InPlaceFlatAndInAnyOrderOfDevices) {
  for (const Kind kind :
       {Kind::AllReduce, Kind::Reduce, Kind::Broadcast, Kind::AllGather, Kind::ReduceScatter}) {
    for (int bits = 1; bits < 8; ++bits) {
      const bool is_list = kind != Kind::AllGather && kind != Kind::ReduceScatter;
      const CollectiveCase c = {.kind = kind,
                                .dtype = bits % 2 == 0 ? DType::kBf16 : DType::kF32,
                                .members = 4,
                                .sizes = SizesFor(kind, 4, 40),
                                .root = is_list ? 2u : 0u,
                                .is_in_place = (bits & 1) != 0,
                                .is_flat = is_list && (bits & 2) != 0,
                                .is_reversed = (bits & 4) != 0};
      ExpectHere(c, 2, /*is_wild=*/true);
      for (const int processes : {2, 4}) ExpectInWorld(c, processes);
    }
  }
}

TEST_F(CollectiveTest, ARingShiftsByAnyNumberOfPlaces) {
  for (const uint32_t places : {0u, 1u, 2u, 3u}) {
    const CollectiveCase c = {
        .kind = Kind::RingShift, .members = 4, .sizes = {37}, .root = places, .is_reversed = places == 1};
    ExpectHere(c, 2, /*is_wild=*/true);
    for (const int processes : {2, 4}) ExpectInWorld(c, processes);
  }
}

// Devices outside the group take no part.
TEST_F(CollectiveTest, AmongSomeOfTheDevices) {
  for (const Kind kind : fb::EnumValuesCollectiveKind()) {
    const CollectiveCase pair = {
        .kind = kind, .members = 2, .sizes = SizesFor(kind, 2, 30), .first_device = 2};
    ExpectHere(pair, 1, /*is_wild=*/true);
    for (const int processes : {2, 4}) ExpectInWorld(pair, processes);
  }
}

// More than one chunk per process, and a remainder of odd size.
TEST_F(CollectiveTest, LargeTensorsTravelInChunks) {
  const int64_t large = static_cast<int64_t>(kCollectiveChunkBytes / 4 * 5 / 2) + 99;
  for (const Kind kind : {Kind::AllReduce, Kind::Reduce}) {
    for (const bool is_in_place : {false, true}) {
      ExpectInWorld(
          {.kind = kind, .members = 2, .sizes = {large, 3, 0}, .root = 1, .is_in_place = is_in_place}, 2);
    }
  }
  ExpectInWorld({.kind = Kind::ReduceScatter, .members = 2, .sizes = {5, large}}, 2);
}

TEST_F(CollectiveTest, NothingToExchange) {
  for (const Kind kind : fb::EnumValuesCollectiveKind()) {
    const bool is_in_parts = kind == Kind::AllGather || kind == Kind::ReduceScatter;
    const CollectiveCase c = {.kind = kind, .sizes = std::vector<int64_t>(is_in_parts ? 2 : 1, 0)};
    ExpectHere(c, 1, false);
    ExpectInWorld(c, 2);
    if (!TraitsOf(kind).has_list) continue;
    ExpectHere({.kind = kind, .sizes = {}}, 1, false);
  }
}

TEST_F(CollectiveTest, MemoryForWhatComesFromOthersIsAccountedFor) {
  const CollectiveCase c = {.members = 4, .sizes = {4096}};
  EXPECT_EQ(CollectivePlan(c).MakeSession()->memory().library_workspace, 0);
  RunInWorld(2, [&](World& world) {
    const absl::StatusOr<Session> session = CollectivePlan(c).MakeSession({.threads = 1, .world = &world});
    ASSERT_TRUE(session.ok()) << session.status();
    // Memory for two remote members: the half of the elements that this process combines.
    EXPECT_EQ(session->memory().library_workspace, 2 * 2048 * 4);
  });
}

TEST_F(CollectiveTest, GroupsOfOneProcess) {
  const CollectiveCase c = {.members = 4};
  const absl::StatusOr<Plan> plan = CollectivePlan(c).Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  const fb::Function& function = *plan->table().functions()->Get(0);
  const std::vector<CollectiveGroup> all = LocalGroups(function, {.first = 0, .count = 4});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_THAT(all[0].steps, ElementsAre(0, 1, 2, 3));
  const std::vector<CollectiveGroup> some =
      LocalGroups(function, {.first = 2, .count = 2, .is_alone = false});
  ASSERT_EQ(some.size(), 1u);
  EXPECT_THAT(some[0].steps, ElementsAre(2, 3));
  const CollectiveLayout made = CollectiveLayout::Of(function, 1);
  EXPECT_THAT(made.group, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(made.starts, ElementsAre(0, 10));
  EXPECT_EQ(CollectiveName(made.kind), "all_reduce");
}

// Four copies, then one launch with the members of this process.
TEST_F(CollectiveTest, LaunchesOfOneProcess) {
  const Plan plan = *CollectivePlan({.members = 4, .is_in_place = true}).Make();
  const fb::Function& function = *plan.table().functions()->Get(0);
  const std::vector<bool> is_host(4, true);
  const auto steps_of = [](const LaunchOrder& order) {
    std::vector<std::vector<uint32_t>> steps;
    for (const Launch& launch : order.launches) steps.push_back(launch.steps);
    return steps;
  };
  const LaunchOrder all = MakeLaunchOrder(plan.table(), function, is_host);
  EXPECT_THAT(steps_of(all), ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2), ElementsAre(3),
                                         ElementsAre(4, 5, 6, 7)));
  EXPECT_TRUE(all.launches[4].is_collective);
  EXPECT_EQ(all.launches[4].device, 0u);
  const LocalDevices local = {.first = 2, .count = 2, .is_alone = false};
  const LaunchOrder some = MakeLaunchOrder(plan.table(), function, is_host, &local);
  EXPECT_THAT(steps_of(some), ElementsAre(ElementsAre(2), ElementsAre(3), ElementsAre(6, 7)));
  EXPECT_EQ(some.launches[2].device, 2u);
}

TEST_F(CollectiveTest, AProfileHasOneEntryAMember) {
  const CollectiveCase c = {.members = 2, .sizes = {1000}};
  Session session = *CollectivePlan(c).MakeSession();
  BoundFunction f = *session.Bind("f");
  const std::map<std::string, HostTensor> inputs = CollectiveInputs(c, 1);
  for (const auto& [name, tensor] : inputs) ASSERT_TRUE(f.SetInput(name, tensor).ok());
  Profile profile;
  for (int run = 0; run < 2; ++run) ASSERT_TRUE(f.Run(&profile).ok());
  ASSERT_EQ(profile.steps.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(profile.steps[i].kind, "all_reduce");
    EXPECT_EQ(profile.steps[i].device, Device::Cpu(static_cast<int32_t>(i)));
    EXPECT_GT(profile.steps[i].seconds_total, 0);
  }
  EXPECT_EQ(profile.steps[0].seconds_total, profile.steps[1].seconds_total);
}

}  // namespace
}  // namespace sinter
