#include "sinter/runtime/execute/launch_threads.h"

#include <barrier>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

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

}  // namespace
}  // namespace sinter
