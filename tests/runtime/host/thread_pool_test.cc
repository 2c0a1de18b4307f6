#include "sinter/runtime/host/thread_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace sinter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Part = std::tuple<int64_t, int64_t, int>;

std::vector<Part> PartsOf(const ThreadPool& pool, int64_t units, int64_t grain) {
  std::mutex mutex;
  std::set<Part> parts;
  pool.ParallelFor(units, grain, [&](int64_t begin, int64_t end, int thread) {
    std::lock_guard lock(mutex);
    EXPECT_TRUE(parts.insert({begin, end, thread}).second);
  });
  return {parts.begin(), parts.end()};
}

TEST(ThreadPoolTest, SplitsEvenlyAndContiguously) {
  const ThreadPool pool(4);
  EXPECT_THAT(PartsOf(pool, 10, 1), ElementsAre(Part(0, 3, 0), Part(3, 6, 1), Part(6, 8, 2), Part(8, 10, 3)));
  EXPECT_THAT(PartsOf(pool, 3, 1), ElementsAre(Part(0, 1, 0), Part(1, 2, 1), Part(2, 3, 2)));
  EXPECT_THAT(PartsOf(pool, 10, 5), ElementsAre(Part(0, 5, 0), Part(5, 10, 1)));
  EXPECT_THAT(PartsOf(pool, 11, 5), ElementsAre(Part(0, 4, 0), Part(4, 8, 1), Part(8, 11, 2)));
}

TEST(ThreadPoolTest, StaysSerialForLittleWorkOrOneThread) {
  const auto caller = std::this_thread::get_id();
  for (const auto& [threads, units, grain] :
       {std::tuple(4, 8, 8), std::tuple(4, 1, 1), std::tuple(1, 100, 1)}) {
    int calls = 0;
    ThreadPool(threads).ParallelFor(units, grain, [&, units = units](int64_t begin, int64_t end, int thread) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      EXPECT_EQ(std::tuple(begin, end, thread), std::tuple(0, units, 0));
      ++calls;
    });
    EXPECT_EQ(calls, 1);
  }
}

TEST(ThreadPoolTest, NoUnitsNoCall) {
  ThreadPool(2).ParallelFor(0, 1, [](int64_t, int64_t, int) { FAIL(); });
  ThreadPool(2).ParallelFor(-5, 1, [](int64_t, int64_t, int) { FAIL(); });
}

TEST(ThreadPoolTest, CoversEveryUnitOnce) {
  for (const int threads : {1, 2, 3, 7}) {
    const ThreadPool pool(threads);
    for (const int64_t units : {1, 2, 5, 64, 1000, 1001}) {
      for (const int64_t grain : {1, 3, 64, 5000}) {
        std::vector<int> hits(units);
        pool.ParallelFor(units, grain, [&](int64_t begin, int64_t end, int thread) {
          EXPECT_GE(thread, 0);
          EXPECT_LT(thread, pool.NumParts(units, grain));
          for (int64_t i = begin; i < end; ++i) ++hits[i];
        });
        EXPECT_EQ(hits, std::vector<int>(units, 1)) << threads << " " << units << " " << grain;
      }
    }
  }
}

TEST(ThreadPoolTest, CountsParts) {
  const ThreadPool pool(4);
  EXPECT_EQ(pool.NumParts(0, 1), 1);
  EXPECT_EQ(pool.NumParts(8, 8), 1);
  EXPECT_EQ(pool.NumParts(9, 8), 2);
  EXPECT_EQ(pool.NumParts(1000, 8), 4);
  EXPECT_EQ(pool.NumParts(INT64_MAX, 1), 4);
  EXPECT_EQ(pool.NumParts(10, 0), 4) << "a grain below 1 counts as 1";
  EXPECT_EQ(pool.NumParts(5, INT64_MAX), 1);
}

TEST(ThreadPoolTest, RunsPartsAtTheSameTime) {
  // Each part waits for the other, so one thread would hang.
  std::atomic<int> arrived = 0;
  ThreadPool(2).ParallelFor(2, 1, [&](int64_t, int64_t, int) {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 2);
}

TEST(ThreadPoolTest, NestedWorkKeepsItsBounds) {
  const ThreadPool pool(3);
  const std::vector<Part> expected = PartsOf(pool, 10, 1);
  std::atomic<int> same = 0;
  pool.ParallelFor(3, 1, [&](int64_t, int64_t, int) { same += PartsOf(pool, 10, 1) == expected; });
  EXPECT_EQ(same, 3);
}

TEST(ThreadPoolTest, ServesSeveralCallers) {
  const ThreadPool pool(2);
  std::atomic<int64_t> sum = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 20; ++repeat) {
        pool.ParallelFor(100, 1, [&](int64_t begin, int64_t end, int) { sum += end - begin; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 3 * 20 * 100);
}

TEST(ThreadPoolTest, TakesAPlainFunction) {
  int64_t units[2] = {};
  ThreadPool(2).ParallelFor(
      9, 1,
      [](void* context, int64_t begin, int64_t end, int thread) {
        static_cast<int64_t*>(context)[thread] = end - begin;
      },
      units);
  EXPECT_THAT(units, ElementsAre(5, 4));
}

TEST(ThreadPoolTest, TakesItsSizeFromTheEnvironment) {
  unsetenv("SINTER_NUM_THREADS");
  EXPECT_EQ(ThreadPool::Create().value().threads(), ThreadPool::AvailableCores());
  setenv("SINTER_NUM_THREADS", "3", 1);
  EXPECT_EQ(ThreadPool::Create().value().threads(), 3);
  for (const char* text : {"0", "-1", "two", "2x", "1025", "99999999999", " 2"}) {
    setenv("SINTER_NUM_THREADS", text, 1);
    const absl::Status status = ThreadPool::Create().status();
    ASSERT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string("SINTER_NUM_THREADS is \"") + text +
                                                         "\": write a number of threads from 1"));
  }
  unsetenv("SINTER_NUM_THREADS");
}

extern "C" int omp_get_max_threads();

TEST(ThreadPoolTest, BindsOpenMp) {
  ThreadPool(3).BindCallingThread();
  EXPECT_EQ(omp_get_max_threads(), 3);
  ThreadPool(1).BindCallingThread();
  EXPECT_EQ(omp_get_max_threads(), 1);
}

TEST(ThreadPoolDeathTest, RefusesImpossibleSizes) {
  EXPECT_DEATH(ThreadPool(0), "bug in Sinter");
  EXPECT_DEATH(ThreadPool(ThreadPool::kMaxThreads + 1), "with 1025 threads");
}

}  // namespace
}  // namespace sinter
