// A CUDA GPU as a device of a session (device_runtime.h).
//
//   SINTER_ASSIGN_OR_RETURN(auto gpu, MakeCudaRuntime(Device::Gpu(0), {.allocator = pool}));
//
// All work of a runtime runs in submission order on one stream. Uploads go through a ring of pinned staging
// buffers, so that the CPU continues as soon as the bytes are copied there. Two more streams run in parallel,
// ordered with the first by events: one uploads inputs while earlier runs still compute, the other runs
// collectives (collective_step.cc). Capture puts the first stream, with its collectives, into a CUDA graph.
//
// Only in builds with CUDA (SINTER_WITH_CUDA). This header uses no CUDA type.
#ifndef SINTER_RUNTIME_CUDA_CUDA_RUNTIME_H_
#define SINTER_RUNTIME_CUDA_CUDA_RUNTIME_H_

#include <memory>

#include "absl/status/statusor.h"
#include "sinter/runtime/device/device_runtime.h"
#include "sinter/runtime/host/thread_pool.h"
#include "sinter/runtime/memory/caching_allocator.h"
#include "sinter/runtime/memory/device.h"
#include "sinter/runtime/world/exchange_patience.h"

namespace sinter {

class LoadTimes;
class SessionTuning;

namespace fb {
struct Plan;
}  // namespace fb

struct CudaRuntimeOptions {
  // Allocator of the GPU's memory (MakeCudaMemory); must outlive the runtime. If null, the runtime makes one,
  // with the memory limit of the environment.
  CachingAllocator* allocator = nullptr;
  // Known fastest algorithms; must outlive the runtime. Null if there are none.
  SessionTuning* tuning = nullptr;
  // Receives the durations of slow parts of Load; must outlive the runtime. Null if load times are not
  // captured.
  LoadTimes* load_times = nullptr;
  // Threads that copy Upload's data to pinned memory: with a single thread, the copy takes four times as long
  // as the PCIe transfer. Runs do not use the pool, because its idle threads would spin between tasks.
  ThreadPool pool = ThreadPool(1);
  ExchangePatience exchange_patience;  // Limits exchanges with other GPUs.
  // The plan whose steps the runtime will make, for the libraries to load while the GPU is initialized. A
  // failure is reported by the step that needs the library. Null: each step loads what it needs.
  const fb::Plan* plan = nullptr;
};

// Returns the runtime of a GPU. NotFound with the reason if the GPU does not exist. InvalidArgument if
// `device` is not a GPU, the allocator belongs to another device, or SINTER_DISABLE_P2P or a variable of
// gpu_switches.h is malformed.
//
// The destructor waits for the runtime's work. Destroy CapturedGraph before the runtime. Free memory that its
// work uses after the runtime's destruction or after Synchronize.
absl::StatusOr<std::unique_ptr<DeviceRuntime>> MakeCudaRuntime(Device device,
                                                               const CudaRuntimeOptions& options = {});

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CUDA_RUNTIME_H_
