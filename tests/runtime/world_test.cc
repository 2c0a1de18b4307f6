// Worlds of several processes, as threads of one, and what their sessions make sure of.
#include "sinter/runtime/world.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/local_devices.h"
#include "sinter/runtime/session.h"
#include "sinter/runtime/world_agreement.h"
#include "sinter/tests/runtime/device_plans.h"
#include "sinter/tests/runtime/fake_gpu.h"
#include "sinter/tests/runtime/test_plan.h"
#include "sinter/tests/runtime/world_threads.h"

namespace sinter {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

TEST(LocalWorldTest, MessagesArriveInOrder) {
  RunInWorld(3, [](World& world) {
    const int rank = world.rank();
    std::vector<int> sent = {rank, rank + 10}, got(6, -1);
    std::vector<World::Transfer> transfers;
    for (int peer = 0; peer < 3; ++peer) {
      if (peer == rank) continue;
      for (size_t i : {0u, 1u}) {
        transfers.push_back({peer, &sent[i], sizeof(int), true});
        transfers.push_back({peer, &got[static_cast<size_t>(peer) * 2 + i], sizeof(int), false});
      }
    }
    for (int round = 0; round < 20; ++round) {
      ASSERT_TRUE(world.Exchange(transfers, {"test", 3}).ok());
      for (int peer = 0; peer < 3; ++peer) {
        if (peer == rank) continue;
        EXPECT_EQ(got[static_cast<size_t>(peer) * 2], peer);
        EXPECT_EQ(got[static_cast<size_t>(peer) * 2 + 1], peer + 10);
      }
    }
    std::vector<int> all(3);
    ASSERT_TRUE(world
                    .AllGather(std::as_bytes(std::span(sent).first(1)),
                               std::as_writable_bytes(std::span(all)), {"gathering", 4})
                    .ok());
    EXPECT_THAT(all, ElementsAre(0, 1, 2));
    EXPECT_TRUE(world.Check().ok());
  });
}

TEST(LocalWorldTest, WhoDoesNotAnswerIsNamed) {
  RunInWorld(
      2,
      [](World& world) {
        if (world.rank() == 1) return;
        int value = 0;
        const World::Transfer transfer = {1, &value, sizeof(value), false};
        const absl::Status status = world.Exchange({&transfer, 1}, {"all_reduce, function \"f\"", 0});
        EXPECT_EQ(status, absl::UnavailableError("rank 1 does not answer in all_reduce, function \"f\""));
        EXPECT_EQ(world.Exchange({}, {"next", 0}), status);
        EXPECT_EQ(world.Check(), status);
      },
      std::chrono::milliseconds(20));
}

TEST(LocalWorldTest, NobodyTakesWhatIsSent) {
  RunInWorld(
      2,
      [](World& world) {
        if (world.rank() == 1) return;
        int value = 0;
        const World::Transfer transfer = {1, &value, sizeof(value), true};
        EXPECT_EQ(MessageOf(world.Exchange({&transfer, 1}, {"send_recv", 0})),
                  "a rank that is sent to does not answer in send_recv");
      },
      std::chrono::milliseconds(20));
}

TEST(LocalWorldTest, WhoGivesUpIsNamed) {
  RunInWorld(2, [](World& world) {
    if (world.rank() == 1) return world.Abort("no more data");
    int value = 0;
    const World::Transfer transfer = {1, &value, sizeof(value), false};
    EXPECT_EQ(MessageOf(world.Exchange({&transfer, 1}, {"test", 0})), "rank 1 has given up: no more data");
  });
}

TEST(LocalWorldTest, RanksThatExchangeDifferentThings) {
  RunInWorld(2, [](World& world) {
    int64_t value = 0;
    const bool sends = world.rank() == 1;
    const World::Transfer transfer = {1 - world.rank(), &value, sends ? 8u : 4u, sends};
    EXPECT_EQ(MessageOf(world.Exchange({&transfer, 1}, {sends ? "reduce" : "all_reduce", 0})),
              "rank 1 sends 8 bytes in reduce, and rank 0 expects 4 in all_reduce");
  });
}

TestPlan OnDevices(const std::vector<Device>& devices) {
  TestPlan plan;
  plan.UseDevices(devices);
  TestFunction f(plan, "f");
  f.Output("y", f.Arena(DType::kF32, {4}));
  return plan;
}

TEST(LocalDevicesTest, EqualBlocksInOrder) {
  const Plan plan = *OnDevices({Device::Gpu(0), Device::Gpu(1), Device::Gpu(2), Device::Gpu(3)}).Make();
  RunInWorld(2, [&](World& world) {
    const LocalDevices local = *LocalDevices::Of(plan.table(), &world);
    EXPECT_EQ(local.first, world.rank() == 0 ? 0u : 2u);
    EXPECT_EQ(local.count, 2u);
    EXPECT_FALSE(local.is_alone);
    EXPECT_EQ(local.Has(1), world.rank() == 0);
    EXPECT_EQ(local.Has(2), world.rank() == 1);
    EXPECT_EQ(local.RankOf(1), 0);
    EXPECT_EQ(local.RankOf(3), 1);
    EXPECT_EQ(local.NameOf(plan.table(), local.first + 1), Device::Gpu(1));
  });
  const LocalDevices alone = *LocalDevices::Of(plan.table(), nullptr);
  EXPECT_TRUE(alone.is_alone && alone.Has(3) && alone.RankOf(3) == 0);
  EXPECT_EQ(alone.NameOf(plan.table(), 3), Device::Gpu(3));
}

TEST(LocalDevicesTest, WhatCannotBeShared) {
  const Plan three = *OnDevices({Device::Cpu(0), Device::Cpu(1), Device::Cpu(2)}).Make();
  const Plan one = *OnDevices({Device::Cpu(0)}).Make();
  const Plan mixed = *OnDevices({Device::Cpu(0), Device::Gpu(0)}).Make();
  RunInWorld(2, [&](World& world) {
    EXPECT_EQ(
        LocalDevices::Of(three.table(), &world).status(),
        absl::InvalidArgumentError(
            "the plan runs on 3 devices, which 2 processes cannot share evenly: start as many processes "
            "as divide 3, or compile for a multiple of 2"));
    EXPECT_THAT(MessageOf(LocalDevices::Of(one.table(), &world).status()),
                HasSubstr("the plan runs on 1 device, which 2 processes"));
    EXPECT_THAT(MessageOf(LocalDevices::Of(mixed.table(), &world).status()),
                HasSubstr("the plan runs on cpu:0 and gpu:0: several processes share a plan of CPUs alone or "
                          "of GPUs alone"));
  });
}

TEST(WorldSessionTest, AllHaveTheSamePlan) {
  RunInWorld(3, [](World& world) {
    TestPlan plan = OnDevices({Device::Cpu(0), Device::Cpu(1), Device::Cpu(2)});
    if (world.rank() == 2) plan.table.producer = "another";
    const absl::Status status = plan.MakeSession({.threads = 1, .world = &world}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(
        MessageOf(status),
        ::testing::MatchesRegex("rank 2 has another plan than rank 0: its hash is [0-9a-f]*..., and that "
                                "of rank 0 [0-9a-f]*...: give every process the same plan"));
  });
}

TEST(WorldSessionTest, WhoeverFailsTellsTheOthers) {
  RunInWorld(2, [](World& world) {
    const TestPlan plan = TwoDevicesPlan(Device::Cpu(0), Device::Cpu(1));
    SessionOptions options = {.threads = 1, .world = &world};
    if (world.rank() == 1) options.memory_limit = MemoryLimit{.bytes = 1};
    const absl::Status status = plan.MakeSession(options).status();
    if (world.rank() == 1) {
      EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    } else {
      EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
      EXPECT_THAT(MessageOf(status), HasSubstr("rank 1 cannot create its session: the session needs"));
    }
  });
}

TEST(WorldSessionTest, CopiesBetweenProcesses) {
  RunInWorld(2, [](World& world) {
    absl::StatusOr<Session> session =
        OverwritingPlan(Device::Cpu(0), Device::Cpu(1), 100).MakeSession({.threads = 1, .world = &world});
    ASSERT_TRUE(session.ok()) << session.status();
    float sum = 0;
    for (int run = 0; run < 4; ++run) {
      absl::StatusOr<Outputs> out =
          session->Run(run % 2 == 0 ? "f" : "g", {{"x", Filled(100, static_cast<float>(run))}});
      ASSERT_TRUE(out.ok()) << out.status();
      const float y = static_cast<float>(4 * run);
      sum += y * 1.5f;
      if (world.rank() == 0) {
        EXPECT_THAT(*(*out)["y"].Span<float>(), Each(y));
      } else {
        EXPECT_THAT(*(*out)["sum"].Span<float>(), Each(sum));
      }
    }
  });
}

// sum += 2 x on the second device, which copies x from the first: every process has been given x, and sends none.
TEST(WorldSessionTest, InputsAreNotSent) {
  for (const DeviceKind kind : {DeviceKind::kCpu, DeviceKind::kGpu}) {
    const bool is_cpu = kind == DeviceKind::kCpu;
    const Device first = is_cpu ? Device::Cpu(0) : Device::Gpu(0),
                 second = is_cpu ? Device::Cpu(1) : Device::Gpu(1);
    TestPlan plan;
    plan.UseDevices({first, second});
    plan.AddVariable("sum", DType::kF32, {100}, 0, 1);
    TestFunction f(plan, "f");
    const uint32_t x = f.Input("x", DType::kF32, {100}), here = f.Arena(DType::kF32, {100});
    const uint32_t there = f.Arena(DType::kF32, {100}, 1), twice = f.Arena(DType::kF32, {100}, 1);
    AddSum(f, plan, x, x, here);
    f.Copy(x, there);
    AddSum(f, plan, there, there, twice);
    AddSum(f, plan, twice, f.Variable(0), f.Variable(0));
    f.Output("here", here);
    f.Output("sum", f.Variable(0));
    RunInWorld(2, [&](World& world) {
      FakeGpus gpus;
      absl::StatusOr<Session> session = gpus.MakeSession(plan, {.threads = 1, .world = &world});
      ASSERT_TRUE(session.ok()) << session.status();
      float sum = 0;
      for (int run = 1; run <= 4; ++run) {
        const float value = static_cast<float>(run);
        absl::StatusOr<Outputs> out = session->Run("f", {{"x", Filled(100, value)}});
        ASSERT_TRUE(out.ok()) << out.status();
        sum += 2 * value;
        EXPECT_THAT(*(*out)[world.rank() == 0 ? "here" : "sum"].Span<float>(),
                    Each(world.rank() == 0 ? 2 * value : sum));
      }
    });
  }
}

TEST(WorldSessionTest, GpusOfSeveralProcessesDoNotCopy) {
  RunInWorld(2, [](World& world) {
    FakeGpus gpus;
    const absl::Status status =
        gpus.MakeSession(TwoDevicesPlan(Device::Gpu(0), Device::Gpu(1)), {.threads = 1, .world = &world})
            .status();
    EXPECT_EQ(status, absl::UnimplementedError(
                          "function \"f\", step 1 (copy): it copies from gpu:0 of rank 0 to gpu:1 of rank 1: "
                          "between GPUs of several processes values move by collectives alone, such as send "
                          "and recv"));
  });
}

TEST(WorldSessionTest, WhoGivesUpBeforeTheFirstRun) {
  RunInWorld(
      2,
      [](World& world) {
        absl::StatusOr<Session> session =
            OverwritingPlan(Device::Cpu(0), Device::Cpu(1), 100).MakeSession({.threads = 1, .world = &world});
        ASSERT_TRUE(session.ok()) << session.status();
        if (world.rank() == 0) return world.Abort("its program ends");
        const HostTensor x = Filled(100, 1);
        EXPECT_EQ(
            session->Run("f", {{"x", x}}).status(),
            absl::UnavailableError("function \"f\", step 1 (copy): rank 0 has given up: its program ends"));
      },
      std::chrono::milliseconds(2000));
}

}  // namespace
}  // namespace sinter
