// Makes the runtime of a device of any kind (runtime/device/device_runtime.h describes runtimes).
//
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<DeviceRuntime> runtime,
//                           MakeDeviceRuntime(Device::Gpu(1), nullptr, context));
#ifndef SINTER_RUNTIME_DEVICE_DEVICE_RUNTIMES_H_
#define SINTER_RUNTIME_DEVICE_DEVICE_RUNTIMES_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "sinter/runtime/device/device_runtime.h"
#include "sinter/runtime/device/step.h"
#include "sinter/runtime/memory/caching_allocator.h"
#include "sinter/runtime/memory/device.h"

namespace sinter {

// `allocator` belongs to this device and outlives the runtime; null selects ProcessAllocator(device).
// `context` is for CPUs; a GPU takes from it the tuning, load times, pool and library requirements. Errors:
// those of CheckDevice (runtime/memory/device_info.h), and those of a device that does not respond.
absl::StatusOr<std::unique_ptr<DeviceRuntime>> MakeDeviceRuntime(Device device, CachingAllocator* allocator,
                                                                 const StepContext& context);

using DeviceRuntimeFactory = std::function<absl::StatusOr<std::unique_ptr<DeviceRuntime>>(
    Device device, CachingAllocator* allocator, const StepContext& context)>;

}  // namespace sinter

#endif  // SINTER_RUNTIME_DEVICE_DEVICE_RUNTIMES_H_
