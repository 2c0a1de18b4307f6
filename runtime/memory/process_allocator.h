// The process-wide caching allocator of each device, which counts and limits the device's memory.
//
//   SINTER_ASSIGN_OR_RETURN(CachingAllocator * memory, ProcessAllocator());
//   memory->Stats().used_bytes                    // Sum over all sessions and tensors.
//   memory->DescribeHolders()                     // Largest users: "variable w1", "tensor f32[64,784]".
//   memory->SetLimit({.bytes = int64_t{4} << 30}) // New limit for all users; an error changes nothing.
//   memory->FreeAllBlocks()                       // Returns cached blocks to the device.
//
// Every owning HostTensor and every session allocates here. SessionOptions::allocator makes a session use
// another allocator, with its own statistics. An allocation above the limit or the device's memory fails with
// ResourceExhausted; the message lists the largest users. While a NoGrowthScope of the allocator exists,
// tensors too use cached memory only.
//
// The first call for a device creates its allocator, with the limit that the environment sets at that time
// (runtime/memory/memory_limit.h). The allocator is never destroyed, because static objects may free tensors
// at program exit. Virtual CPU devices (runtime/memory/device.h) share memory, but each has its own
// statistics and limit. Thread-safe.
#ifndef SINTER_RUNTIME_MEMORY_PROCESS_ALLOCATOR_H_
#define SINTER_RUNTIME_MEMORY_PROCESS_ALLOCATOR_H_

#include "absl/status/statusor.h"
#include "sinter/runtime/memory/caching_allocator.h"
#include "sinter/runtime/memory/device.h"

namespace sinter {

// Never null. Returns the same pointer for the life of the process. InvalidArgument: the environment's limit
// is not readable. Also returns the errors of MakeDeviceMemory (runtime/memory/device_info.h): no such GPU,
// or a build without CUDA.
absl::StatusOr<CachingAllocator*> ProcessAllocator(Device device = Device::Cpu());

// Main memory that the device copies from without a copy by the CPU: page-locked memory for a GPU, and
// ProcessAllocator() for a device that gains nothing by it. For inputs that are large or change at every run:
//   SINTER_ASSIGN_OR_RETURN(CachingAllocator * pinned, PinnedHost(Device::Gpu(0)));
//   SINTER_ASSIGN_OR_RETURN(HostTensor x, HostTensor::Empty(DType::kF32, {256, 3, 224, 224}, *pinned));
// Devices of one kind share one allocator, which is never destroyed. Locked memory is unavailable to all
// other programs of the machine. Errors: those of CheckDevice (runtime/memory/device_info.h) and of a bad
// limit.
absl::StatusOr<CachingAllocator*> PinnedHost(Device device);

// Null if ProcessAllocator has not been called for `device`.
CachingAllocator* FindProcessAllocator(Device device);

}  // namespace sinter

#endif  // SINTER_RUNTIME_MEMORY_PROCESS_ALLOCATOR_H_
