// Which GPUs there are and what they can do.
//
//   for (int i = 0; i < NumCudaDevices(); ++i) std::cout << DescribeCudaDevice(i)->name << "\n";
//
// Without a driver or without a GPU there are none, and CudaAvailable() says why. Only in builds with CUDA
// (SINTER_WITH_CUDA); no CUDA type is seen here.
#ifndef SINTER_RUNTIME_CUDA_DRIVER_CUDA_DEVICES_H_
#define SINTER_RUNTIME_CUDA_DRIVER_CUDA_DEVICES_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sinter {

struct CudaDeviceInfo {
  int index = 0;
  std::string name;  // "NVIDIA H100 80GB HBM3".
  int major = 0;     // Compute capability: 9 and 0 are sm_90.
  int minor = 0;
  int multiprocessors = 0;
  int max_threads_per_block = 0;
  int64_t max_shared_bytes_per_block = 0;  // Static and dynamic together, when asked for.
  int64_t total_bytes = 0;
  int driver_version = 0;  // As CUDA counts: 13000 is 13.0.

  // "sm_90".
  std::string Architecture() const;
};

// FailedPrecondition says why there is no GPU.
absl::Status CudaAvailable();
// FailedPrecondition says why there is none.
absl::StatusOr<int> CountCudaDevices();
// 0 when not CudaAvailable().
int NumCudaDevices();
// NotFound: `index` is not below NumCudaDevices().
absl::StatusOr<CudaDeviceInfo> DescribeCudaDevice(int index);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_DRIVER_CUDA_DEVICES_H_
