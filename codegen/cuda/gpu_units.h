// Hardware units that all GPUs share, for dividing work among threads.
//
//   const int64_t vector = kAccessBytes / element_bytes;   // Elements that one load reads.
#ifndef SINTER_CODEGEN_CUDA_GPU_UNITS_H_
#define SINTER_CODEGEN_CUDA_GPU_UNITS_H_

#include "sinter/ir/target/gpu_models.h"

namespace sinter::codegen {

using ir::kAccessBytes;
using ir::kWarp;

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_GPU_UNITS_H_
