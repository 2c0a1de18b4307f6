// The back end of library ops that the CUDA catalogue computes on GPUs.
//
//   CudaKernels kernels(context);
//   backends.push_back(MakeCudaCatalogBackend(kernels));
#ifndef SINTER_CODEGEN_CUDA_CATALOG_CATALOG_BACKEND_H_
#define SINTER_CODEGEN_CUDA_CATALOG_CATALOG_BACKEND_H_

#include <memory>

#include "sinter/codegen/cuda/cuda_kernels.h"
#include "sinter/codegen/steps/call_backend.h"

namespace sinter::codegen {

// Adds to `kernels`, which must outlive it.
std::unique_ptr<CallBackend> MakeCudaCatalogBackend(CudaKernels& kernels);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CATALOG_CATALOG_BACKEND_H_
