// A caching allocator (memory pool) over the raw memory of one device.
//
// It serves variables, user tensors, arenas of plans and workspaces, so its statistics cover all of them.
// Programs normally use the process's allocator for the device (runtime/memory/process_allocator.h).
//
//   SINTER_ASSIGN_OR_RETURN(auto pool, CachingAllocator::Create(std::make_unique<HostMemory>()));
//   {
//     SINTER_ASSIGN_OR_RETURN(Allocation a, pool->Allocate(400, "variable w1"));
//     Use(a.ptr());          // pool->UsedBytes() == 512, TotalBytes() == 512
//   }                        // UsedBytes() == 0, TotalBytes() == 512: kept for the next request.
//   pool->FreeAllBlocks();   // TotalBytes() == 0
//
// The unit of memory is 512 bytes. Each stream has its own arena of cached blocks. A request takes the
// smallest cached block of its stream that is large enough and splits off the rest. If there is no such
// block, the request goes to the device. A freed block merges with its free neighbours. Both operations take
// O(log n) in the number of cached blocks. Cached memory counts as used by the process: external tools (top,
// nvidia-smi) show TotalBytes().
//
// If the device or the limit has no room, the allocator returns its cached memory to the device and tries
// once more. Then it fails with ResourceExhausted; the message has the sizes and the tags that hold most. A
// request may fail although enough bytes are cached, because a segment that is partly in use cannot be
// returned. The error gives these bytes.
//
// AddressSanitizer stops a program that touches freed memory, or bytes after those that it requested, as with
// malloc.
//
// Thread-safe. Freeing never fails and never allocates. Allocations may outlive the CachingAllocator; the
// last one returns its memory to the device. All sizes are in bytes.
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

// Event for an observer. `ptr` is null before an allocation and after a failed one.
struct PoolEvent {
  Device device;
  StreamId stream = 0;
  int64_t bytes = 0;          // As requested.
  int64_t rounded_bytes = 0;  // As served: a multiple of 512.
  void* ptr = nullptr;
  std::string_view tag;  // Valid during the call. Empty for raw frees.
};

// Observes an allocator. "Raw" calls go to the device; the others serve the program. The allocator calls
// observers without its lock, from any thread. An observer must be thread-safe and may use the allocator.
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

// Owns one piece of memory and frees it. Movable. Default-constructed and zero-byte allocations are empty:
// ptr() is null.
class Allocation {
 public:
  Allocation() = default;
  Allocation(Allocation&& other) noexcept;
  Allocation& operator=(Allocation&& other) noexcept;
  ~Allocation() { Reset(); }

  void* ptr() const { return ptr_; }
  int64_t bytes() const { return bytes_; }  // As requested.
  int64_t rounded_bytes() const;            // As served: the bytes that UsedBytes() counts.
  std::string_view tag() const;
  // Returns the memory to its pool now.
  void Reset() noexcept;

 private:
  friend class CachingAllocator;
  Allocation(std::shared_ptr<internal_allocator::Pool> pool, internal_allocator::Block* block, int64_t bytes);

  std::shared_ptr<internal_allocator::Pool> pool_;
  internal_allocator::Block* block_ = nullptr;
  void* ptr_ = nullptr;
  int64_t bytes_ = 0;
};

// While a scope exists, its pool takes no memory from the device and returns none. Requests get cached blocks
// or fail with FailedPrecondition, and FreeAllBlocks does nothing. For graph capture and for steady state.
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
  int64_t used_bytes = 0;   // Allocated, rounded up.
  int64_t free_bytes = 0;   // Cached.
  int64_t total_bytes = 0;  // used + free: all memory from the device.
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
    // nullopt: the environment's limit (memory_limit.h).
    std::optional<MemoryLimit> limit = std::nullopt;
    // For tests: fills memory with 0xff (NaN and -1) when it is allocated and when it is freed.
    bool poison = false;
  };

  // InvalidArgument if the limit is invalid.
  static absl::StatusOr<std::unique_ptr<CachingAllocator>> Create(std::unique_ptr<DeviceMemory> memory,
                                                                  const Options& options);
  static absl::StatusOr<std::unique_ptr<CachingAllocator>> Create(std::unique_ptr<DeviceMemory> memory);

  // Allocates `bytes` of uninitialised memory, aligned to 512. `tag` names the purpose in error messages
  // ("arena of train", "variable w1"). 0 bytes give an empty Allocation. Errors: InvalidArgument (negative),
  // ResourceExhausted (no room), FailedPrecondition (within a NoGrowthScope).
  absl::StatusOr<Allocation> Allocate(int64_t bytes, std::string_view tag, StreamId stream = 0);

  // Returns cached blocks to the device: all, or those of one stream. Keeps segments that are partly in use.
  // Returns the number of bytes freed.
  int64_t FreeAllBlocks(std::optional<StreamId> stream = std::nullopt);

  int64_t UsedBytes() const { return Stats().used_bytes; }
  int64_t FreeBytes() const { return Stats().free_bytes; }
  int64_t TotalBytes() const { return Stats().total_bytes; }
  int64_t NumFreeBlocks() const { return Stats().free_blocks; }
  PoolStats Stats() const;
  // Resets the peaks to the current use.
  void ResetPeaks();

  // Limits TotalBytes(). Memory already held stays; the next request that needs more from the device fails.
  absl::Status SetLimit(const MemoryLimit& limit);
  // 0 if there is no limit.
  int64_t GetLimit() const;

  NoGrowthScope ForbidGrowth();

  void AddObserver(std::shared_ptr<PoolObserver> observer);
  void RemoveObserver(const PoolObserver* observer);

  // Lines "<bytes> in <n>: <tag>" for the memory in use, most bytes first, at most `max_tags` lines.
  std::string DescribeHolders(int max_tags = 10) const;

  // Internal if the bookkeeping is inconsistent, which is a bug of Sinter. O(n log n): for tests.
  absl::Status CheckInvariants() const;

  DeviceMemory& memory() const;
  Device device() const { return memory().device(); }

 private:
  explicit CachingAllocator(std::shared_ptr<internal_allocator::Pool> pool) : pool_(std::move(pool)) {}

  std::shared_ptr<internal_allocator::Pool> pool_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_MEMORY_CACHING_ALLOCATOR_H_
