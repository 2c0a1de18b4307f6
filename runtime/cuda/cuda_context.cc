#include "sinter/runtime/cuda/cuda_context.h"

#include "absl/strings/str_cat.h"

namespace sinter {

absl::StatusOr<std::unique_ptr<CudaContext>> CudaContext::Create(int index, CachingAllocator* allocator) {
  SINTER_ASSIGN_OR_RETURN(CudaDeviceInfo info, DescribeCudaDevice(index));
  std::unique_ptr<CudaContext> context(new CudaContext(std::move(info), allocator));
  // Not within a scope: here it shows when the GPU cannot be used at all.
  int before = 0;
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaGetDevice(&before), "ask for the current GPU"));
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(index), absl::StrCat("use gpu:", index)));
  absl::StatusOr<CudaStream> stream = MakeCudaStream();
  (void)cudaSetDevice(before);
  SINTER_RETURN_IF_ERROR(stream.status());
  context->stream_ = *std::move(stream);
  return context;
}

CudaContext::~CudaContext() {
  const CudaDeviceScope on(index());
  if (stream_ != nullptr) (void)cudaStreamSynchronize(stream_.get());
  if (cublas_.handle != nullptr) (void)cublas_.functions->Destroy(cublas_.handle);
  if (cudnn_.handle != nullptr) (void)cudnn_.functions->Destroy(cudnn_.handle);
  stream_.reset();
}

absl::StatusOr<CublasHandle> CudaContext::Cublas() {
  if (cublas_.handle != nullptr) return cublas_;
  const CudaDeviceScope on(index());
  SINTER_ASSIGN_OR_RETURN(cublas_.functions, LoadCublasLt());
  SINTER_RETURN_IF_ERROR(CublasStatus(cublas_.functions->Create(&cublas_.handle), "make a handle"));
  return cublas_;
}

absl::StatusOr<CudnnHandle> CudaContext::CudnnOnStream() {
  if (cudnn_.handle != nullptr) return cudnn_;
  const CudaDeviceScope on(index());
  SINTER_ASSIGN_OR_RETURN(const Cudnn* functions, LoadCudnn());
  cudnnHandle_t handle = nullptr;
  SINTER_RETURN_IF_ERROR(functions->Check(functions->Create(&handle), "make a handle"));
  cudnn_ = {functions, handle};
  SINTER_RETURN_IF_ERROR(functions->Check(functions->SetStream(handle, stream()), "use a stream"));
  return cudnn_;
}

}  // namespace sinter
