// The one caching allocator of a device that a whole process shares: where the device's memory is counted and limited.
//
//   SINTER_ASSIGN_OR_RETURN(CachingAllocator * memory, ProcessAllocator());
//   memory->Stats().used_bytes                    // Of all sessions and tensors together.
//   memory->DescribeHolders()                     // Who holds them: "variable w1", "arena", "tensor f32[64,784]".
//   memory->SetLimit({.bytes = int64_t{4} << 30}) // From now on, for all of them; an error changes nothing.
//   memory->FreeAllBlocks()                       // What was freed is kept for later requests: give it back.
//
// Every owning HostTensor and every session draws from it; a session does not if SessionOptions::allocator names another
// one, whose statistics are then its own. An allocation beyond the limit, or beyond what the device has, is
// ResourceExhausted, and the message lists who holds most. While a NoGrowthScope of it lives, tensors too are only made
// of cached memory.
//
// A device's is made at the first call for it, with the limit that the environment sets then (runtime/memory/memory_limit.h),
// and never destroyed: tensors may be freed when a program ends, in whatever order its static objects go. Virtual CPU
// devices (runtime/memory/device.h) share memory, but are counted and limited one by one. Thread-safe.
#ifndef SINTER_RUNTIME_MEMORY_PROCESS_ALLOCATOR_H_
#define SINTER_RUNTIME_MEMORY_PROCESS_ALLOCATOR_H_

#include "absl/status/statusor.h"
#include "sinter/runtime/memory/caching_allocator.h"
#include "sinter/runtime/memory/device.h"

namespace sinter {

// Never null, and the same for the life of the process. InvalidArgument: the environment sets a limit that cannot be read.
// The errors of MakeDeviceMemory (runtime/memory/device_info.h): no such GPU, or a build without CUDA.
absl::StatusOr<CachingAllocator*> ProcessAllocator(Device device = Device::Cpu());

// Null: nobody has asked for it yet.
CachingAllocator* FindProcessAllocator(Device device);

}  // namespace sinter

#endif  // SINTER_RUNTIME_MEMORY_PROCESS_ALLOCATOR_H_
