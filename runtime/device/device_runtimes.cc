#include "sinter/runtime/device/device_runtimes.h"

#include "sinter/runtime/host/status.h"
#include "sinter/runtime/memory/backend.h"
#include "sinter/runtime/memory/process_allocator.h"

namespace sinter {

absl::StatusOr<std::unique_ptr<DeviceRuntime>> MakeDeviceRuntime(Device device, CachingAllocator* allocator,
                                                                 const StepContext& context) {
  SINTER_ASSIGN_OR_RETURN(const Backend* const backend, FindBackend(device));
  SINTER_RETURN_IF_ERROR(backend->Check(device.index()));
  if (allocator == nullptr) {
    SINTER_ASSIGN_OR_RETURN(allocator, ProcessAllocator(device));
  }
  return backend->MakeRuntime(device, allocator, context);
}

}  // namespace sinter
