// CUDA sources embedded in the compiler: the .cuh files of this folder, by name.
//
//   std::string text = std::string(CudaText("prelude")) + source;  // The prelude starts every kernel.
//
// Contract: constant data without dependencies. kernels/CMakeLists.txt embeds every .cuh file.
#ifndef SINTER_KERNELS_CUDA_EMBEDDED_CUDA_H_
#define SINTER_KERNELS_CUDA_EMBEDDED_CUDA_H_

#include <string_view>

namespace sinter::kernels {

// Returns the text of `name`.cuh, without comments; empty if there is no such file.
std::string_view CudaText(std::string_view name);

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CUDA_EMBEDDED_CUDA_H_
