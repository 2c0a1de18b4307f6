// The text of one CUDA kernel, complete except for the prelude (kernels/cuda/prelude.cuh).
#ifndef SINTER_CODEGEN_CUDA_CUDA_SOURCE_H_
#define SINTER_CODEGEN_CUDA_CUDA_SOURCE_H_

#include <string>

namespace sinter::codegen {

struct CudaSource {
  std::string symbol;  // Name of the kernel, an extern "C" function.
  std::string text;
  // For user kernels alone: the beginning of compiler errors, with the user's line and the kernel's name.
  std::string subject = {};
  // True if the kernel begins with sn_start (kernels/cuda/prelude.cuh), which permits launching it before the
  // previous kernel has ended.
  bool has_programmatic_launch = false;
  // True if the kernel uses instructions that only the architecture's own target has, as sm_90a for sm_90.
  bool is_architecture_specific = false;

  // Returns the target that the kernel is compiled for.
  std::string TargetOf(const std::string& architecture) const {
    return is_architecture_specific && !architecture.ends_with('a') ? architecture + "a" : architecture;
  }
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CUDA_SOURCE_H_
