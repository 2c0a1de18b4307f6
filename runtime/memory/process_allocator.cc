#include "sinter/runtime/memory/process_allocator.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "sinter/runtime/host/status.h"
#include "sinter/runtime/memory/backend.h"
#include "sinter/runtime/memory/device_info.h"
#include "sinter/runtime/memory/device_memory.h"

namespace sinter {
namespace {

struct Allocators {
  std::mutex mutex;
  std::map<Device, std::unique_ptr<CachingAllocator>> of;
  std::map<DeviceKind, std::unique_ptr<CachingAllocator>> pinned;
};

// Never destroyed (the header says why). The static pointer keeps it reachable for leak checkers.
Allocators& All() {
  static Allocators* const allocators = new Allocators;
  return *allocators;
}

}  // namespace

absl::StatusOr<CachingAllocator*> ProcessAllocator(Device device) {
  std::lock_guard lock(All().mutex);
  const auto found = All().of.find(device);
  if (found != All().of.end()) return found->second.get();
  SINTER_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> memory, MakeDeviceMemory(device));
  SINTER_ASSIGN_OR_RETURN(std::unique_ptr<CachingAllocator> allocator,
                          CachingAllocator::Create(std::move(memory)));
  return (All().of[device] = std::move(allocator)).get();
}

absl::StatusOr<CachingAllocator*> PinnedHost(Device device) {
  SINTER_RETURN_IF_ERROR(CheckDevice(device));
  SINTER_ASSIGN_OR_RETURN(const Backend* const backend, FindBackend(device));
  {
    std::lock_guard lock(All().mutex);
    const auto found = All().pinned.find(device.kind());
    if (found != All().pinned.end()) return found->second.get();
    SINTER_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> memory, backend->MakePinnedMemory());
    if (memory != nullptr) {
      SINTER_ASSIGN_OR_RETURN(std::unique_ptr<CachingAllocator> allocator,
                              CachingAllocator::Create(std::move(memory)));
      return (All().pinned[device.kind()] = std::move(allocator)).get();
    }
  }
  return ProcessAllocator();
}

CachingAllocator* FindProcessAllocator(Device device) {
  std::lock_guard lock(All().mutex);
  const auto found = All().of.find(device);
  return found == All().of.end() ? nullptr : found->second.get();
}

}  // namespace sinter
