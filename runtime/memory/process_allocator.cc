#include "sinter/runtime/memory/process_allocator.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "sinter/runtime/host/status.h"
#include "sinter/runtime/memory/device_info.h"
#include "sinter/runtime/memory/device_memory.h"

namespace sinter {
namespace {

struct Allocators {
  std::mutex mutex;
  std::map<Device, std::unique_ptr<CachingAllocator>> of;
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

CachingAllocator* FindProcessAllocator(Device device) {
  std::lock_guard lock(All().mutex);
  const auto found = All().of.find(device);
  return found == All().of.end() ? nullptr : found->second.get();
}

}  // namespace sinter
