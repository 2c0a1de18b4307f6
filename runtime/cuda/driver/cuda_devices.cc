#include "sinter/runtime/cuda/driver/cuda_devices.h"

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/driver/cuda_status.h"
#include "sinter/runtime/host/status.h"

namespace sinter {

absl::StatusOr<int> CountCudaDevices() {
  int count = 0;
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaGetDeviceCount(&count), "find a GPU"));
  if (count == 0) return absl::FailedPreconditionError("the CUDA driver knows no GPU");
  return count;
}

absl::Status CudaAvailable() { return CountCudaDevices().status(); }

int NumCudaDevices() { return CountCudaDevices().value_or(0); }

absl::StatusOr<CudaDeviceInfo> DescribeCudaDevice(int index) {
  absl::StatusOr<int> count = CountCudaDevices();
  if (!count.ok()) {
    return absl::NotFoundError(
        absl::StrCat("there is no gpu:", index, ": ", std::string(count.status().message())));
  }
  if (index < 0 || index >= *count) {
    return absl::NotFoundError(absl::StrCat("there is no gpu:", index, ": this machine has ", *count,
                                            *count == 1 ? " GPU, gpu:0" : " GPUs, gpu:0 and up"));
  }
  cudaDeviceProp properties = {};
  SINTER_RETURN_IF_ERROR(
      CudaStatus(cudaGetDeviceProperties(&properties, index), absl::StrCat("describe gpu:", index)));
  CudaDeviceInfo info;
  info.index = index;
  info.name = properties.name;
  info.major = properties.major;
  info.minor = properties.minor;
  info.multiprocessors = properties.multiProcessorCount;
  info.max_threads_per_block = properties.maxThreadsPerBlock;
  info.max_shared_bytes_per_block = static_cast<int64_t>(properties.sharedMemPerBlockOptin);
  info.total_bytes = static_cast<int64_t>(properties.totalGlobalMem);
  SINTER_RETURN_IF_ERROR(
      CudaStatus(cudaDriverGetVersion(&info.driver_version), "ask for the driver's version"));
  return info;
}

std::string CudaDeviceInfo::Architecture() const { return absl::StrCat("sm_", major, minor); }

}  // namespace sinter
