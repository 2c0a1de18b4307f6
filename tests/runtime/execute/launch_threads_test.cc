#include "sinter/runtime/execute/launch_threads.h"

#include <barrier>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/tests/runtime/fake_gpu.h"
#include "sinter/tests/runtime/training_plans.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;
using TaskKind = LaunchThreads::Kind;
using Task = LaunchThreads::Task;

void Ignore(const absl::Status&) {}

TEST(LaunchThreadsTest, EachDeviceDoesItsTasksInOrder) {
  std::vector<std::vector<size_t>> done(3);
  LaunchThreads threads(
      {true, false, true},
      [&](const Task& task) {
        done[task.index % 3].push_back(task.index);
        return absl::OkStatus();
      },
      Ignore);
  EXPECT_TRUE(threads.Has(0));
  EXPECT_FALSE(threads.Has(1));
  EXPECT_TRUE(threads.Has(2));
  EXPECT_FALSE(threads.Has(3));
  for (int run = 0; run < 100; ++run) {
    // More tasks than a lane holds.
    for (size_t i = 0; i < 200; ++i) {
      threads.Post(0, {TaskKind::kLaunch, 3 * i});
      threads.Post(2, {TaskKind::kLaunch, 3 * i + 2});
    }
    ASSERT_TRUE(threads.Drain(1).ok());
    ASSERT_TRUE(threads.Drain(2).ok());
    ASSERT_EQ(done[2].size(), 200u);
    ASSERT_TRUE(threads.Drain().ok());
    ASSERT_EQ(done[0].size(), 200u);
    for (size_t i = 0; i < 200; ++i) {
      ASSERT_EQ(done[0][i], 3 * i);
      ASSERT_EQ(done[2][i], 3 * i + 2);
    }
    for (std::vector<size_t>& list : done) list.clear();
  }
}

// Each task ends only after the others have begun, which needs several threads.
TEST(LaunchThreadsTest, TasksOfDevicesMayWaitForEachOther) {
  std::barrier meeting(4);
  LaunchThreads threads(
      {true, true, true, true},
      [&](const Task&) {
        meeting.arrive_and_wait();
        return absl::OkStatus();
      },
      Ignore);
  for (size_t run = 0; run < 50; ++run) {
    for (uint32_t device = 0; device < 4; ++device) threads.Post(device, {TaskKind::kLaunch, run});
  }
  EXPECT_TRUE(threads.Drain().ok());
}

TEST(LaunchThreadsTest, TheFirstErrorEndsARunAndNotTheNext) {
  std::vector<size_t> done;
  std::vector<std::string> heard;
  LaunchThreads threads(
      {true},
      [&](const Task& task) {
        if (task.kind == TaskKind::kCapture) return absl::InternalError("no graph");
        done.push_back(task.index);
        return absl::OkStatus();
      },
      [&](const absl::Status& status) { heard.emplace_back(status.message()); });
  threads.Post(0, {TaskKind::kLaunch, 1});
  threads.Post(0, {TaskKind::kCapture, 2});
  threads.Post(0, {TaskKind::kStep, 3});
  EXPECT_EQ(threads.Drain(0), absl::InternalError("no graph"));
  EXPECT_EQ(threads.Drain(), absl::InternalError("no graph"));
  EXPECT_THAT(done, ElementsAre(1));
  EXPECT_THAT(heard, ElementsAre("no graph"));
  threads.Post(0, {TaskKind::kStep, 4});
  EXPECT_TRUE(threads.Drain().ok());
  EXPECT_THAT(done, ElementsAre(1, 4));
}

TEST(LaunchThreadsTest, EndsAfterWhatWasPosted) {
  int done = 0;
  {
    LaunchThreads threads(
        {true},
        [&](const Task&) {
          ++done;
          return absl::OkStatus();
        },
        Ignore);
    for (size_t i = 0; i < 20; ++i) threads.Post(0, {TaskKind::kLaunch, i});
  }
  EXPECT_EQ(done, 20);
}

// Large inputs go to the GPUs of a process side by side: each upload waits here for the other one.
TEST(LaunchThreadsTest, InputsOfSeveralGpusAreCopiedSideBySide) {
  constexpr int64_t kLarge = 128 << 10, kSmall = 1 << 10;
  for (const int64_t size : {kLarge, kSmall}) {
    FakeGpus gpus;
    absl::StatusOr<Session> session =
        gpus.MakeSession(TrainingPlan({Device::Gpu(0), Device::Gpu(1)}, size, /*with_copy=*/false));
    ASSERT_TRUE(session.ok()) << session.status();
    std::mutex mutex;
    std::condition_variable has_come;
    int uploads = 0, alone = 0;
    gpus.on_call = [&](Device, const char* call) {
      if (std::string_view(call) != "Upload") return;
      std::unique_lock lock(mutex);
      const int partner = uploads++ / 2 * 2 + 2;
      has_come.notify_all();
      if (size == kSmall) return;
      if (!has_come.wait_for(lock, std::chrono::seconds(10), [&] { return uploads >= partner; })) ++alone;
    };
    for (int run = 0; run < 3; ++run) {
      ASSERT_TRUE(session->Run("f", {{"x", Filled(size, 0.5f)}}).ok());
      ASSERT_TRUE(session->Synchronize().ok());
    }
    EXPECT_EQ(uploads, 6);
    EXPECT_EQ(alone, 0);
  }
}

}  // namespace
}  // namespace sinter
