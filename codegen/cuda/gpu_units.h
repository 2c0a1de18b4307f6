// The units in which every GPU works, for those who divide work among its threads.
//
//   const int64_t vector = kAccessBytes / element_bytes;   // Elements that one load brings.
#ifndef SINTER_CODEGEN_CUDA_GPU_UNITS_H_
#define SINTER_CODEGEN_CUDA_GPU_UNITS_H_

#include <cstdint>

namespace sinter::codegen {

// Threads that run in step.
inline constexpr int64_t kWarp = 32;
// The most bytes that one load or store of a thread moves.
inline constexpr int64_t kAccessBytes = 16;

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_GPU_UNITS_H_
