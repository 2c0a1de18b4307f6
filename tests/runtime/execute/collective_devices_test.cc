// Collectives in sessions on fake GPUs, with one launching thread per GPU. These tests check the order of the
// work; they do not cover NCCL.
#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/tests/runtime/collective_plans.h"
#include "sinter/tests/runtime/fake_gpu.h"
#include "sinter/tests/runtime/training_plans.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;
using Kind = fb::CollectiveKind;

constexpr Device kFirstGpu = Device::Gpu(0), kSecondGpu = Device::Gpu(1), kThirdGpu = Device::Gpu(2);

TEST(CollectiveDevicesTest, EveryKindAmongGpus) {
  for (const uint32_t members : {1u, 2u, 3u}) {
    for (const Kind kind : fb::EnumValuesCollectiveKind()) {
      if (kind == Kind::SendRecv && members != 2) continue;
      CollectiveCase c{.kind = kind, .members = members, .device_kind = DeviceKind::kGpu};
      c.sizes = {6 * members};
      if (kind == Kind::AllGather || kind == Kind::ReduceScatter) {
        c.sizes.clear();
        for (uint32_t i = 0; i < members; ++i) c.sizes.push_back(3 + i);
      }
      if (kind == Kind::RingShift) c.root = members - 1;
      for (const bool is_reversed : {false, true}) {
        c.is_reversed = is_reversed;
        FakeGpus gpus;
        absl::StatusOr<Session> session = gpus.MakeSession(CollectivePlan(c), {.poison = true});
        ASSERT_TRUE(session.ok()) << c.Name() << ": " << session.status();
        for (const uint32_t seed : {1u, 2u, 3u}) ExpectCollective(*session, c, seed);
      }
    }
  }
}

TEST(CollectiveDevicesTest, TrainsOnTwoAndThree) {
  for (const bool with_copy : {false, true}) {
    for (const std::vector<Device>& devices :
         {std::vector{kFirstGpu, kSecondGpu}, std::vector{kThirdGpu, kFirstGpu, kSecondGpu}}) {
      FakeGpus gpus;
      absl::StatusOr<Session> session = gpus.MakeSession(TrainingPlan(devices, 100, with_copy));
      ASSERT_TRUE(session.ok()) << session.status();
      ExpectTraining(*session, static_cast<int>(devices.size()), 100, 30);
    }
  }
}

TEST(CollectiveDevicesTest, EachDeviceHasOneGraphWithItsCollectives) {
  FakeGpus gpus;
  absl::StatusOr<Session> session = gpus.MakeSession(TrainingPlan({kFirstGpu, kSecondGpu}, 10, false));
  ASSERT_TRUE(session.ok()) << session.status();
  ExpectTraining(*session, 2, 10, 5);
  for (const int gpu : {0, 1}) {
    const FakeGpu::Counts& counts = gpus[gpu].counts();
    EXPECT_EQ(counts.captures, 1);
    EXPECT_EQ(counts.launches, 4);
    EXPECT_EQ(counts.waits, 0);
    EXPECT_EQ(counts.collectives, 5 * 2);
    // One wait before the first reader of each collective. The steps in between, which compute b, need no
    // wait.
    EXPECT_EQ(counts.collective_waits, 5 * 2);
  }
}

TEST(CollectiveDevicesTest, CpusTrainAlike) {
  setenv("SINTER_CPU_DEVICES", "2", 1);
  absl::StatusOr<Session> session = TrainingPlan({Device::Cpu(0), Device::Cpu(1)}, 100, true).MakeSession();
  unsetenv("SINTER_CPU_DEVICES");
  ASSERT_TRUE(session.ok()) << session.status();
  ExpectTraining(*session, 2, 100, 10);
}

TEST(CollectiveDevicesTest, ProfilesRunAllMembersTogether) {
  FakeGpus gpus;
  absl::StatusOr<Session> session = gpus.MakeSession(TrainingPlan({kFirstGpu, kSecondGpu}, 10, true));
  ASSERT_TRUE(session.ok()) << session.status();
  Profile profile;
  // Runs before the first capture and after it.
  ExpectTraining(*session, 2, 10, 3, &profile);
  ExpectTraining(*session, 2, 10, 3);
  ExpectTraining(*session, 2, 10, 3, &profile);
  EXPECT_EQ(profile.runs, 6);
  ASSERT_EQ(profile.steps.size(), 13u);
  for (const StepTimes& step : profile.steps) EXPECT_GT(step.seconds_min, 0) << step.name;
}

// If the session did not abort, the other device would wait for its member.
TEST(CollectiveDevicesTest, WhenOneDeviceFailsAllGiveUp) {
  FakeGpus gpus;
  absl::StatusOr<Session> session = gpus.MakeSession(TrainingPlan({kFirstGpu, kSecondGpu}, 10, false));
  ASSERT_TRUE(session.ok()) << session.status();
  ExpectTraining(*session, 2, 10, 1);
  EXPECT_TRUE(gpus[0].aborted().ok());
  gpus[1].BreakCapture(absl::InternalError("the graph is too large"));
  const HostTensor x = Filled(10, 1);
  const absl::Status status = session->Run("f", {{"x", x}}).status();
  EXPECT_TRUE(absl::IsInternal(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("function \"f\", steps 1 to"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("on gpu:1: the graph is too large"));
  EXPECT_EQ(gpus[0].aborted(), status);
  EXPECT_EQ(gpus[1].aborted(), status);
}

// Wrong arguments of a call do not abort the collectives.
TEST(CollectiveDevicesTest, AWrongCallEndsNoExchange) {
  FakeGpus gpus;
  absl::StatusOr<Session> session = gpus.MakeSession(TrainingPlan({kFirstGpu, kSecondGpu}, 10, false));
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_TRUE(absl::IsInvalidArgument(session->Run("f", {}).status()));
  EXPECT_TRUE(gpus[0].aborted().ok());
  ExpectTraining(*session, 2, 10, 3);
}

}  // namespace
}  // namespace sinter
