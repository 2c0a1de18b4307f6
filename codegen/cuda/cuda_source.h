// The text of one CUDA kernel, complete but for the prelude (kernels/cuda/prelude.cuh).
#ifndef SINTER_CODEGEN_CUDA_CUDA_SOURCE_H_
#define SINTER_CODEGEN_CUDA_CUDA_SOURCE_H_

#include <string>

namespace sinter::codegen {

struct CudaSource {
  std::string symbol;  // The kernel's, an extern "C" function.
  std::string text;
  // Of a text that a user wrote: what the compiler's errors begin with, his line and the kernel.
  std::string subject = {};
  // Whether it begins with sn_start (kernels/cuda/prelude.cuh), so that it may be launched before the kernel in front of it
  // has ended.
  bool starts_early = false;
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CUDA_SOURCE_H_
