// Owners of CUDA handles, and a scope that makes one GPU current.
//
//   CudaDeviceScope on(0);
//   SINTER_ASSIGN_OR_RETURN(CudaStream stream, MakeCudaStream());
//   SINTER_ASSIGN_OR_RETURN(CudaEvent done, MakeCudaEvent());
#ifndef SINTER_RUNTIME_CUDA_DRIVER_CUDA_HANDLES_H_
#define SINTER_RUNTIME_CUDA_DRIVER_CUDA_HANDLES_H_

#include <cuda_runtime_api.h>

#include <memory>
#include <type_traits>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/driver/cuda_status.h"
#include "sinter/runtime/host/status.h"

namespace sinter {

// Makes a GPU current and restores the previous one at the end. The current GPU belongs to the thread and is
// shared with all other CUDA code of the program. Check status() before creating an object on the current
// GPU: after a failure the object would belong to another GPU. Operations on a stream or an event need no
// check, because streams and events know their GPU.
class CudaDeviceScope {
 public:
  explicit CudaDeviceScope(int index) {
    if (cudaGetDevice(&before_) != cudaSuccess) before_ = -1;
    if (before_ == index) {
      before_ = -1;
    } else {
      code_ = cudaSetDevice(index);
    }
    index_ = index;
  }
  ~CudaDeviceScope() {
    if (before_ >= 0) (void)cudaSetDevice(before_);
  }
  absl::Status status() const {
    return code_ == cudaSuccess ? absl::OkStatus() : CudaStatus(code_, absl::StrCat("use gpu:", index_));
  }
  CudaDeviceScope(const CudaDeviceScope&) = delete;
  CudaDeviceScope& operator=(const CudaDeviceScope&) = delete;

 private:
  int before_ = -1, index_ = 0;
  cudaError_t code_ = cudaSuccess;
};

struct CudaStreamDeleter {
  void operator()(cudaStream_t stream) const { (void)cudaStreamDestroy(stream); }
};
using CudaStream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, CudaStreamDeleter>;

struct CudaEventDeleter {
  void operator()(cudaEvent_t event) const { (void)cudaEventDestroy(event); }
};
using CudaEvent = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, CudaEventDeleter>;

// Creates a stream on the current GPU, with the highest or the lowest priority. The stream does not
// synchronize with the default stream, which other CUDA code may use.
inline absl::StatusOr<CudaStream> MakeCudaStream(bool is_urgent = false) {
  cudaStream_t stream = nullptr;
  int lowest = 0, highest = 0;
  SINTER_RETURN_IF_ERROR(
      CudaStatus(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "ask for priorities"));
  SINTER_RETURN_IF_ERROR(
      CudaStatus(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, is_urgent ? highest : lowest),
                 "make a stream"));
  return CudaStream(stream);
}

// Creates an event on the current GPU. An event without a time is cheaper to record.
inline absl::StatusOr<CudaEvent> MakeCudaEvent(bool with_time = false) {
  cudaEvent_t event = nullptr;
  SINTER_RETURN_IF_ERROR(
      CudaStatus(cudaEventCreateWithFlags(&event, with_time ? cudaEventDefault : cudaEventDisableTiming),
                 "make an event"));
  return CudaEvent(event);
}

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_DRIVER_CUDA_HANDLES_H_
