#include "sinter/runtime/memory/caching_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sinter/tests/runtime/fake_memory.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kGiB = int64_t{1} << 30;

std::unique_ptr<CachingAllocator> MakePool(int64_t capacity = 16 * kGiB, MemoryLimit limit = {}) {
  return CachingAllocator::Create(std::make_unique<FakeMemory>(capacity), {.limit = limit}).value();
}

Allocation Take(CachingAllocator& pool, int64_t bytes, std::string_view tag = "test", StreamId stream = 0) {
  absl::StatusOr<Allocation> allocation = pool.Allocate(bytes, tag, stream);
  EXPECT_TRUE(allocation.ok()) << allocation.status();
  return allocation.ok() ? *std::move(allocation) : Allocation();
}

// Returns the used bytes, free bytes, total bytes and the number of free blocks.
std::vector<int64_t> Counts(const CachingAllocator& pool) {
  EXPECT_TRUE(pool.CheckInvariants().ok()) << pool.CheckInvariants();
  return {pool.UsedBytes(), pool.FreeBytes(), pool.TotalBytes(), pool.NumFreeBlocks()};
}

TEST(CachingAllocatorTest, DocumentedWalkThrough) {
  auto pool = MakePool();
  Allocation a = Take(*pool, 400);
  EXPECT_THAT(Counts(*pool), ElementsAre(512, 0, 512, 0));
  a.Reset();
  EXPECT_THAT(Counts(*pool), ElementsAre(0, 512, 512, 1));
  EXPECT_EQ(pool->FreeAllBlocks(), 512);
  EXPECT_THAT(Counts(*pool), ElementsAre(0, 0, 0, 0));
}

TEST(CachingAllocatorTest, RoundsUpToUnits) {
  auto pool = MakePool();
  for (const auto& [bytes, rounded] :
       {std::pair<int64_t, int64_t>{1, 512}, {512, 512}, {513, 1024}, {1025, 1536}}) {
    const Allocation a = Take(*pool, bytes);
    EXPECT_EQ(a.bytes(), bytes);
    EXPECT_EQ(pool->UsedBytes(), rounded);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a.ptr()) % 512, 0u);
  }
}

TEST(CachingAllocatorTest, ZeroBytesTakeNothing) {
  auto pool = MakePool();
  const Allocation a = Take(*pool, 0);
  EXPECT_EQ(a.ptr(), nullptr);
  EXPECT_EQ(a.bytes(), 0);
  EXPECT_EQ(a.tag(), "");
  EXPECT_EQ(pool->Stats().raw_allocations, 0);
}

TEST(CachingAllocatorTest, RefusesNegativeSizes) {
  const absl::Status status = MakePool()->Allocate(-1, "w").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("cannot allocate -1 bytes for \"w\": the size is negative"));
}

TEST(CachingAllocatorTest, RefusesSizesThatNoDeviceHas) {
  const absl::Status status = MakePool()->Allocate(std::numeric_limits<int64_t>::max(), "w").status();
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("no device has as much"));
}

TEST(CachingAllocatorTest, TakesTheSmallestBlockThatFits) {
  auto pool = MakePool();
  Allocation big = Take(*pool, 4096), small = Take(*pool, 1024), middle = Take(*pool, 2048);
  void* const middle_ptr = middle.ptr();
  big.Reset();
  small.Reset();
  middle.Reset();
  const Allocation a = Take(*pool, 1536);
  EXPECT_EQ(a.ptr(), middle_ptr);
  EXPECT_THAT(Counts(*pool), ElementsAre(1536, 4096 + 1024 + 512, 7168, 3));
}

TEST(CachingAllocatorTest, SplitsAndCoalesces) {
  auto pool = MakePool();
  Take(*pool, 4096).Reset();
  Allocation a = Take(*pool, 1024), b = Take(*pool, 1024), c = Take(*pool, 1024);
  EXPECT_THAT(Counts(*pool), ElementsAre(3072, 1024, 4096, 1));
  EXPECT_EQ(static_cast<char*>(b.ptr()), static_cast<char*>(a.ptr()) + 1024);
  b.Reset();
  EXPECT_THAT(Counts(*pool), ElementsAre(2048, 2048, 4096, 2));
  a.Reset();  // Merges with the block on the right.
  EXPECT_THAT(Counts(*pool), ElementsAre(1024, 3072, 4096, 2));
  c.Reset();  // Merges with the blocks on both sides.
  EXPECT_THAT(Counts(*pool), ElementsAre(0, 4096, 4096, 1));
  EXPECT_EQ(pool->Stats().raw_allocations, 1);
}

TEST(CachingAllocatorTest, NeverMergesTwoPiecesOfTheDevice) {
  auto pool = MakePool();
  Allocation a = Take(*pool, 1024), b = Take(*pool, 1024);
  ASSERT_EQ(static_cast<char*>(b.ptr()), static_cast<char*>(a.ptr()) + 1024);
  a.Reset();
  b.Reset();
  EXPECT_THAT(Counts(*pool), ElementsAre(0, 2048, 2048, 2));
}

TEST(CachingAllocatorTest, StreamsDoNotShareBlocks) {
  auto pool = MakePool();
  Allocation a = Take(*pool, 1024, "a", /*stream=*/7);
  void* const ptr = a.ptr();
  a.Reset();
  const Allocation other = Take(*pool, 1024, "b", /*stream=*/8);
  EXPECT_NE(other.ptr(), ptr);
  EXPECT_EQ(Take(*pool, 1024, "c", /*stream=*/7).ptr(), ptr);
  EXPECT_EQ(pool->FreeAllBlocks(/*stream=*/8), 0);
  EXPECT_EQ(pool->FreeAllBlocks(/*stream=*/9), 0);
  EXPECT_EQ(pool->FreeAllBlocks(/*stream=*/7), 1024);
  EXPECT_THAT(Counts(*pool), ElementsAre(1024, 0, 1024, 0));
}

TEST(CachingAllocatorTest, FreeAllBlocksKeepsSplitBlocks) {
  auto pool = MakePool();
  Take(*pool, 4096).Reset();
  Take(*pool, 8192).Reset();
  Allocation a = Take(*pool, 512);  // Splits the block of 4096.
  EXPECT_EQ(pool->FreeAllBlocks(), 8192);
  EXPECT_THAT(Counts(*pool), ElementsAre(512, 3584, 4096, 1));
  a.Reset();
  EXPECT_EQ(pool->FreeAllBlocks(), 4096);
  EXPECT_THAT(Counts(*pool), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(pool->Stats().raw_frees, 2);
  EXPECT_EQ(pool->memory().FreeBytes(), 16 * kGiB);
}

TEST(CachingAllocatorTest, CountsPeaks) {
  auto pool = MakePool();
  Take(*pool, 2048).Reset();
  const Allocation a = Take(*pool, 512);
  EXPECT_EQ(pool->Stats().peak_used_bytes, 2048);
  EXPECT_EQ(pool->Stats().peak_total_bytes, 2048);
  pool->ResetPeaks();
  EXPECT_EQ(pool->Stats().peak_used_bytes, 512);
  EXPECT_EQ(pool->Stats().peak_total_bytes, 2048);
}

TEST(CachingAllocatorTest, SetsLimits) {
  auto pool = MakePool(/*capacity=*/1000 * 512);
  EXPECT_EQ(pool->GetLimit(), 0);
  ASSERT_TRUE(pool->SetLimit({.bytes = 2048}).ok());
  EXPECT_EQ(pool->GetLimit(), 2048);
  const Allocation a = Take(*pool, 2048);
  EXPECT_TRUE(absl::IsResourceExhausted(pool->Allocate(1, "b").status()));
  ASSERT_TRUE(pool->SetLimit({.fraction = 0.5}).ok());
  EXPECT_EQ(pool->GetLimit(), 500 * 512);
  EXPECT_EQ(Take(*pool, 1).bytes(), 1);
  EXPECT_TRUE(absl::IsInvalidArgument(pool->SetLimit({.bytes = 1, .fraction = 0.5})));
  EXPECT_TRUE(absl::IsInvalidArgument(pool->SetLimit({.fraction = 1.1})));
  EXPECT_EQ(pool->GetLimit(), 500 * 512) << "a bad limit changes nothing";
  ASSERT_TRUE(pool->SetLimit({.bytes = 0}).ok());
  EXPECT_EQ(Take(*pool, 900 * 512).bytes(), 900 * 512);
}

TEST(CachingAllocatorTest, TakesItsLimitFromTheEnvironment) {
  setenv("SINTER_GPU_MEMORY_LIMIT", "50%", 1);
  EXPECT_EQ(CachingAllocator::Create(std::make_unique<FakeMemory>(kGiB)).value()->GetLimit(), kGiB / 2);
  EXPECT_EQ(MakePool()->GetLimit(), 0) << "an explicit limit goes before";
  setenv("SINTER_GPU_MEMORY_LIMIT", "half", 1);
  const absl::Status status = CachingAllocator::Create(std::make_unique<FakeMemory>(kGiB)).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("SINTER_GPU_MEMORY_LIMIT is \"half\""));
  unsetenv("SINTER_GPU_MEMORY_LIMIT");
}

TEST(CachingAllocatorTest, RefusesBadMemories) {
  EXPECT_THAT(std::string(CachingAllocator::Create(nullptr).status().message()),
              HasSubstr("needs a DeviceMemory"));
  auto memory = std::make_unique<FakeMemory>(kGiB);
  memory->SetAlignment(64);
  EXPECT_THAT(std::string(CachingAllocator::Create(std::move(memory)).status().message()),
              HasSubstr("aligned to 64 bytes: a multiple of 512 is needed"));
}

// cupy #7678: frees 512 MiB, then allocates 768 MiB within a limit of 1 GiB.
TEST(CachingAllocatorTest, FreesCachedBlocksWhenTheLimitIsReached) {
  auto pool = MakePool(16 * kGiB, {.bytes = kGiB});
  Take(*pool, 512 * kMiB).Reset();
  EXPECT_EQ(Take(*pool, 768 * kMiB).bytes(), 768 * kMiB);
  EXPECT_THAT(Counts(*pool), ElementsAre(0, 768 * kMiB, 768 * kMiB, 1));
}

// cupy #1256: takes 30 % twice and frees one. 60 % fits only after the freed block is returned to the device.
TEST(CachingAllocatorTest, FreesCachedBlocksWhenTheDeviceIsFull) {
  auto pool = MakePool(100 * kMiB);
  const Allocation first = Take(*pool, 30 * kMiB);
  Take(*pool, 30 * kMiB).Reset();
  EXPECT_EQ(Take(*pool, 60 * kMiB).bytes(), 60 * kMiB);
  EXPECT_TRUE(pool->CheckInvariants().ok());
  // The second part: the same again, with the 60 % cached.
  EXPECT_EQ(Take(*pool, 60 * kMiB).bytes(), 60 * kMiB);
  EXPECT_EQ(Take(*pool, 65 * kMiB).bytes(), 65 * kMiB);
}

// cupy #1392: growing sizes in a loop do not exhaust the pool.
TEST(CachingAllocatorTest, GrowingSizesDoNotExhaustThePool) {
  auto pool = MakePool(10 * kMiB);
  for (int64_t bytes = 512; bytes <= 10 * kMiB; bytes += 512) ASSERT_EQ(Take(*pool, bytes).bytes(), bytes);
  EXPECT_LE(pool->TotalBytes(), 10 * kMiB);
}

TEST(CachingAllocatorTest, OutOfMemorySaysWhoHoldsWhat) {
  auto pool = MakePool(4 * kGiB, {.bytes = 10 * kMiB});
  Take(*pool, 2 * kMiB).Reset();
  const Allocation split = Take(*pool, kMiB, "arena of train");
  const Allocation a = Take(*pool, 3 * kMiB, "variable w1"), b = Take(*pool, 4 * kMiB, "variable w1");
  const absl::Status status = pool->Allocate(3 * kMiB - 100, "workspace of conv1").status();
  ASSERT_TRUE(absl::IsResourceExhausted(status));
  const std::string message(status.message());
  EXPECT_EQ(
      message,
      "out of memory on gpu:0: 3145728 bytes (3.0 MiB) asked for \"workspace of conv1\"; used 8388608 bytes "
      "(8.0 MiB), cached 1048576 bytes (1.0 MiB), limit 10485760 bytes (10.0 MiB) (SetLimit or "
      "SINTER_GPU_MEMORY_LIMIT); the device has 4285530112 bytes (4.0 GiB) free of 4294967296 bytes (4.0 "
      "GiB); "
      "the limit is reached; 1048576 bytes (1.0 MiB) are cached in pieces between allocations in use and "
      "cannot "
      "be given back; held by:\n"
      "  7340032 bytes (7.0 MiB) in 2: variable w1\n"
      "  1048576 bytes (1.0 MiB) in 1: arena of train");
  EXPECT_TRUE(pool->CheckInvariants().ok());
}

TEST(CachingAllocatorTest, OutOfMemoryOfTheDevice) {
  auto pool = MakePool(kMiB);
  const absl::Status status = pool->Allocate(2 * kMiB, "x").status();
  ASSERT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("limit none; the device has 1048576 bytes (1.0 MiB) free"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("the device is full; held by: nobody"));
  for (const int64_t bytes : {int64_t{1} << 60, INT64_MAX}) {
    EXPECT_TRUE(absl::IsResourceExhausted(pool->Allocate(bytes, "huge").status()));
  }
  EXPECT_THAT(Counts(*pool), ElementsAre(0, 0, 0, 0));
}

TEST(CachingAllocatorTest, PassesOtherErrorsOfTheDeviceOn) {
  auto memory = std::make_unique<FakeMemory>(kMiB);
  memory->Break();
  auto pool = CachingAllocator::Create(std::move(memory), {}).value();
  EXPECT_EQ(pool->Allocate(1, "x").status(), absl::InternalError("the device is broken"));
  EXPECT_THAT(Counts(*pool), ElementsAre(0, 0, 0, 0));
}

TEST(CachingAllocatorTest, DescribesHolders) {
  auto pool = MakePool();
  std::vector<Allocation> held;
  for (int i = 0; i < 5; ++i) held.push_back(Take(*pool, 512 * (i + 1), "tag" + std::to_string(i)));
  held.push_back(Take(*pool, 512, ""));
  EXPECT_EQ(pool->DescribeHolders(2),
            "\n  2560 bytes (2.5 KiB) in 1: tag4\n  2048 bytes (2.0 KiB) in 1: tag3\n  3584 bytes (3.5 KiB): "
            "4 more "
            "tags");
  EXPECT_THAT(pool->DescribeHolders(), HasSubstr("\n  512 bytes in 1: (no tag)\n  512 bytes in 1: tag0"));
  EXPECT_THAT(pool->DescribeHolders(), Not(HasSubstr("more tags")));
}

TEST(CachingAllocatorTest, AllocationsMove) {
  auto pool = MakePool();
  Allocation a = Take(*pool, 100, "variable w1");
  void* const ptr = a.ptr();
  Allocation b = std::move(a);
  EXPECT_EQ(a.ptr(), nullptr);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(b.ptr(), ptr);
  EXPECT_EQ(b.tag(), "variable w1");
  Allocation c = Take(*pool, 100);
  c = std::move(b);
  EXPECT_EQ(c.ptr(), ptr);
  EXPECT_EQ(pool->UsedBytes(), 512);
  c.Reset();
  c.Reset();
  EXPECT_EQ(pool->UsedBytes(), 0);
}

TEST(CachingAllocatorTest, AllocationsOutliveThePool) {
  auto pool = CachingAllocator::Create(std::make_unique<HostMemory>()).value();
  Allocation a = Take(*pool, 1000);
  pool.reset();
  std::memset(a.ptr(), 1, 1000);
  EXPECT_EQ(static_cast<char*>(a.ptr())[999], 1);
}

TEST(CachingAllocatorTest, NoGrowthScopeServesOnlyCachedBlocks) {
  auto pool = MakePool();
  Take(*pool, 1024).Reset();
  {
    const NoGrowthScope frozen = pool->ForbidGrowth();
    EXPECT_EQ(Take(*pool, 1024).bytes(), 1024);
    const absl::Status status = pool->Allocate(2048, "workspace").status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status));
    EXPECT_THAT(
        std::string(status.message()),
        HasSubstr(
            "2048 bytes (2.0 KiB) for \"workspace\" are not cached on gpu:0, and the pool may not grow"));
    EXPECT_EQ(pool->FreeAllBlocks(), 0);
    EXPECT_EQ(pool->Stats().raw_allocations, 1);
  }
  EXPECT_EQ(Take(*pool, 2048).bytes(), 2048);
}

// Allows a test to read freed memory, which a sanitizer would report.
class OpenMemory : public HostMemory {
 public:
  void MarkInaccessible(void*, int64_t) noexcept override {}
};

TEST(CachingAllocatorTest, PoisonsFreshAndFreedMemory) {
  auto pool = CachingAllocator::Create(std::make_unique<OpenMemory>(), {.poison = true}).value();
  Allocation whole = Take(*pool, 4096);
  const float* const values = static_cast<const float*>(whole.ptr());
  EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[1023]));
  std::memset(whole.ptr(), 0, 4096);
  whole.Reset();
  const Allocation part = Take(*pool, 512);  // Keeps the segment alive; the rest of it is free.
  EXPECT_EQ(part.ptr(), values);
  EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[128]) && std::isnan(values[1023]));
}

class WatchedMemory : public FakeMemory {
 public:
  explicit WatchedMemory(std::vector<std::string>* log) : FakeMemory(kGiB), log_(log) {}

  void MarkAccessible(void* ptr, int64_t bytes) noexcept override { Log("+", ptr, bytes); }
  void MarkInaccessible(void* ptr, int64_t bytes) noexcept override { Log("-", ptr, bytes); }

 private:
  void Log(const char* what, void* ptr, int64_t bytes) {
    log_->push_back(what + std::to_string(reinterpret_cast<uintptr_t>(ptr) % 4096) + " " +
                    std::to_string(bytes));
  }

  std::vector<std::string>* log_;
};

TEST(CachingAllocatorTest, TellsTheDeviceWhichBytesAreServed) {
  std::vector<std::string> log;
  auto pool = CachingAllocator::Create(std::make_unique<WatchedMemory>(&log), {}).value();
  Allocation a = Take(*pool, 1000);
  EXPECT_EQ(a.rounded_bytes(), 1024);
  EXPECT_THAT(std::exchange(log, {}), ElementsAre("+0 1024", "-1000 24"));
  a.Reset();
  EXPECT_EQ(a.rounded_bytes(), 0);
  EXPECT_THAT(std::exchange(log, {}), ElementsAre("-0 1024"));
  a = Take(*pool, 512);
  EXPECT_THAT(std::exchange(log, {}), ElementsAre("+0 512", "-512 0"));
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SINTER_HAS_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SINTER_HAS_ASAN 1
#endif
#ifdef SINTER_HAS_ASAN
TEST(CachingAllocatorDeathTest, SanitizersSeeTouchesOfWhatIsNotServed) {
  auto pool = CachingAllocator::Create(std::make_unique<HostMemory>()).value();
  Allocation a = Take(*pool, 100);
  volatile char* const bytes = static_cast<char*>(a.ptr());
  bytes[99] = 1;
  EXPECT_DEATH(bytes[100] = 1, "use-after-poison");
  a.Reset();
  EXPECT_DEATH(bytes[0] = 1, "use-after-poison");
  a = Take(*pool, 512);
  bytes[511] = 1;
}
#endif

class Recorder : public PoolObserver {
 public:
  void BeforeRawAllocate(const PoolEvent& e) noexcept override { Log("raw+", e); }
  void AfterRawAllocate(const PoolEvent& e) noexcept override { Log("raw+.", e); }
  void BeforeRawFree(const PoolEvent& e) noexcept override { Log("raw-", e); }
  void AfterRawFree(const PoolEvent& e) noexcept override { Log("raw-.", e); }
  void BeforeAllocate(const PoolEvent& e) noexcept override { Log("+", e); }
  void AfterAllocate(const PoolEvent& e) noexcept override { Log("+.", e); }
  void BeforeFree(const PoolEvent& e) noexcept override { Log("-", e); }
  void AfterFree(const PoolEvent& e) noexcept override { Log("-.", e); }

  std::vector<std::string> log;

 private:
  void Log(const char* what, const PoolEvent& e) {
    log.push_back(std::string(what) + " " + std::string(e.tag) + " " + std::to_string(e.bytes) + "/" +
                  std::to_string(e.rounded_bytes) + (e.ptr == nullptr ? "" : " at") + " " +
                  e.device.ToString());
  }
};

TEST(CachingAllocatorTest, TellsObservers) {
  auto pool = MakePool();
  auto recorder = std::make_shared<Recorder>();
  pool->AddObserver(recorder);
  Take(*pool, 400, "w").Reset();
  EXPECT_THAT(std::exchange(recorder->log, {}),
              ElementsAre("+ w 400/512 gpu:0", "raw+ w 400/512 gpu:0", "raw+. w 400/512 at gpu:0",
                          "+. w 400/512 at gpu:0", "- w 400/512 at gpu:0", "-. w 400/512 at gpu:0"));
  Take(*pool, 10, "v").Reset();  // Comes from the cache, so there are no raw events.
  EXPECT_THAT(std::exchange(recorder->log, {}), ElementsAre("+ v 10/512 gpu:0", "+. v 10/512 at gpu:0",
                                                            "- v 10/512 at gpu:0", "-. v 10/512 at gpu:0"));
  pool->FreeAllBlocks();
  EXPECT_THAT(std::exchange(recorder->log, {}),
              ElementsAre("raw-  512/512 at gpu:0", "raw-.  512/512 at gpu:0"));
  pool->RemoveObserver(recorder.get());
  Take(*pool, 10);
  EXPECT_TRUE(recorder->log.empty());
}

// An observer may use the pool that it observes.
class Curious : public PoolObserver {
 public:
  explicit Curious(CachingAllocator* pool) : pool_(pool) {}
  void AfterRawAllocate(const PoolEvent&) noexcept override { seen = pool_->TotalBytes(); }
  void BeforeRawFree(const PoolEvent&) noexcept override { pool_->FreeAllBlocks(); }
  int64_t seen = -1;

 private:
  CachingAllocator* pool_;
};

TEST(CachingAllocatorTest, ObserversMayUseThePool) {
  auto pool = MakePool();
  auto curious = std::make_shared<Curious>(pool.get());
  pool->AddObserver(curious);
  Take(*pool, 1).Reset();
  EXPECT_EQ(curious->seen, 0);
  pool->FreeAllBlocks();
  EXPECT_EQ(pool->TotalBytes(), 0);
  pool->RemoveObserver(curious.get());
}

}  // namespace
}  // namespace sinter
