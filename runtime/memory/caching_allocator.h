// A caching allocator (memory pool) over the raw memory of one device. It serves everything alike: variables,
// user tensors, arenas of plans, workspaces; so its statistics account for all of them. Programs use the one
// that the process has for the device (runtime/memory/process_allocator.h), and seldom make another.
//
//   SINTER_ASSIGN_OR_RETURN(auto pool, CachingAllocator::Create(std::make_unique<HostMemory>()));
//   {
//     SINTER_ASSIGN_OR_RETURN(Allocation a, pool->Allocate(400, "variable w1"));
//     Use(a.ptr());                       // pool->UsedBytes() == 512, TotalBytes() == 512
//   }                                     // UsedBytes() == 0, TotalBytes() == 512: kept for the next
//   request. pool->FreeAllBlocks();                // TotalBytes() == 0
//
// Memory is handed out in units of 512 bytes. Each stream has its own arena of cached blocks: a request takes
// the smallest cached block of its stream that is large enough, splits off what it does not need, and asks
// the device only when there is none; a freed block merges with its free neighbours. Both cost O(log n) in
// the cached blocks. Cached memory counts as used by the process: tools that look from outside (top,
// nvidia-smi) show TotalBytes().
//
// When the device or the limit has no room, the allocator gives back what it has cached, tries once more, and
// then fails with ResourceExhausted, naming the sizes involved and the tags that hold most. One request may
// then be too large although enough bytes are cached: blocks of which a part is in use cannot go back. The
// error says how many.
//
// Built with AddressSanitizer, a program that touches memory which it has freed, or bytes behind those that it
// asked for, is stopped as it would be with malloc.
//
// Thread-safe. Freeing never fails and never allocates. Allocations may outlive the CachingAllocator: its
// memory goes back to the device with the last of them. All sizes are in bytes.
#ifndef SINTER_RUNTIME_MEMORY_CACHING_ALLOCATOR_H_
#define SINTER_RUNTIME_MEMORY_CACHING_ALLOCATOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/memory/device.h"
#include "sinter/runtime/memory/device_memory.h"
#include "sinter/runtime/memory/memory_limit.h"

namespace sinter {

namespace internal_allocator {
struct Block;
class Pool;
}  // namespace internal_allocator

// What an observer is told. `ptr` is null before an allocation and after a failed one.
struct PoolEvent {
  Device device;
  StreamId stream = 0;
  int64_t bytes = 0;          // As asked.
  int64_t rounded_bytes = 0;  // As served: a multiple of 512.
  void* ptr = nullptr;
  std::string_view tag;  // Valid during the call. Empty for raw frees.
};

// Watches an allocator. "Raw" calls reach the device; the others are served to the program. Called without
// the allocator's lock, from any thread, so an implementation must be thread-safe and may use the allocator.
class PoolObserver {
 public:
  virtual ~PoolObserver() = default;
  virtual void BeforeRawAllocate(const PoolEvent&) noexcept {}
  virtual void AfterRawAllocate(const PoolEvent&) noexcept {}
  virtual void BeforeRawFree(const PoolEvent&) noexcept {}
  virtual void AfterRawFree(const PoolEvent&) noexcept {}
  virtual void BeforeAllocate(const PoolEvent&) noexcept {}
  virtual void AfterAllocate(const PoolEvent&) noexcept {}
  virtual void BeforeFree(const PoolEvent&) noexcept {}
  virtual void AfterFree(const PoolEvent&) noexcept {}
};

// Owns one piece of memory and frees it. Movable. Default-made and zero-byte ones are empty: ptr() is null.
class Allocation {
 public:
  Allocation() = default;
  Allocation(Allocation&& other) noexcept;
  Allocation& operator=(Allocation&& other) noexcept;
  ~Allocation() { Reset(); }

  void* ptr() const { return ptr_; }
  int64_t bytes() const { return bytes_; }  // As asked.
  int64_t rounded_bytes() const;            // As served: what UsedBytes() counts.
  std::string_view tag() const;
  // Gives the memory back to its pool now.
  void Reset() noexcept;

 private:
  friend class CachingAllocator;
  Allocation(std::shared_ptr<internal_allocator::Pool> pool, internal_allocator::Block* block, int64_t bytes);

  std::shared_ptr<internal_allocator::Pool> pool_;
  internal_allocator::Block* block_ = nullptr;
  void* ptr_ = nullptr;
  int64_t bytes_ = 0;
};

// While one lives, its pool neither takes memory from the device nor gives any back: requests are served from
// cached blocks or fail with FailedPrecondition, and FreeAllBlocks does nothing. For graph capture and for
// steady state.
class NoGrowthScope {
 public:
  NoGrowthScope(NoGrowthScope&&) noexcept = default;
  NoGrowthScope& operator=(NoGrowthScope&&) = delete;
  ~NoGrowthScope();

 private:
  friend class CachingAllocator;
  explicit NoGrowthScope(std::shared_ptr<internal_allocator::Pool> pool);

  std::shared_ptr<internal_allocator::Pool> pool_;
};

// A consistent snapshot.
struct PoolStats {
  int64_t used_bytes = 0;   // In allocations, rounded up.
  int64_t free_bytes = 0;   // Cached.
  int64_t total_bytes = 0;  // used + free: taken from the device.
  int64_t peak_used_bytes = 0;
  int64_t peak_total_bytes = 0;
  int64_t free_blocks = 0;
  int64_t raw_allocations = 0;  // Calls to the device since the pool was made.
  int64_t raw_frees = 0;
};

class CachingAllocator {
 public:
  static constexpr int64_t kUnit = 512;

  struct Options {
    // Unset: what the environment says (memory_limit.h).
    std::optional<MemoryLimit> limit = std::nullopt;
    // For tests: fills memory with 0xff, which reads as NaN and as -1, when it is served and when it is
    // freed.
    bool poison = false;
  };

  // InvalidArgument when the limit is bad.
  static absl::StatusOr<std::unique_ptr<CachingAllocator>> Create(std::unique_ptr<DeviceMemory> memory,
                                                                  const Options& options);
  static absl::StatusOr<std::unique_ptr<CachingAllocator>> Create(std::unique_ptr<DeviceMemory> memory);

  // `bytes` of uninitialised memory, aligned to 512. `tag` says what for, in the words of an error message
  // ("arena of train", "variable w1"). 0 bytes give an empty Allocation and take nothing. Errors:
  // InvalidArgument (negative), ResourceExhausted (no room), FailedPrecondition (within a NoGrowthScope).
  absl::StatusOr<Allocation> Allocate(int64_t bytes, std::string_view tag, StreamId stream = 0);

  // Gives cached blocks back to the device: all, or those of one stream. A block that is split stays, because
  // a part of it is in use. Returns the bytes given back.
  int64_t FreeAllBlocks(std::optional<StreamId> stream = std::nullopt);

  int64_t UsedBytes() const { return Stats().used_bytes; }
  int64_t FreeBytes() const { return Stats().free_bytes; }
  int64_t TotalBytes() const { return Stats().total_bytes; }
  int64_t NumFreeBlocks() const { return Stats().free_blocks; }
  PoolStats Stats() const;
  // Lets the peaks start again from what is in use now.
  void ResetPeaks();

  // Limits TotalBytes(). Memory held already stays; the next request that needs more from the device fails.
  absl::Status SetLimit(const MemoryLimit& limit);
  // 0: no limit.
  int64_t GetLimit() const;

  NoGrowthScope ForbidGrowth();

  void AddObserver(std::shared_ptr<PoolObserver> observer);
  void RemoveObserver(const PoolObserver* observer);

  // Lines "<bytes> in <n>: <tag>" of what is in use, most bytes first, at most `max_tags`.
  std::string DescribeHolders(int max_tags = 10) const;

  // Internal when the bookkeeping contradicts itself, which would be our bug. O(n log n): for tests.
  absl::Status CheckInvariants() const;

  DeviceMemory& memory() const;
  Device device() const { return memory().device(); }

 private:
  explicit CachingAllocator(std::shared_ptr<internal_allocator::Pool> pool) : pool_(std::move(pool)) {}

  std::shared_ptr<internal_allocator::Pool> pool_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_MEMORY_CACHING_ALLOCATOR_H_
