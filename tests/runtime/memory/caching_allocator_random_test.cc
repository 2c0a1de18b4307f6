// Tests the caching allocator with random traces and with many threads.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "sinter/runtime/memory/caching_allocator.h"
#include "sinter/tests/runtime/fake_memory.h"

namespace sinter {
namespace {

// The allocations of a test. A map of their ranges, ordered by address, finds overlaps.
class Holder {
 public:
  void Add(Allocation allocation) {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(allocation.ptr());
    const auto [it, fresh] = ranges_.emplace(begin, allocation.bytes());
    ASSERT_TRUE(fresh);
    if (const auto next = std::next(it); next != ranges_.end()) {
      ASSERT_LE(begin + allocation.bytes(), next->first);
    }
    if (it != ranges_.begin()) {
      const auto previous = std::prev(it);
      ASSERT_LE(previous->first + previous->second, begin);
    }
    bytes_ += allocation.bytes();
    held_.push_back(std::move(allocation));
  }
  void Drop(size_t index) {
    std::swap(held_[index], held_.back());
    ranges_.erase(reinterpret_cast<uintptr_t>(held_.back().ptr()));
    bytes_ -= held_.back().bytes();
    held_.pop_back();
  }
  size_t size() const { return held_.size(); }
  int64_t bytes() const { return bytes_; }

 private:
  std::vector<Allocation> held_;
  std::map<uintptr_t, int64_t> ranges_;
  int64_t bytes_ = 0;
};

void RunTrace(uint32_t seed, int64_t capacity, int64_t limit) {
  std::mt19937 random(seed);
  auto pool =
      CachingAllocator::Create(std::make_unique<FakeMemory>(capacity), {.limit = MemoryLimit{.bytes = limit}})
          .value();
  Holder holder;
  int refused = 0;
  for (int step = 0; step < 3000; ++step) {
    const uint32_t dice = random() % 100;
    if (dice < 54 || (holder.size() == 0 && dice < 98)) {
      const int64_t bytes = 1 + random() % (random() % 4 == 0 ? 200'000 : 3'000);
      absl::StatusOr<Allocation> allocation = pool->Allocate(bytes, "t", random() % 3);
      if (allocation.ok()) {
        ASSERT_NO_FATAL_FAILURE(holder.Add(*std::move(allocation)));
      } else {
        ASSERT_TRUE(absl::IsResourceExhausted(allocation.status())) << allocation.status();
        ++refused;
      }
    } else if (dice < 98) {
      holder.Drop(random() % holder.size());
    } else {
      pool->FreeAllBlocks(dice == 98 ? std::optional<StreamId>(random() % 3) : std::nullopt);
    }
    ASSERT_TRUE(pool->CheckInvariants().ok()) << pool->CheckInvariants() << " at step " << step;
    const PoolStats stats = pool->Stats();
    ASSERT_EQ(stats.used_bytes + stats.free_bytes, stats.total_bytes);
    ASSERT_EQ(stats.total_bytes, capacity - pool->memory().FreeBytes());
    ASSERT_GE(stats.used_bytes, holder.bytes());
    ASSERT_LE(stats.used_bytes, holder.bytes() + static_cast<int64_t>(holder.size()) * 511);
    ASSERT_LE(stats.total_bytes, limit > 0 ? limit : capacity);
  }
  while (holder.size() > 0) holder.Drop(random() % holder.size());
  const PoolStats stats = pool->Stats();
  EXPECT_EQ(stats.used_bytes, 0);
  // All free blocks have merged: one block remains for each piece of device memory.
  EXPECT_EQ(stats.free_blocks, stats.raw_allocations - stats.raw_frees);
  EXPECT_EQ(pool->FreeAllBlocks(), stats.total_bytes);
  EXPECT_EQ(pool->TotalBytes(), 0);
  EXPECT_EQ(pool->Stats().free_blocks, 0);
  EXPECT_EQ(refused > 0, capacity < 2'000'000 || limit > 0);
}

TEST(CachingAllocatorRandomTest, RoomyDevice) {
  for (uint32_t seed = 0; seed < 6; ++seed) RunTrace(seed, int64_t{1} << 40, 0);
}

TEST(CachingAllocatorRandomTest, FullDevice) {
  for (uint32_t seed = 10; seed < 16; ++seed) RunTrace(seed, 1'500'000 / 512 * 512, 0);
}

TEST(CachingAllocatorRandomTest, TightLimit) {
  for (uint32_t seed = 20; seed < 26; ++seed) RunTrace(seed, int64_t{1} << 40, 1'000'000);
}

// cupy #912, #3008: an index that grows and becomes slow. With 100,000 block sizes, allocation must stay
// fast.
TEST(CachingAllocatorRandomTest, StaysQuickWithManyBlocks) {
  auto pool = CachingAllocator::Create(std::make_unique<FakeMemory>(int64_t{1} << 50), {}).value();
  constexpr int kBlocks = 100'000;
  std::vector<Allocation> held;
  for (int i = 0; i < kBlocks; ++i) held.push_back(pool->Allocate(512 * (i + 1), "t").value());
  held.clear();
  EXPECT_EQ(pool->Stats().free_blocks, kBlocks);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kBlocks; ++i) {
    const Allocation a = pool->Allocate(512 * (1 + (i * 7919) % kBlocks), "t").value();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(pool->Stats().raw_allocations, kBlocks);
  EXPECT_LT(seconds.count(), 5.0) << "a linear search would take minutes";
  pool->FreeAllBlocks();
  EXPECT_EQ(pool->Stats().free_blocks, 0);
}

TEST(CachingAllocatorRandomTest, ManyThreads) {
  auto pool = CachingAllocator::Create(std::make_unique<HostMemory>(),
                                       {.limit = MemoryLimit{.bytes = 4 << 20}, .poison = true})
                  .value();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, t] {
      std::mt19937 random(t);
      std::vector<Allocation> held;
      for (int step = 0; step < 2000; ++step) {
        const uint32_t dice = random() % 100;
        if (dice < 50 || held.empty()) {
          absl::StatusOr<Allocation> a = pool->Allocate(1 + random() % 60'000, "t", random() % 2);
          if (!a.ok()) continue;
          std::memset(a->ptr(), t + 1, static_cast<size_t>(a->bytes()));
          held.push_back(*std::move(a));
        } else if (dice < 97) {
          Allocation& a = held[random() % held.size()];
          const char* const bytes = static_cast<const char*>(a.ptr());
          ASSERT_TRUE(bytes[0] == t + 1 && bytes[a.bytes() - 1] == t + 1) << "another thread wrote here";
          a = std::move(held.back());
          held.pop_back();
        } else if (dice == 97) {
          pool->FreeAllBlocks();
        } else {
          EXPECT_LE(pool->Stats().used_bytes, 4 << 20);
          pool->DescribeHolders();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(pool->CheckInvariants().ok()) << pool->CheckInvariants();
  EXPECT_EQ(pool->UsedBytes(), 0);
  pool->FreeAllBlocks();
  EXPECT_EQ(pool->TotalBytes(), 0);
}

// The needs of the two threads fit the limit one after the other, but not together with the other's cached
// blocks. Each thread must wait for the other's release and not fail.
TEST(CachingAllocatorRandomTest, ThreadsWaitForEachOthersRelease) {
  auto pool = CachingAllocator::Create(std::make_unique<FakeMemory>(int64_t{1} << 40),
                                       {.limit = MemoryLimit{.bytes = 100 * 512}})
                  .value();
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&pool, t] {
      for (int64_t step = 0; step < 3000; ++step) {
        const absl::StatusOr<Allocation> a = pool->Allocate(512 * (10 + (step * 13 + t) % 40), "t", t);
        EXPECT_TRUE(a.ok()) << a.status();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace sinter
