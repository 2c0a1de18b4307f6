// The back end of fused calls on GPUs: generated CUDA kernels.
//
//   CudaKernels kernels(context);
//   backends.push_back(MakeFusedCudaBackend(kernels));
#ifndef SINTER_CODEGEN_CUDA_CUDA_BACKEND_H_
#define SINTER_CODEGEN_CUDA_CUDA_BACKEND_H_

#include <memory>

#include "sinter/codegen/cuda/cuda_kernels.h"
#include "sinter/codegen/steps/call_backend.h"

namespace sinter::codegen {

// Adds to `kernels`, which must outlive it.
std::unique_ptr<CallBackend> MakeFusedCudaBackend(CudaKernels& kernels);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CUDA_BACKEND_H_
