// The GPUs of CUDA as a back end. Only in builds with CUDA (SINTER_WITH_CUDA).
//
//   SINTER_RETURN_IF_ERROR(CudaBackend().Check(1));
#ifndef SINTER_RUNTIME_CUDA_CUDA_BACKEND_H_
#define SINTER_RUNTIME_CUDA_CUDA_BACKEND_H_

#include "sinter/runtime/memory/backend.h"

namespace sinter {

const Backend& CudaBackend();

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CUDA_BACKEND_H_
