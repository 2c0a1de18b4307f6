// The bytes that a session takes, by what they are for.
//
//   std::cout << session.memory().arena << " of " << session.memory().used;
#ifndef SINTER_RUNTIME_EXECUTE_MEMORY_USE_H_
#define SINTER_RUNTIME_EXECUTE_MEMORY_USE_H_

#include <cstdint>

namespace sinter {

// Bytes of a session on one device, or on all, all from their allocators. `used` is what the pools count for this session
// (rounded up to 512 each): equal to the sum of the others rounded likewise.
struct SessionMemory {
  int64_t variables = 0;
  int64_t arena = 0;  // The largest of all functions: they share it.
  // For inputs that are not aligned, for numbers, and for small inputs on their way. Of more than 1 MiB: what was needed so far.
  int64_t input_staging = 0;
  int64_t input_copies = 0;    // On devices that do not read main memory: what the largest function needs.
  int64_t thread_scratch = 0;  // Of generated kernels.
  int64_t library_workspace = 0;
  int64_t output_copies = 0;    // For outputs that are inputs handed through, and for those of other devices.
  int64_t constant_copies = 0;  // On devices that do not read main memory.
  int64_t constants = 0;        // In the plan's own bytes, not in the pool.
  int64_t predicted = 0;        // Sum of all but the constants, each allocation rounded up to 512.
  int64_t used = 0;             // Measured: what the pool has served to this session.

  SessionMemory& operator+=(const SessionMemory& other);
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_EXECUTE_MEMORY_USE_H_
