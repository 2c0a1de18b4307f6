// What the steps of one GPU share: which GPU, its stream, and the handles of libraries, made when first needed.
//
//   SINTER_ASSIGN_OR_RETURN(auto context, CudaContext::Create(0, allocator));
//   SINTER_ASSIGN_OR_RETURN(const CublasHandle cublas, context->Cublas());
//   cublas.functions->Matmul(cublas.handle, ...);
//
// Steps keep a pointer to it: it outlives them. One thread at a time; methods make the GPU current themselves.
#ifndef SINTER_RUNTIME_CUDA_CUDA_CONTEXT_H_
#define SINTER_RUNTIME_CUDA_CUDA_CONTEXT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "sinter/runtime/caching_allocator.h"
#include "sinter/runtime/cuda/cublaslt_library.h"
#include "sinter/runtime/cuda/cuda_devices.h"
#include "sinter/runtime/cuda/cuda_handles.h"
#include "sinter/runtime/cuda/cudnn_library.h"
#include "sinter/runtime/device.h"

namespace sinter {

struct CublasHandle {
  const CublasLt* functions = nullptr;
  cublasLtHandle_t handle = nullptr;
};

struct CudnnHandle {
  const Cudnn* functions = nullptr;
  cudnnHandle_t handle = nullptr;  // On the context's stream.
};

class CudaContext {
 public:
  // `allocator` serves what steps need while they are made.
  static absl::StatusOr<std::unique_ptr<CudaContext>> Create(int index, CachingAllocator* allocator);
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  const CudaDeviceInfo& info() const { return info_; }
  Device device() const { return Device::Gpu(info_.index); }
  int index() const { return info_.index; }
  cudaStream_t stream() const { return stream_.get(); }
  CachingAllocator& allocator() const { return *allocator_; }

  // FailedPrecondition: the library is not there (library_loader.h).
  absl::StatusOr<CublasHandle> Cublas();
  absl::StatusOr<CudnnHandle> CudnnOnStream();

 private:
  CudaContext(CudaDeviceInfo info, CachingAllocator* allocator)
      : info_(std::move(info)), allocator_(allocator) {}

  CudaDeviceInfo info_;
  CachingAllocator* allocator_;
  CudaStream stream_;
  CublasHandle cublas_;
  CudnnHandle cudnn_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CUDA_CONTEXT_H_
