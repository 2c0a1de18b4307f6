// Lists the available GPUs and their properties.
//
//   for (int i = 0; i < NumCudaDevices(); ++i) std::cout << DescribeCudaDevice(i)->name << "\n";
//
// Without a driver or a GPU the list is empty, and CudaAvailable() returns the reason. Only in builds with
// CUDA (SINTER_WITH_CUDA). This header uses no CUDA type.
#ifndef SINTER_RUNTIME_CUDA_DRIVER_CUDA_DEVICES_H_
#define SINTER_RUNTIME_CUDA_DRIVER_CUDA_DEVICES_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sinter {

struct CudaDeviceInfo {
  int index = 0;
  std::string name;  // For example "NVIDIA H100 80GB HBM3".
  int major = 0;     // Compute capability: 9 and 0 are sm_90.
  int minor = 0;
  int multiprocessors = 0;
  int max_threads_per_block = 0;
  int64_t max_shared_bytes_per_block = 0;  // Static plus opt-in dynamic shared memory.
  int64_t total_bytes = 0;
  int driver_version = 0;  // In CUDA's encoding: 13000 is 13.0.

  // For example "sm_90".
  std::string Architecture() const;
};

// FailedPrecondition with the reason if there is no GPU.
absl::Status CudaAvailable();
// Returns at least 1. FailedPrecondition with the reason if there is no GPU.
absl::StatusOr<int> CountCudaDevices();
// Returns 0 if CudaAvailable() is not OK.
int NumCudaDevices();
// NotFound if `index` is not in [0, NumCudaDevices()).
absl::StatusOr<CudaDeviceInfo> DescribeCudaDevice(int index);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_DRIVER_CUDA_DEVICES_H_
