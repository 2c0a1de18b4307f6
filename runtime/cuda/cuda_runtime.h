// The GPUs of CUDA as devices of a session (runtime/device/device_runtime.h).
//
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<DeviceRuntime> gpu, MakeCudaRuntime(Device::Gpu(0), {.allocator = pool}));
//
// All work of a runtime goes to one stream, in the order in which it was given; uploads through a ring of pinned memory,
// so that the CPU goes on as soon as the bytes are there. Two streams more run beside it, ordered with it by events: inputs
// come in on one while the work of earlier runs goes on, collectives go on the other (collective_step.cc). Record captures
// the first, with the collectives, into a CUDA graph.
//
// Only in builds with CUDA (SINTER_WITH_CUDA). No CUDA type is seen here.
#ifndef SINTER_RUNTIME_CUDA_CUDA_RUNTIME_H_
#define SINTER_RUNTIME_CUDA_CUDA_RUNTIME_H_

#include <memory>

#include "absl/status/statusor.h"
#include "sinter/runtime/device/device_runtime.h"
#include "sinter/runtime/host/thread_pool.h"
#include "sinter/runtime/memory/caching_allocator.h"
#include "sinter/runtime/memory/device.h"

namespace sinter {

class LoadTimes;
class SessionTuning;

struct CudaRuntimeOptions {
  // Of the GPU's memory (MakeCudaMemory); outlives the runtime. Null: the runtime makes its own, with the limit that the
  // environment sets.
  CachingAllocator* allocator = nullptr;
  // What is known of the quickest algorithms; outlives the runtime. Null: nothing.
  SessionTuning* tuning = nullptr;
  // Where what takes long says so; outlives the runtime. Null: nobody asks.
  LoadTimes* load_times = nullptr;
  // Copies what Upload is given into pinned memory: one thread takes four times as long as PCIe. Runs do not use it: its threads
  // would wait for the next one without sleeping.
  ThreadPool pool = ThreadPool(1);
  // Libraries to open while the GPU is reached. What keeps them from it is the error of the step that needs them.
  bool needs_cublaslt = false, needs_cudnn = false;
};

// NotFound: no such GPU, and why. InvalidArgument: the device is no GPU, the allocator is another device's, or
// SINTER_DISABLE_P2P or a variable of gpu_switches.h cannot be read.
//
// The runtime waits for its work when it is destroyed. RecordedWork must be destroyed before it, and memory that its work
// uses freed after it, or after Synchronize.
absl::StatusOr<std::unique_ptr<DeviceRuntime>> MakeCudaRuntime(Device device,
                                                               const CudaRuntimeOptions& options = {});

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CUDA_RUNTIME_H_
