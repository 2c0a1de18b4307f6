// Hardware units that all GPUs share, for dividing work among threads.
//
//   const int64_t vector = kAccessBytes / element_bytes;   // Elements that one load reads.
#ifndef SINTER_CODEGEN_CUDA_GPU_UNITS_H_
#define SINTER_CODEGEN_CUDA_GPU_UNITS_H_

#include <cstdint>

namespace sinter::codegen {

// Threads of a warp.
inline constexpr int64_t kWarp = 32;
// The most bytes that one load or store of a thread moves.
inline constexpr int64_t kAccessBytes = 16;

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_GPU_UNITS_H_
