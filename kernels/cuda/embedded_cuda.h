// CUDA sources embedded in the compiler: the prelude of every kernel, and the hand-written kernels.
//
//   std::string text = std::string(CudaPrelude()) + source;
//
// Contract: constant data without dependencies. kernels/CMakeLists.txt generates it from the .cuh files of
// this folder.
#ifndef SINTER_KERNELS_CUDA_EMBEDDED_CUDA_H_
#define SINTER_KERNELS_CUDA_EMBEDDED_CUDA_H_

#include <string_view>

namespace sinter::kernels {

// The start of every kernel.
std::string_view CudaPrelude();
// Parts of hand-written kernels (catalog_text.h): first shared parts, then one family of kernels each.
std::string_view CudaElements();
std::string_view CudaScan();
std::string_view CudaRadixSort();
std::string_view CudaCopy();
std::string_view CudaPool();
std::string_view CudaCumsum();
std::string_view CudaScatterAdd();
std::string_view CudaRandomPermutation();
std::string_view CudaMatmul();
std::string_view CudaTensorCore();
std::string_view CudaSplitMatmul();
std::string_view CudaConvImage();
std::string_view CudaConv();
std::string_view CudaConvColumns();
std::string_view CudaConvWeightGrad();

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CUDA_EMBEDDED_CUDA_H_
