// Memory sources for caching allocators: GPU memory, and pinned main memory that GPUs access directly.
//
//   SINTER_ASSIGN_OR_RETURN(auto memory, MakeCudaMemory(0));
//   SINTER_ASSIGN_OR_RETURN(auto pool, CachingAllocator::Create(std::move(memory)));
//   pool->Allocate(bytes, "arena", StreamOf(stream));   // Once freed, it is reused on this stream only.
//
// The work of a stream runs in order. So memory freed while queued work still uses it may be given at once to
// later work on the same stream. This header uses no CUDA type.
#ifndef SINTER_RUNTIME_CUDA_DRIVER_CUDA_MEMORY_H_
#define SINTER_RUNTIME_CUDA_DRIVER_CUDA_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "sinter/runtime/memory/device_memory.h"

namespace sinter {

// Returns the StreamId of a cudaStream_t.
inline StreamId StreamOf(void* stream) { return reinterpret_cast<StreamId>(stream); }

// NotFound if the GPU does not exist. Allocate returns ResourceExhausted with the requested and the free
// bytes. Free waits for the GPU's work, as cudaFree does. Fill waits before and after.
absl::StatusOr<std::unique_ptr<DeviceMemory>> MakeCudaMemory(int index);

// Returns a source of page-locked main memory; its device is cpu:0. FailedPrecondition if there is no GPU.
// Locked memory is unavailable to all other programs of the machine, so use it for staging buffers and inputs
// alone.
absl::StatusOr<std::unique_ptr<DeviceMemory>> MakePinnedMemory();

// True if the bytes are page-locked main memory, of whatever owner: a GPU then copies from it by itself.
bool IsPinned(const void* data, size_t bytes);

// Successful calls of cudaMalloc, cudaHostAlloc, cudaFree and cudaFreeHost by this program so far, and failed
// frees. A steady state makes no calls. A lost GPU (lost_gpus.h) frees nothing: its memory, and memory pinned
// for it, is released when the program ends.
struct CudaDriverCalls {
  int64_t allocations = 0;
  int64_t frees = 0;
  int64_t failed_frees = 0;
};
CudaDriverCalls CountCudaDriverCalls();

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_DRIVER_CUDA_MEMORY_H_
