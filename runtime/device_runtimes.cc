#include "sinter/runtime/device_runtimes.h"

#include "sinter/runtime/device_info.h"
#include "sinter/runtime/host_runtime.h"
#include "sinter/runtime/process_allocator.h"
#include "sinter/runtime/status.h"
#ifdef SINTER_WITH_CUDA
#include "sinter/runtime/cuda/cuda_runtime.h"
#endif

namespace sinter {

absl::StatusOr<std::unique_ptr<DeviceRuntime>> MakeDeviceRuntime(Device device, CachingAllocator* allocator,
                                                                 const StepContext& context) {
  SINTER_RETURN_IF_ERROR(CheckDevice(device));
  if (allocator == nullptr) {
    SINTER_ASSIGN_OR_RETURN(allocator, ProcessAllocator(device));
  }
#ifdef SINTER_WITH_CUDA
  if (device.is_gpu()) {
    return MakeCudaRuntime(device, {.allocator = allocator,
                                    .tuning = context.tuning,
                                    .load_times = context.load_times,
                                    .pool = *context.pool,
                                    .needs_cublaslt = context.needs_cublaslt,
                                    .needs_cudnn = context.needs_cudnn});
  }
#endif
  return std::make_unique<HostRuntime>(device, context, allocator);
}

}  // namespace sinter
