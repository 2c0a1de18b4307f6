#include "sinter/runtime/cuda/driver/cuda_status.h"

#include <cufft.h>
#include <cusolver_common.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/cuda/driver/cuda_devices.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

TEST(CudaStatusTest, ConvertsCodesOfCuda) {
  EXPECT_TRUE(CudaStatus(cudaSuccess, "do it").ok());
  const absl::Status full = CudaStatus(cudaErrorMemoryAllocation, "allocate 8 bytes");
  EXPECT_TRUE(absl::IsResourceExhausted(full));
  EXPECT_EQ(full.message(), "CUDA could not allocate 8 bytes: out of memory (cudaErrorMemoryAllocation)");
  const absl::Status old = CudaStatus(cudaErrorInsufficientDriver, "find a GPU");
  EXPECT_TRUE(absl::IsFailedPrecondition(old));
  EXPECT_THAT(std::string(old.message()), HasSubstr("needs a driver for CUDA 13, 580 or newer"));
  EXPECT_TRUE(absl::IsFailedPrecondition(CudaStatus(cudaErrorNoDevice, "find a GPU")));
  EXPECT_TRUE(absl::IsNotFound(CudaStatus(cudaErrorInvalidDevice, "use gpu:7")));
  EXPECT_THAT(std::string(CudaStatus(cudaErrorNoKernelImageForDevice, "load").message()),
              HasSubstr("compile the plan again"));
  EXPECT_TRUE(absl::IsUnimplemented(CudaStatus(cudaErrorNotSupported, "do it")));
  // Not CudaStatus, which would mark the GPU as lost.
  const absl::Status broken = DescribeCudaError(cudaErrorIllegalAddress, "finish the work of gpu:0");
  EXPECT_TRUE(absl::IsInternal(broken));
  EXPECT_THAT(std::string(broken.message()), HasSubstr("compute-sanitizer PROGRAM names the kernel"));
  EXPECT_THAT(std::string(DescribeCudaError(cudaErrorECCUncorrectable, "upload").message()),
              HasSubstr("the GPU cannot be used any more by this program: nvidia-smi"));
  EXPECT_TRUE(absl::IsInternal(CudaStatus(cudaErrorUnknown, "do it")));
}

TEST(CudaStatusTest, ConvertsCodesOfLibraries) {
  EXPECT_TRUE(CublasStatus(CUBLAS_STATUS_SUCCESS, "do it").ok());
  const absl::Status cublas = CublasStatus(CUBLAS_STATUS_NOT_SUPPORTED, "launch a matmul");
  EXPECT_TRUE(absl::IsUnimplemented(cublas));
  EXPECT_EQ(cublas.message(), "cuBLASLt could not launch a matmul: not supported (status 15)");
  EXPECT_TRUE(absl::IsResourceExhausted(CublasStatus(CUBLAS_STATUS_ALLOC_FAILED, "do it")));
  EXPECT_TRUE(absl::IsFailedPrecondition(CublasStatus(CUBLAS_STATUS_NOT_INITIALIZED, "do it")));
  EXPECT_TRUE(absl::IsInternal(CublasStatus(CUBLAS_STATUS_EXECUTION_FAILED, "do it")));
  EXPECT_TRUE(CudnnStatus(CUDNN_STATUS_SUCCESS, "do it").ok());
  const absl::Status cudnn = CudnnStatus(CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "prepare an engine", "c % 8 != 0");
  EXPECT_TRUE(absl::IsUnimplemented(cudnn));
  EXPECT_EQ(cudnn.message(), "cuDNN could not prepare an engine: status 3002, c % 8 != 0");
  EXPECT_TRUE(
      absl::IsResourceExhausted(CudnnStatus(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED, "do it")));
  EXPECT_TRUE(absl::IsFailedPrecondition(CudnnStatus(CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED, "do it")));
  EXPECT_TRUE(absl::IsInternal(CudnnStatus(CUDNN_STATUS_EXECUTION_FAILED, "do it")));
  EXPECT_TRUE(CufftStatus(CUFFT_SUCCESS, "do it").ok());
  const absl::Status cufft = CufftStatus(CUFFT_INVALID_SIZE, "plan 3 transforms");
  EXPECT_TRUE(absl::IsUnimplemented(cufft));
  EXPECT_EQ(cufft.message(), "cuFFT could not plan 3 transforms: a size is not supported (status 8)");
  EXPECT_TRUE(absl::IsResourceExhausted(CufftStatus(CUFFT_ALLOC_FAILED, "do it")));
  EXPECT_TRUE(absl::IsFailedPrecondition(CufftStatus(CUFFT_SETUP_FAILED, "do it")));
  EXPECT_TRUE(absl::IsInternal(CufftStatus(CUFFT_EXEC_FAILED, "do it")));
  EXPECT_EQ(CublasStatus(CUBLAS_STATUS_NOT_SUPPORTED, "solve systems", "cuBLAS").message(),
            "cuBLAS could not solve systems: not supported (status 15)");
  EXPECT_TRUE(CusolverStatus(CUSOLVER_STATUS_SUCCESS, "do it").ok());
  const absl::Status cusolver = CusolverStatus(CUSOLVER_STATUS_NOT_SUPPORTED, "find LU factors");
  EXPECT_TRUE(absl::IsUnimplemented(cusolver));
  EXPECT_EQ(cusolver.message(), "cuSOLVER could not find LU factors: not supported (status 9)");
  EXPECT_TRUE(absl::IsResourceExhausted(CusolverStatus(CUSOLVER_STATUS_ALLOC_FAILED, "do it")));
  EXPECT_TRUE(absl::IsFailedPrecondition(CusolverStatus(CUSOLVER_STATUS_NOT_INITIALIZED, "do it")));
  EXPECT_TRUE(absl::IsInternal(CusolverStatus(CUSOLVER_STATUS_EXECUTION_FAILED, "do it")));
}

TEST(CudaStatusTest, DescribesBytes) { EXPECT_EQ(DescribeBytes(3 << 20), "3145728 bytes (3.0 MiB)"); }

// A machine without a driver has no GPUs; nothing may crash.
TEST(CudaDevicesTest, CountsAndDescribesGpus) {
  const int count = NumCudaDevices();
  EXPECT_EQ(count > 0, CudaAvailable().ok());
  EXPECT_TRUE(absl::IsNotFound(DescribeCudaDevice(count).status()));
  EXPECT_TRUE(absl::IsNotFound(DescribeCudaDevice(-1).status()));
  if (count == 0) {
    EXPECT_TRUE(absl::IsFailedPrecondition(CudaAvailable())) << CudaAvailable();
    EXPECT_THAT(std::string(DescribeCudaDevice(0).status().message()), HasSubstr("there is no gpu:0: "));
  }
  for (int i = 0; i < count; ++i) {
    const absl::StatusOr<CudaDeviceInfo> info = DescribeCudaDevice(i);
    ASSERT_TRUE(info.ok()) << info.status();
    EXPECT_EQ(info->index, i);
    EXPECT_FALSE(info->name.empty());
    EXPECT_THAT(info->Architecture(), HasSubstr("sm_"));
    EXPECT_GE(info->max_shared_bytes_per_block, 48 << 10);
    EXPECT_GT(info->total_bytes, 0);
    EXPECT_GE(info->driver_version, 13000);
  }
}

}  // namespace
}  // namespace sinter
