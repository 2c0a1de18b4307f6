// The caching allocator over each kind of raw memory: main memory, GPU memory and pinned memory.
#include <cuda_runtime_api.h>

#include <cstring>
#include <functional>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/cuda/driver/cuda_devices.h"
#include "sinter/runtime/cuda/driver/cuda_memory.h"
#include "sinter/runtime/memory/caching_allocator.h"

namespace sinter {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kMiB = int64_t{1} << 20;

struct MemoryCase {
  const char* name;
  bool needs_gpu;
  std::function<absl::StatusOr<std::unique_ptr<DeviceMemory>>()> make;
};

// Allows a test to read freed memory, which a sanitizer would report.
class OpenMemory : public HostMemory {
 public:
  void MarkInaccessible(void*, int64_t) noexcept override {}
};

class AllocatorOnMemoryTest : public ::testing::TestWithParam<MemoryCase> {
 protected:
  void SetUp() override {
    if (!GetParam().needs_gpu) return;
    if (const absl::Status status = CudaAvailable(); !status.ok()) GTEST_SKIP() << status.message();
  }

  std::unique_ptr<CachingAllocator> MakePool(const CachingAllocator::Options& options = {
                                                 .limit = MemoryLimit{}}) {
    return CachingAllocator::Create(GetParam().make().value(), options).value();
  }

  // Returns the used bytes, free bytes, total bytes and the number of free blocks.
  static std::vector<int64_t> Counts(const CachingAllocator& pool) {
    EXPECT_TRUE(pool.CheckInvariants().ok()) << pool.CheckInvariants();
    return {pool.UsedBytes(), pool.FreeBytes(), pool.TotalBytes(), pool.NumFreeBlocks()};
  }

  static Allocation Take(CachingAllocator& pool, int64_t bytes, StreamId stream = 0) {
    absl::StatusOr<Allocation> allocation = pool.Allocate(bytes, "test", stream);
    EXPECT_TRUE(allocation.ok()) << allocation.status();
    return allocation.ok() ? *std::move(allocation) : Allocation();
  }

  std::vector<uint8_t> Read(const void* from, size_t bytes) const {
    std::vector<uint8_t> values(bytes);
    if (GetParam().needs_gpu) {
      EXPECT_EQ(cudaMemcpy(values.data(), from, bytes, cudaMemcpyDefault), cudaSuccess);
    } else {
      std::memcpy(values.data(), from, bytes);
    }
    return values;
  }
};

TEST_P(AllocatorOnMemoryTest, RoundsUpToUnits) {
  auto pool = MakePool();
  for (const auto& [bytes, rounded] :
       {std::pair<int64_t, int64_t>{1, 512}, {512, 512}, {513, 1024}, {100'000, 100'352}}) {
    const Allocation a = Take(*pool, bytes);
    EXPECT_EQ(pool->UsedBytes(), rounded);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a.ptr()) % 512, 0u);
  }
}

TEST_P(AllocatorOnMemoryTest, SplitsCoalescesAndGivesBack) {
  auto pool = MakePool();
  Take(*pool, 4096).Reset();
  Allocation a = Take(*pool, 1024), b = Take(*pool, 1024), c = Take(*pool, 1024);
  EXPECT_THAT(Counts(*pool), ElementsAre(3072, 1024, 4096, 1));
  EXPECT_EQ(static_cast<char*>(b.ptr()), static_cast<char*>(a.ptr()) + 1024);
  b.Reset();
  EXPECT_THAT(Counts(*pool), ElementsAre(2048, 2048, 4096, 2));
  EXPECT_EQ(pool->FreeAllBlocks(), 0) << "a part is in use";
  a.Reset();
  c.Reset();
  EXPECT_THAT(Counts(*pool), ElementsAre(0, 4096, 4096, 1));
  EXPECT_EQ(pool->Stats().raw_allocations, 1);
  EXPECT_EQ(pool->FreeAllBlocks(), 4096);
  EXPECT_THAT(Counts(*pool), ElementsAre(0, 0, 0, 0));
}

TEST_P(AllocatorOnMemoryTest, TakesTheSmallestBlockThatFits) {
  auto pool = MakePool();
  Allocation big = Take(*pool, 4096), small = Take(*pool, 1024), middle = Take(*pool, 2048);
  void* const middle_ptr = middle.ptr();
  big.Reset();
  small.Reset();
  middle.Reset();
  EXPECT_EQ(Take(*pool, 1536).ptr(), middle_ptr);
}

TEST_P(AllocatorOnMemoryTest, StreamsDoNotShareBlocks) {
  auto pool = MakePool();
  Allocation a = Take(*pool, 1024, /*stream=*/7);
  void* const ptr = a.ptr();
  a.Reset();
  EXPECT_NE(Take(*pool, 1024, /*stream=*/8).ptr(), ptr);
  EXPECT_EQ(Take(*pool, 1024, /*stream=*/7).ptr(), ptr);
}

TEST_P(AllocatorOnMemoryTest, FreesCachedBlocksWhenTheLimitIsReached) {
  auto pool = MakePool({.limit = MemoryLimit{.bytes = 8 * kMiB}});
  Take(*pool, 5 * kMiB).Reset();
  const Allocation a = Take(*pool, 6 * kMiB);
  EXPECT_THAT(Counts(*pool), ElementsAre(6 * kMiB, 0, 6 * kMiB, 0));
  const absl::Status status = pool->Allocate(3 * kMiB, "too much").status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("asked for \"too much\""));
  EXPECT_THAT(std::string(status.message()), HasSubstr("6291456 bytes (6.0 MiB) in 1: test"));
}

TEST_P(AllocatorOnMemoryTest, RefusesMoreThanThereIs) {
  auto pool = MakePool();
  const absl::Status status = pool->Allocate(2 * pool->memory().TotalBytes(), "everything").status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("out of memory on " + pool->device().ToString()));
  EXPECT_EQ(Take(*pool, 512).bytes(), 512) << "the device goes on";
}

TEST_P(AllocatorOnMemoryTest, NoGrowthScopeServesOnlyCachedBlocks) {
  auto pool = MakePool();
  Take(*pool, 1024).Reset();
  const NoGrowthScope frozen = pool->ForbidGrowth();
  EXPECT_EQ(Take(*pool, 1024).bytes(), 1024);
  EXPECT_TRUE(absl::IsFailedPrecondition(pool->Allocate(2048, "more").status()));
  EXPECT_EQ(pool->FreeAllBlocks(), 0);
}

TEST_P(AllocatorOnMemoryTest, PoisonsFreshAndFreedMemory) {
  auto pool = MakePool({.limit = MemoryLimit{}, .poison = true});
  Allocation whole = Take(*pool, 4096);
  void* const ptr = whole.ptr();
  EXPECT_THAT(Read(ptr, 4096), Each(0xff));
  pool->memory().Fill(ptr, 0, 4096);
  EXPECT_THAT(Read(ptr, 4096), Each(0));
  whole.Reset();
  const Allocation part = Take(*pool, 512);  // Keeps the segment alive.
  EXPECT_EQ(part.ptr(), ptr);
  EXPECT_THAT(Read(ptr, 4096), Each(0xff));
}

TEST_P(AllocatorOnMemoryTest, AllocationsOutliveThePool) {
  auto pool = MakePool();
  const Allocation a = Take(*pool, 1000);
  DeviceMemory& memory = pool->memory();
  pool.reset();
  memory.Fill(a.ptr(), 1, 1000);
  EXPECT_THAT(Read(a.ptr(), 1000), Each(1));
}

TEST_P(AllocatorOnMemoryTest, RandomTrace) {
  auto pool = MakePool({.limit = MemoryLimit{.bytes = 16 * kMiB}});
  std::mt19937 random(1);
  std::vector<Allocation> held;
  for (int step = 0; step < 1000; ++step) {
    const uint32_t dice = random() % 100;
    if (dice < 55 || held.empty()) {
      absl::StatusOr<Allocation> a = pool->Allocate(1 + random() % 500'000, "t", random() % 2);
      if (a.ok()) {
        held.push_back(*std::move(a));
      } else {
        ASSERT_TRUE(absl::IsResourceExhausted(a.status())) << a.status();
      }
    } else if (dice < 98) {
      std::swap(held[random() % held.size()], held.back());
      held.pop_back();
    } else {
      pool->FreeAllBlocks();
    }
    ASSERT_TRUE(pool->CheckInvariants().ok()) << pool->CheckInvariants() << " at step " << step;
    ASSERT_LE(pool->TotalBytes(), 16 * kMiB);
  }
  held.clear();
  EXPECT_EQ(pool->UsedBytes(), 0);
  pool->FreeAllBlocks();
  EXPECT_EQ(pool->TotalBytes(), 0);
}

INSTANTIATE_TEST_SUITE_P(Memories, AllocatorOnMemoryTest,
                         ::testing::Values(MemoryCase{"main", false,
                                                      []() -> absl::StatusOr<std::unique_ptr<DeviceMemory>> {
                                                        return std::make_unique<OpenMemory>();
                                                      }},
                                           MemoryCase{"gpu", true, [] { return MakeCudaMemory(0); }},
                                           MemoryCase{"pinned", true, [] { return MakePinnedMemory(); }}),
                         [](const auto& info) { return info.param.name; });

TEST(CudaMemoryTest, SaysWhatThereIsNot) {
  const absl::Status status = MakeCudaMemory(1000).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("there is no gpu:1000"));
  EXPECT_EQ(MakePinnedMemory().ok(), CudaAvailable().ok());
}

TEST(CudaMemoryTest, RefusalsNameSizes) {
  if (const absl::Status available = CudaAvailable(); !available.ok()) GTEST_SKIP() << available.message();
  const std::unique_ptr<DeviceMemory> gpu = MakeCudaMemory(0).value(), pinned = MakePinnedMemory().value();
  EXPECT_GT(gpu->FreeBytes(), 0);
  EXPECT_LE(gpu->FreeBytes(), gpu->TotalBytes());
  const absl::Status status = gpu->Allocate(gpu->TotalBytes() * 2).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("CUDA could not allocate "));
  EXPECT_THAT(std::string(status.message()), HasSubstr(" are free"));
  EXPECT_TRUE(absl::IsInvalidArgument(gpu->Allocate(0).status()));
  EXPECT_THAT(std::string(pinned->Allocate(pinned->TotalBytes() * 2).status().message()),
              HasSubstr("main memory has no room to pin"));
  EXPECT_TRUE(absl::IsInvalidArgument(pinned->Allocate(-1).status()));
}

TEST(CudaMemoryTest, CountsCallsOfTheDriver) {
  if (const absl::Status available = CudaAvailable(); !available.ok()) GTEST_SKIP() << available.message();
  const std::unique_ptr<DeviceMemory> memory = MakeCudaMemory(0).value();
  const CudaDriverCalls before = CountCudaDriverCalls();
  void* const ptr = memory->Allocate(4096).value();
  EXPECT_EQ(CountCudaDriverCalls().allocations, before.allocations + 1);
  memory->Free(ptr, 4096);
  EXPECT_EQ(CountCudaDriverCalls().frees, before.frees + 1);
}

}  // namespace
}  // namespace sinter
