#include "sinter/runtime/process_allocator.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/device_memory.h"
#include "sinter/runtime/status.h"

namespace sinter {
namespace {

struct Allocators {
  std::mutex mutex;
  std::map<Device, std::unique_ptr<CachingAllocator>> of;
};

absl::StatusOr<std::unique_ptr<DeviceMemory>> MemoryOf(Device device) {
  if (device.is_cpu()) return std::make_unique<HostMemory>(device);
  return absl::UnimplementedError(absl::StrCat("the memory of ", device.ToString(),
                                               " is not managed by this build: it manages that of CPUs, cpu:0"));
}

}  // namespace

absl::StatusOr<CachingAllocator*> ProcessAllocator(Device device) {
  // Never destroyed, as the header says why; still reachable, so that leak checkers are content.
  static Allocators* const allocators = new Allocators;
  std::lock_guard lock(allocators->mutex);
  std::unique_ptr<CachingAllocator>& allocator = allocators->of[device];
  if (allocator == nullptr) {
    SINTER_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> memory, MemoryOf(device));
    SINTER_ASSIGN_OR_RETURN(allocator, CachingAllocator::Create(std::move(memory)));
  }
  return allocator.get();
}

}  // namespace sinter
