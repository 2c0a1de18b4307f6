// The bytes that a session takes, by what they are for.
//
//   std::cout << session.memory().arena << " of " << session.memory().used;
#ifndef SINTER_RUNTIME_EXECUTE_MEMORY_USE_H_
#define SINTER_RUNTIME_EXECUTE_MEMORY_USE_H_

#include <cstdint>

namespace sinter {

// Bytes of a session on one device or on all devices. All but `constants` come from the devices' allocators.
// `used`, the allocators' count, equals `predicted`, because both round each allocation up to 512.
struct SessionMemory {
  int64_t variables = 0;
  int64_t arena = 0;  // The largest arena of all functions, which share it.
  // For unaligned inputs, numbers, and small inputs on their way to a device. Inputs above 1 MiB count once
  // they are copied.
  int64_t input_staging = 0;
  int64_t input_copies = 0;    // On devices that cannot read main memory: the largest function's.
  int64_t thread_scratch = 0;  // For generated kernels.
  int64_t library_workspace = 0;
  int64_t exchange_workspace = 0;  // For sums of GPUs that write into each other's memory.
  int64_t output_copies = 0;       // For outputs that pass an input through, and for outputs on GPUs.
  int64_t exchange_staging = 0;  // For copies between devices of two back ends, which go through main memory.
  int64_t constant_copies = 0;   // On devices that cannot read main memory.
  int64_t constants = 0;         // In the plan's own bytes, not in the allocator.
  int64_t predicted = 0;         // Sum of all but the constants, each allocation rounded to 512.
  int64_t used = 0;              // Measured: the allocator's count for this session.

  SessionMemory& operator+=(const SessionMemory& other);
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_EXECUTE_MEMORY_USE_H_
