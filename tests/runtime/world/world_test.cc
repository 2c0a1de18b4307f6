// Worlds of several processes, run as threads of one, and the guarantees of their sessions.
#include "sinter/runtime/world/world.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/session/session.h"
#include "sinter/runtime/world/world_agreement.h"
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

// MPI has the tags 0 to 32767 at least, and its transport uses one itself.
TEST(WorldTagTest, CountsUpToWhatEveryMpiHas) {
  EXPECT_EQ(World::TagOf(0), 0u);
  EXPECT_EQ(World::TagOf(32766), 32766u);
  EXPECT_EQ(World::TagOf(32767), 0u);
  EXPECT_EQ(World::TagOf(2 * 32767 + 5), 5u);
}

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
        EXPECT_EQ(status, absl::UnavailableError(
                              "rank 1 does not answer in all_reduce, function \"f\" (rank 1 has exchanged "
                              "nothing yet; rank 0 waits in all_reduce, function \"f\")"));
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
                  "a rank that is sent to does not answer in send_recv (rank 1 has exchanged nothing yet; "
                  "rank 0 waits in send_recv)");
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
    // The receiver detects the mismatch. Both ranks get its message.
    EXPECT_EQ(
        MessageOf(world.Exchange({&transfer, 1}, {sends ? "reduce" : "all_reduce", 0})),
        "rank 1 sends 8 bytes where rank 0 expects 4 (all ranks must run the same functions in the same "
        "order) in all_reduce");
  });
}

TEST(LocalWorldTest, RanksAtDifferentRuns) {
  RunInWorld(2, [](World& world) {
    int64_t value = 0;
    const World::Transfer transfer = {1 - world.rank(), &value, 8, world.rank() == 1};
    EXPECT_EQ(
        MessageOf(world.Exchange({&transfer, 1}, {.name = "sum", .tag = 1, .run = 2 + world.rank()})),
        "rank 1 is at run 3, sum, where rank 0 is at run 2 (all ranks must run the same functions in the "
        "same order) in sum");
  });
}

// A rank gives up while another takes a message from a third rank, whose call returns at that moment.
TEST(LocalWorldTest, NobodyReadsOrWritesMemoryOfACallThatHasReturned) {
  constexpr int kRounds = 300;
  std::atomic<int> late = 0;
  for (int round = 0; round < kRounds; ++round) {
    RunInWorld(4, [&](World& world) {
      if (world.rank() == 3) return world.Abort("gone");
      int mine = 1, theirs = 0, others = 0;
      const World::Transfer to_1 = {1, &mine, sizeof(int), true}, from_3 = {3, &theirs, sizeof(int), false},
                            from_0 = {0, &others, sizeof(int), false},
                            from_2 = {2, &theirs, sizeof(int), false};
      const std::vector<std::vector<World::Transfer>> transfers = {{to_1, from_3}, {from_2, from_0}, {to_1}};
      const absl::Status status = world.Exchange(transfers[static_cast<size_t>(world.rank())], {"x", 1});
      // After the call returns, the memory belongs to the caller again.
      if (world.rank() == 0 && !status.ok()) mine = 77;
      if (others == 77) ++late;
    });
  }
  EXPECT_EQ(late, 0);
}

TEST(WorldSessionTest, AllHaveTheSamePlan) {
  RunInWorld(3, [](World& world) {
    TestPlan plan = PlanOnDevices({Device::Cpu(0), Device::Cpu(1), Device::Cpu(2)});
    if (world.rank() == 2) plan.table.producer = "another";
    const absl::Status status = plan.MakeSession({.threads = 1, .world = &world}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(
        MessageOf(status),
        ::testing::MatchesRegex("rank 2 has another plan than rank 0: its hash is [0-9a-f]*..., and that "
                                "of rank 0 [0-9a-f]*...: give every process the same plan"));
  });
}

TEST(WorldSessionTest, AllHaveTheSameLibrary) {
  EXPECT_THAT(std::string(LibraryVersion()), ::testing::MatchesRegex("[0-9.]+, plans of version [0-9]+"));
  RunInWorld(3, [](World& world) {
    const Plan plan = *PlanOnDevices({Device::Cpu(0), Device::Cpu(1), Device::Cpu(2)}).Make();
    EXPECT_TRUE(AgreeOnPlan(&world, plan).ok());
    EXPECT_EQ(
        AgreeOnPlan(&world, plan,
                    world.rank() == 1 ? "0.2.0, plans of version 6" : "0.1.0, plans of version 5")
            .status(),
        absl::InvalidArgumentError(
            "rank 1 has version 0.2.0, plans of version 6 of Sinter, and rank 0 has 0.1.0, plans of version "
            "5: start the same program, with the same libraries, on every machine"));
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

// sum += 2 x on the second device, which copies x from the first. Every process has x, so no process sends
// it.
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

// "f" and "g": y = x0 + x1 over two devices. "local" has no collective: z = x0 + x0 on the first device.
TestPlan TwoSums(Device first, Device second) {
  TestPlan plan;
  plan.UseDevices({first, second});
  for (const char* name : {"f", "g"}) {
    TestFunction f(plan, name);
    fb::CollectiveStepT step;
    step.dtype = fb::DType::F32, step.channel = 1, step.group = {0, 1}, step.elements = {4};
    std::vector<uint32_t> x, y;
    for (uint32_t d : {0u, 1u}) x.push_back(f.Input(d == 0 ? "x0" : "x1", DType::kF32, {4}, d));
    for (uint32_t d : {0u, 1u}) y.push_back(f.Arena(DType::kF32, {4}, d));
    for (uint32_t d : {0u, 1u}) {
      step.rank = d;
      f.CollectiveLayout(step, {x[d]}, {y[d]});
    }
    f.Output("y", y[0]);
    f.table().outputs[0]->replicas = {y[1]};
  }
  TestFunction local(plan, "local");
  const uint32_t x = local.Input("x0", DType::kF32, {4}), z = local.Arena(DType::kF32, {4});
  AddSum(local, plan, x, x, z);
  local.Output("z", z);
  return plan;
}

constexpr char kAdvice[] = " (all ranks must run the same functions in the same order)";

// If a rank runs another function or another session, no rank gets a sum.
TEST(OutOfStepTest, NoSumOfOtherRunsIsReturned) {
  for (const bool is_other_session : {false, true}) {
    RunInWorld(
        2,
        [&](World& world) {
          const TestPlan plan = TwoSums(Device::Cpu(0), Device::Cpu(1));
          Session first = *plan.MakeSession({.threads = 1, .world = &world});
          Session second = *plan.MakeSession({.threads = 1, .world = &world});
          const HostTensor x = Filled(4, static_cast<float>(world.rank() + 1));
          absl::StatusOr<Outputs> out = first.Run("f", {{"x0", x}, {"x1", x}});
          ASSERT_TRUE(out.ok()) << out.status();
          EXPECT_THAT(*(*out)["y"].Span<float>(), Each(3.0f));
          const bool differs = world.rank() == 1;
          out = (is_other_session && differs ? second : first)
                    .Run(!is_other_session && differs ? "g" : "f", {{"x0", x}, {"x1", x}});
          ASSERT_TRUE(absl::IsUnavailable(out.status())) << out.status();
          const std::string message = MessageOf(out.status());
          EXPECT_THAT(message, HasSubstr(kAdvice));
          if (is_other_session) {
            EXPECT_THAT(message, ::testing::AllOf(HasSubstr("at run 2 of session 1"),
                                                  HasSubstr("run 1 of session 2")));
          } else {
            EXPECT_THAT(message,
                        ::testing::ContainsRegex(
                            "at run 2, all_reduce, function \"[fg]\", step 0 \\(.*\\), where rank [01] "
                            "is at run 2.* in all_reduce, function \"[gf]\""));
          }
          EXPECT_TRUE(absl::IsUnavailable(first.Run("f", {{"x0", x}, {"x1", x}}).status()));
        },
        std::chrono::milliseconds(5000));
  }
}

// A rank may run a function without collectives alone; other ranks do not wait.
TEST(OutOfStepTest, RunsThatExchangeNothingDoNotCount) {
  RunInWorld(2, [](World& world) {
    Session session = *TwoSums(Device::Cpu(0), Device::Cpu(1)).MakeSession({.threads = 1, .world = &world});
    const HostTensor x = Filled(4, 1);
    for (int run = 0; run < 3; ++run) {
      if (world.rank() == 0) ASSERT_TRUE(session.Run("local", {{"x0", x}}).ok());
      absl::StatusOr<Outputs> out = session.Run("f", {{"x0", x}, {"x1", x}});
      ASSERT_TRUE(out.ok()) << out.status();
    }
  });
}

// For every kind of wrong call, on CPUs and GPUs: the other ranks get an error. They neither wait nor mistake
// the next run for this one.
TEST(OutOfStepTest, ARunThatFailsEndsTheWorld) {
  const HostTensor x = Filled(4, 1), wrong = Filled(3, 1);
  const std::vector<std::pair<std::string, std::function<absl::Status(Session&)>>> failures = {
      {"cannot run \"f\": input \"x0\" is f32[4], of which rank 0 may give rows 0 to 4 alone, f32[4], and "
       "f32[3] is given",
       [&](Session& session) { return session.Run("f", {{"x0", wrong}, {"x1", x}}).status(); }},
      {"cannot run \"f\": input \"x1\", f32[4], is missing",
       [&](Session& session) { return session.Run("f", {{"x0", x}}).status(); }},
      {"cannot run \"f\": input \"x0\", f32[4], is missing",
       [&](Session& session) { return session.Bind("f")->Run(); }},
      {"the plan has no function \"train\"",
       [&](Session& session) { return session.Run("train", {{"x0", x}}).status(); }},
  };
  for (const DeviceKind kind : {DeviceKind::kCpu, DeviceKind::kGpu}) {
    const bool is_cpu = kind == DeviceKind::kCpu;
    for (const auto& [message, fail] : failures) {
      RunInWorld(
          2,
          [&, is_cpu](World& world) {
            FakeGpus gpus;
            absl::StatusOr<Session> session = gpus.MakeSession(
                is_cpu ? TwoSums(Device::Cpu(0), Device::Cpu(1)) : TwoSums(Device::Gpu(0), Device::Gpu(1)),
                {.threads = 1, .world = &world});
            ASSERT_TRUE(session.ok()) << session.status();
            if (world.rank() == 0) {
              const absl::Status own = fail(*session);
              EXPECT_THAT(MessageOf(own), HasSubstr(message));
              EXPECT_FALSE(absl::IsUnavailable(own));
            }
            const absl::Status status = session->Run("f", {{"x0", x}, {"x1", x}}).status();
            EXPECT_TRUE(absl::IsUnavailable(status)) << status;
            EXPECT_THAT(MessageOf(status),
                        ::testing::AllOf(HasSubstr("rank 0 has given up"), HasSubstr(message)));
          },
          std::chrono::milliseconds(5000));
    }
  }
}

// GPUs exchange data without the world, so their processes compare the runs first.
TEST(OutOfStepTest, GpusCompareTheirRunsBefore) {
  RunInWorld(
      2,
      [](World& world) {
        FakeGpus gpus;
        Session session = *gpus.MakeSession(TwoSums(Device::Gpu(0), Device::Gpu(1)), {.world = &world});
        const HostTensor x = Filled(4, 1);
        const absl::Status status =
            session.Run(world.rank() == 0 ? "f" : "g", {{"x0", x}, {"x1", x}}).status();
        EXPECT_TRUE(absl::IsUnavailable(status)) << status;
        EXPECT_THAT(
            MessageOf(status),
            ::testing::MatchesRegex("rank [01] is at run 1, the start of a run, function \"[fg]\", where "
                                    "rank [01] is at run 1 \\(.*\\) in the start of a run, function "
                                    "\"[fg]\""));
        EXPECT_EQ(gpus[0].counts().collectives, 0);
      },
      std::chrono::milliseconds(5000));
}

// w += 2 x on the first device, before or after a copy to the second device. The copy fails because the other
// rank is gone.
TEST(InDoubtTest, VariablesOfARunThatFailedMidway) {
  for (const bool writes_before : {true, false}) {
    RunInWorld(2, [&](World& world) {
      TestPlan plan;
      plan.UseDevices({Device::Cpu(0), Device::Cpu(1)});
      plan.AddVariable("w", DType::kF32, {4}, 1, 0);
      TestFunction f(plan, "train");
      const uint32_t x = f.Input("x", DType::kF32, {4});
      const uint32_t y = f.Arena(DType::kF32, {4}), there = f.Arena(DType::kF32, {4}, 1);
      AddSum(f, plan, x, x, y);
      if (writes_before) AddSum(f, plan, f.Variable(0), y, f.Variable(0));
      f.Copy(y, there);
      if (!writes_before) AddSum(f, plan, f.Variable(0), y, f.Variable(0));
      f.Output("there", there);
      Session session = *plan.MakeSession({.threads = 1, .world = &world});
      if (world.rank() == 1) return world.Abort("it ends");
      EXPECT_TRUE(absl::IsUnavailable(session.Run("train", {{"x", Filled(4, 1)}}).status()));
      if (!writes_before) {
        EXPECT_THAT(*session.ReadVariable("w")->Span<float>(), Each(1.0f));
        return;
      }
      const std::string message =
          "a run of \"train\" failed midway, and variable \"w\" may hold a part of its result: write it "
          "again "
          "(LoadCheckpoint does), or call ResetVariables";
      EXPECT_EQ(session.ReadVariable("w").status(), absl::FailedPreconditionError(message));
      EXPECT_EQ(session.ViewVariable("w").status(), absl::FailedPreconditionError(message));
      ASSERT_TRUE(session.WriteVariable("w", Filled(4, 5)).ok());
      EXPECT_THAT(*session.ReadVariable("w")->Span<float>(), Each(5.0f));
    });
  }
}

}  // namespace
}  // namespace sinter
