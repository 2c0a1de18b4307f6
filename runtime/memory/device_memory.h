// The raw memory of a device, from which a caching allocator allocates large pieces.
//
//   HostMemory memory;                                       // Main memory, as cpu:0.
//   SINTER_ASSIGN_OR_RETURN(void* p, memory.Allocate(1 << 20));
//   memory.Free(p, 1 << 20);
//
// All sizes are in bytes. Implementations are thread-safe. Raw calls may be slow and may wait for the device,
// as cudaMalloc and cudaFree do. Programs must use CachingAllocator instead.
#ifndef SINTER_RUNTIME_MEMORY_DEVICE_MEMORY_H_
#define SINTER_RUNTIME_MEMORY_DEVICE_MEMORY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "sinter/runtime/memory/device.h"

namespace sinter {

// Identifies a queue of work on a device. Memory freed on a stream is reused only on that stream. The CPU has
// one stream, 0. Opaque: a GPU backend stores its stream handle here.
using StreamId = uint64_t;

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // `bytes` > 0. The address is a multiple of alignment(). ResourceExhausted if the device has no room: the
  // caching allocator then returns its cached memory and tries again. The allocator passes on any other
  // error.
  virtual absl::StatusOr<void*> Allocate(int64_t bytes) = 0;
  // Frees memory from Allocate(bytes). The device may still be using the memory; this call waits for it.
  virtual void Free(void* ptr, int64_t bytes) noexcept = 0;
  // Sets every byte of the range, before any work that the program starts later.
  virtual void Fill(void* ptr, uint8_t value, int64_t bytes) noexcept = 0;

  // Tell a memory checker (AddressSanitizer for main memory) which bytes the program may access: allocated
  // bytes, not cached ones. They do nothing without such a tool. Memory from Allocate is accessible. Free
  // takes both kinds.
  virtual void MarkAccessible(void*, int64_t) noexcept {}
  virtual void MarkInaccessible(void*, int64_t) noexcept {}

  // The device's memory, and the part left for this process (an estimate: other processes use the device
  // too).
  virtual int64_t TotalBytes() const = 0;
  virtual int64_t FreeBytes() const = 0;

  virtual Device device() const = 0;
  virtual int64_t alignment() const = 0;

 protected:
  DeviceMemory() = default;
};

// Main memory. Pieces of 4 MiB and more start at a 2 MiB boundary and request huge pages, for fewer page
// faults at first touch and fewer TLB entries. TotalBytes and FreeBytes respect the memory limit of the
// process's control group. Allocate refuses pieces of 4 MiB and more that exceed FreeBytes, because the
// kernel would grant them and kill the process at first touch. FreeBytes also subtracts the untouched memory
// of such pieces of this process, which the system still counts as free. So of two sessions that fit only
// singly, the second is refused. Untouched memory of other processes is unknown.
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
  // Untouched bytes of all live pieces of kHugeBytes and more in this process. Checks every page, except in
  // pieces that are known to be fully touched.
  static int64_t UntouchedBytes();
  Device device() const override { return device_; }
  int64_t alignment() const override { return kAlignment; }

 private:
  // Free memory as the system reports it.
  int64_t SystemFreeBytes() const;
  bool HasRoomFor(int64_t bytes) const;

  Device device_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_MEMORY_DEVICE_MEMORY_H_
