// The raw memory of a device, from which a caching allocator draws large pieces.
//
//   HostMemory memory;                                       // Main memory, as cpu:0.
//   SINTER_ASSIGN_OR_RETURN(void* p, memory.Allocate(1 << 20));
//   memory.Free(p, 1 << 20);
//
// All sizes are in bytes. Implementations are thread-safe. Raw calls may be slow and may wait for the device
// (as cudaMalloc and cudaFree do): programs go through CachingAllocator, never here.
#ifndef SINTER_RUNTIME_MEMORY_DEVICE_MEMORY_H_
#define SINTER_RUNTIME_MEMORY_DEVICE_MEMORY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "sinter/runtime/memory/device.h"

namespace sinter {

// Names a queue of work on a device. Memory freed on one stream is only reused on the same stream. On the CPU
// there is one, 0. Opaque: a GPU backend stores its stream handle here.
using StreamId = uint64_t;

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // `bytes` > 0. The address is a multiple of alignment(). ResourceExhausted when the device has no room,
  // which makes the caching allocator give back what it holds and ask again; any other error is passed on.
  virtual absl::StatusOr<void*> Allocate(int64_t bytes) = 0;
  // Takes back what Allocate(bytes) returned. The device may still be working on it: waiting is this call's
  // job.
  virtual void Free(void* ptr, int64_t bytes) noexcept = 0;
  // Sets every byte of the range, before anything that the program starts later.
  virtual void Fill(void* ptr, uint8_t value, int64_t bytes) noexcept = 0;

  // Tell what watches accesses, as AddressSanitizer does main memory, which bytes the program may touch: those
  // that were served, not those that are cached. Without such a tool nothing happens. What Allocate returns may
  // be touched; Free takes either.
  virtual void MarkAccessible(void*, int64_t) noexcept {}
  virtual void MarkInaccessible(void*, int64_t) noexcept {}

  // What the device has in all, and what is left for this process just now (an estimate: others use it too).
  virtual int64_t TotalBytes() const = 0;
  virtual int64_t FreeBytes() const = 0;

  virtual Device device() const = 0;
  virtual int64_t alignment() const = 0;

 protected:
  DeviceMemory() = default;
};

// Main memory. Pieces of 4 MiB and more start at a 2 MiB boundary and ask the kernel for huge pages, which
// means fewer page faults at the first touch and fewer TLB entries. TotalBytes and FreeBytes respect the
// memory limit of the process's control group. Allocate refuses what exceeds FreeBytes at once, because the
// kernel would grant it and kill the process at first touch. What this process was granted and has not touched yet, in pieces
// of 4 MiB and more, is not free any more, though the system says so: of two sessions that fit singly, the second is refused.
// What other processes have not touched nobody knows.
class HostMemory : public DeviceMemory {
 public:
  static constexpr int64_t kAlignment = 512;
  static constexpr int64_t kHugeBytes = int64_t{4} << 20;

  explicit HostMemory(Device device = Device::Cpu()) : device_(device) {}

  absl::StatusOr<void*> Allocate(int64_t bytes) override;
  void Free(void* ptr, int64_t bytes) noexcept override;
  void Fill(void* ptr, uint8_t value, int64_t bytes) noexcept override;
  void MarkAccessible(void* ptr, int64_t bytes) noexcept override;
  void MarkInaccessible(void* ptr, int64_t bytes) noexcept override;
  int64_t TotalBytes() const override;
  int64_t FreeBytes() const override;
  // Of pieces of kHugeBytes and more that live, whoever has allocated them: what has no page yet. Looks at each page,
  // but of pieces that have all of theirs.
  static int64_t UntouchedBytes();
  Device device() const override { return device_; }
  int64_t alignment() const override { return kAlignment; }

 private:
  // As the system says.
  int64_t SystemFreeBytes() const;
  bool HasRoomFor(int64_t bytes) const;

  Device device_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_MEMORY_DEVICE_MEMORY_H_
