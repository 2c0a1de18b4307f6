// Sessions and threads: one thread at a time, no use after fork, and sessions that share a plan's memory.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/session/session.h"
#include "sinter/runtime/world/local_world.h"
#include "sinter/tests/runtime/device_plans.h"
#include "sinter/tests/runtime/fake_gpu.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

// GCC defines a macro for the thread sanitizer, clang supports __has_feature.
#if defined(__SANITIZE_THREAD__)
#define SINTER_TEST_TSAN true
#elif defined(__has_feature)
#define SINTER_TEST_TSAN __has_feature(thread_sanitizer)
#else
#define SINTER_TEST_TSAN false
#endif
constexpr bool kIsThreadSanitizer = SINTER_TEST_TSAN;

constexpr int64_t kSharedSize = 1000;

std::string SharingMessage(const absl::Status& status) { return std::string(status.message()); }

// predict: y = (x + w) + constant. train: w = w + x.
TestPlan ServedPlan(Device device = Device::Cpu()) {
  TestPlan plan;
  plan.UseDevices({device});
  plan.AddVariable("w", DType::kF32, {kSharedSize}, 2);
  const std::vector<float> constant(kSharedSize, 100);
  const uint64_t offset = plan.AddConstant(constant.data(), constant.size() * sizeof(float));
  {
    TestFunction f(plan, "predict");
    const uint32_t x = f.Input("x", DType::kF32, {kSharedSize});
    const uint32_t sum = f.Arena(DType::kF32, {kSharedSize}), y = f.Arena(DType::kF32, {kSharedSize});
    AddSum(f, plan, x, f.Variable(0), sum);
    AddSum(f, plan, sum, f.Buffer(fb::Space::Constant, 0, offset, DType::kF32, {kSharedSize}), y);
    f.Output("y", y);
  }
  TestFunction f(plan, "train");
  AddSum(f, plan, f.Variable(0), f.Input("x", DType::kF32, {kSharedSize}), f.Variable(0));
  return plan;
}

// Each call gives the caller's own result or an error, never the result of another thread.
TEST(SessionUseTest, TwoThreadsGetAnErrorOrTheirOwnResults) {
  Session session = *ServedPlan().MakeSession({.threads = 1});
  std::atomic<int> wrong = 0, refused = 0, right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const HostTensor x = Filled(kSharedSize, static_cast<float>(t));
      for (int i = 0; i < 300; ++i) {
        absl::StatusOr<Outputs> out = session.Run("predict", {{"x", x}});
        if (out.ok()) {
          ++right;
        } else if (absl::IsFailedPrecondition(out.status()) &&
                   SharingMessage(out.status()) ==
                       "the session is in use by another thread: give each thread a session of its own "
                       "(Session::Share)") {
          ++refused;
        } else {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(right + refused, 4 * 300);
  EXPECT_TRUE(session.Run("predict", {{"x", Filled(kSharedSize, 1)}}).ok());
}

// A run that waits for another rank is certainly in progress.
TEST(SessionUseTest, EveryCallIsRefusedDuringARun) {
  LocalWorld world(2);
  TestPlan plan = TwoDevicesPlan(Device::Cpu(0), Device::Cpu(1));
  std::optional<Session> first, second;
  std::thread other([&] { second = *plan.MakeSession({.threads = 1, .world = &world.rank(1)}); });
  first = *plan.MakeSession({.threads = 1, .world = &world.rank(0)});
  other.join();
  const HostTensor x = Filled(kTwoDevicesSize, 1), a = Filled(kTwoDevicesSize, 1);
  absl::Status ran;
  std::thread running([&] {
    do ran = first->Run("f", {{"x", x}}).status();
    while (absl::IsFailedPrecondition(ran));
  });
  // The run has begun when Synchronize fails. It cannot end before the second rank runs.
  absl::Status status;
  while (status.ok()) status = first->Synchronize();
  BoundFunction bound = *first->Bind("f");
  ASSERT_TRUE(bound.SetInput("x", x).ok());
  for (const absl::Status& refused :
       {status, first->Run("f", {{"x", x}}).status(), bound.Run(), first->ReadVariable("a").status(),
        first->ViewVariable("a").status(), first->WriteVariable("a", a), first->ResetVariables(),
        first->ReadLog("loss").status(), first->Share().status()}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(SharingMessage(refused), HasSubstr("in use by another thread"));
  }
  EXPECT_TRUE(second->Run("f", {{"x", x}}).ok());
  running.join();
  // A refused call is not a failed run: the world stays usable.
  EXPECT_TRUE(ran.ok()) << ran;
  EXPECT_TRUE(first->Synchronize().ok());
}

// Returns the status text of `child`, run in a forked process; empty if `child` hangs.
std::string InChild(const std::function<absl::Status()>& child) {
  int pipes[2];
  EXPECT_EQ(pipe(pipes), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(20);
    const std::string text = child().ToString();
    (void)!write(pipes[1], text.data(), text.size());
    _exit(0);
  }
  close(pipes[1]);
  std::string text;
  char piece[256];
  for (ssize_t count = 0; (count = read(pipes[0], piece, sizeof(piece))) > 0;) text.append(piece, count);
  close(pipes[0]);
  EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
  return text;
}

TEST(SessionUseTest, AChildOfForkIsToldSo) {
  if (kIsThreadSanitizer) GTEST_SKIP() << "the sanitizer does not fork programs with threads";
  Session session = *ServedPlan().MakeSession({.threads = 2});
  const HostTensor x = Filled(kSharedSize, 1);
  ASSERT_TRUE(session.Run("predict", {{"x", x}}).ok());
  EXPECT_EQ(
      InChild([&] { return session.Run("predict", {{"x", x}}).status(); }),
      "FAILED_PRECONDITION: the session was created before this process was forked, and its threads and "
      "devices stay with the parent: create a session in the child");
  EXPECT_EQ(
      InChild([&] { return ServedPlan().MakeSession({.threads = 3}).status(); }),
      "FAILED_PRECONDITION: this process was forked from one that had started its threads, which did not "
      "come along, and cannot have 3: fork before the first session runs, start the child with exec, or "
      "give it one thread (SessionOptions::threads = 1)");
  EXPECT_EQ(InChild([&] {
              Session own = *ServedPlan().MakeSession({.threads = 1});
              return own.Run("predict", {{"x", x}}).status();
            }),
            "OK");
  EXPECT_TRUE(session.Run("predict", {{"x", x}}).ok());
}

TEST(SharingTest, EightThreadsGetTheBitsOfOneAndTakeTheMemoryOnce) {
  auto pool = *CachingAllocator::Create(std::make_unique<HostMemory>());
  const SessionOptions options = {.threads = 1, .allocator = pool.get()};
  {
    std::optional<Session> first = *ServedPlan().MakeSession(options);
    ASSERT_TRUE(first->WriteVariable("w", Filled(kSharedSize, 0.3f)).ok());
    const SessionMemory owner = first->memory();
    EXPECT_EQ(owner.variables, kSharedSize * 4);
    EXPECT_EQ(owner.constants, kSharedSize * 4);
    std::vector<Session> sessions;
    for (int i = 0; i < 8; ++i) {
      absl::StatusOr<Session> shared = first->Share(options);
      ASSERT_TRUE(shared.ok()) << shared.status();
      const SessionMemory memory = shared->memory();
      EXPECT_EQ(memory.variables, 0);
      EXPECT_EQ(memory.constants, 0);
      EXPECT_EQ(memory.arena, owner.arena);
      EXPECT_EQ(memory.used, memory.predicted);
      EXPECT_EQ(memory.used, owner.used - 4096);  // 4000 bytes of "w", in units of 512.
      sessions.push_back(*std::move(shared));
      EXPECT_EQ(pool->UsedBytes(), owner.used + (i + 1) * memory.used);
    }
    std::vector<std::vector<float>> expected;
    for (int i = 0; i < 8; ++i) {
      const HostTensor x = Filled(kSharedSize, 0.1f * static_cast<float>(i));
      const std::span<const float> y = *(*first->Run("predict", {{"x", x}}))["y"].Span<float>();
      expected.emplace_back(y.begin(), y.end());
    }
    // The shared memory stays whichever session is destroyed first.
    first.reset();
    std::vector<std::thread> threads;
    for (size_t i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        const HostTensor x = Filled(kSharedSize, 0.1f * static_cast<float>(i));
        for (int run = 0; run < 100; ++run) {
          absl::StatusOr<Outputs> out = sessions[i].Run("predict", {{"x", x}});
          ASSERT_TRUE(out.ok()) << out.status();
          ASSERT_EQ(std::memcmp((*out)["y"].data(), expected[i].data(), kSharedSize * 4), 0);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(*sessions[3].ReadVariable("w")->Span<float>(), Each(0.3f));
  }
  EXPECT_EQ(pool->UsedBytes(), 0);
}

TEST(SharingTest, VariablesAreReadOnlyWhileTheyAreShared) {
  Session first = *ServedPlan().MakeSession({.threads = 1});
  const HostTensor x = Filled(kSharedSize, 1);
  {
    Session second = *first.Share({.threads = 1}), third = *second.Share({.threads = 2});
    EXPECT_EQ(third.threads(), 2);
    for (Session* session : {&first, &second, &third}) {
      EXPECT_EQ(
          session->Run("train", {{"x", x}}).status(),
          absl::FailedPreconditionError(
              "function \"train\" writes variable \"w\", which 3 sessions share: run it in a session of "
              "its own (Session::Create), or when the others are gone"));
      const std::string refused =
          "3 sessions share the variables, which are read-only meanwhile: write them before Session::Share, "
          "or "
          "when the others are gone";
      EXPECT_EQ(session->WriteVariable("w", x), absl::FailedPreconditionError(refused));
      EXPECT_EQ(session->ResetVariables(), absl::FailedPreconditionError(refused));
      EXPECT_THAT(*(*session->Run("predict", {{"x", x}}))["y"].Span<float>(), Each(103.0f));
    }
  }
  ASSERT_TRUE(first.Run("train", {{"x", x}}).ok());
  EXPECT_THAT(*first.ReadVariable("w")->Span<float>(), Each(3.0f));
  Session again = *first.Share({.threads = 1});
  EXPECT_THAT(*again.ReadVariable("w")->Span<float>(), Each(3.0f));
}

TEST(SharingTest, GpusShareTheirCopies) {
  FakeGpus gpus;
  std::optional<Session> first = *gpus.MakeSession(ServedPlan(Device::Gpu(0)));
  ASSERT_TRUE(first->WriteVariable("w", Filled(kSharedSize, 7)).ok());
  Session second = *first->Share();
  EXPECT_EQ(first->memory(Device::Gpu(0)).constant_copies, kSharedSize * 4);
  EXPECT_EQ(second.memory(Device::Gpu(0)).constant_copies, 0);
  EXPECT_EQ(second.memory(Device::Gpu(0)).variables, 0);
  first.reset();
  for (int run = 0; run < 3; ++run) {
    absl::StatusOr<Outputs> out = second.Run("predict", {{"x", Filled(kSharedSize, 1)}});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_THAT(*(*out)["y"].Span<float>(), Each(108.0f));
  }
}

TEST(SharingTest, AmongProcessesNothingIsShared) {
  LocalWorld world(1);
  Session first = *ServedPlan().MakeSession({.threads = 1});
  EXPECT_EQ(
      first.Share({.world = &world.rank(0)}).status(),
      absl::InvalidArgumentError("a session that runs among several processes shares its variables with no "
                                 "other: they would have to exchange at the same time"));
}

}  // namespace
}  // namespace sinter
