// Raw memory of a GPU, and main memory that GPUs reach by themselves (pinned): what caching allocators draw from.
//
//   SINTER_ASSIGN_OR_RETURN(auto memory, MakeCudaMemory(0));
//   SINTER_ASSIGN_OR_RETURN(auto pool, CachingAllocator::Create(std::move(memory)));
//   pool->Allocate(bytes, "arena", StreamOf(stream));   // Freed, it is reused on this stream only.
//
// A stream's work runs in order, so what was freed while work on it is still on its way may be handed out again to work
// given later to the same stream. No CUDA type is seen here.
#ifndef SINTER_RUNTIME_CUDA_DRIVER_CUDA_MEMORY_H_
#define SINTER_RUNTIME_CUDA_DRIVER_CUDA_MEMORY_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "sinter/runtime/memory/device_memory.h"

namespace sinter {

// The StreamId of a cudaStream_t.
inline StreamId StreamOf(void* stream) { return reinterpret_cast<StreamId>(stream); }

// Errors: NotFound (no such GPU). Allocate: ResourceExhausted with what was asked and what is free. Free waits for the
// GPU's work, as cudaFree does. Fill waits for it before and afterwards.
absl::StatusOr<std::unique_ptr<DeviceMemory>> MakeCudaMemory(int index);

// Main memory that the driver has locked; as cpu:0. FailedPrecondition: there is no GPU. Locked memory is taken from all
// programs of the machine: for staging, not for data.
absl::StatusOr<std::unique_ptr<DeviceMemory>> MakePinnedMemory();

// Calls of cudaMalloc, cudaHostAlloc and their opposites by this program so far, successful ones: a steady state has none.
// A GPU that is lost (lost_gpus.h) frees nothing: its memory, and what is pinned for it, goes back when the program ends.
struct CudaDriverCalls {
  int64_t allocations = 0;
  int64_t frees = 0;
  int64_t failed_frees = 0;
};
CudaDriverCalls CountCudaDriverCalls();

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_DRIVER_CUDA_MEMORY_H_
