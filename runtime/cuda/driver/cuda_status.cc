#include "sinter/runtime/cuda/driver/cuda_status.h"

#include <cufft.h>
#include <cusolver_common.h>
#include <nccl.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "sinter/runtime/cuda/driver/lost_gpus.h"

namespace sinter {
namespace {

struct ErrorKind {
  absl::StatusCode code;
  const char* hint;           // Advice to the user; may be empty.
  bool ends_context = false;  // True if every later call on the GPU fails with this error.
};

constexpr char kDriverHint[] =
    "; this build needs a driver for CUDA 13, 580 or newer: nvidia-smi shows what is installed";
constexpr char kKernelHint[] =
    "; a kernel that was launched before went wrong, and the GPU cannot be used any more by this program: "
    "compute-sanitizer PROGRAM names the kernel";

constexpr char kHardwareHint[] =
    "; the GPU cannot be used any more by this program: nvidia-smi --query and the system's log say how it "
    "is";

ErrorKind KindOf(cudaError_t code) {
  switch (code) {
    case cudaErrorMemoryAllocation:
    case cudaErrorLaunchOutOfResources:
      return {absl::StatusCode::kResourceExhausted, ""};
    case cudaErrorInsufficientDriver:
    case cudaErrorStubLibrary:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
      return {absl::StatusCode::kFailedPrecondition, kDriverHint};
    case cudaErrorNoDevice:
      return {absl::StatusCode::kFailedPrecondition, "; is CUDA_VISIBLE_DEVICES set?"};
    case cudaErrorSystemNotReady:
    case cudaErrorDevicesUnavailable:
      return {absl::StatusCode::kFailedPrecondition, "; another program may hold it: nvidia-smi shows which"};
    case cudaErrorInvalidDevice:
      return {absl::StatusCode::kNotFound, ""};
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidKernelImage:
    case cudaErrorInvalidPtx:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorSymbolNotFound:
      return {absl::StatusCode::kNotFound, "; compile the plan again for this GPU's architecture"};
    case cudaErrorNotSupported:
      return {absl::StatusCode::kUnimplemented, ""};
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorIllegalInstruction:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchFailure:
    case cudaErrorAssert:
      return {absl::StatusCode::kInternal, kKernelHint, /*ends_context=*/true};
    case cudaErrorLaunchTimeout:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorContextIsDestroyed:
    case cudaErrorExternalDevice:
    case cudaErrorMpsClientTerminated:
    case cudaErrorTensorMemoryLeak:
      return {absl::StatusCode::kInternal, kHardwareHint, /*ends_context=*/true};
    default:
      return {absl::StatusCode::kInternal, ""};
  }
}

const char* CublasName(cublasStatus_t code) {
  switch (code) {
    case CUBLAS_STATUS_SUCCESS:
      return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "not initialised";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "an allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an invalid value";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "not for this GPU's architecture";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "memory could not be mapped";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "the execution failed";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "an internal error";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "not supported";
    case CUBLAS_STATUS_LICENSE_ERROR:
      return "a licence error";
  }
  return "an unknown error";
}

constexpr char kNcclHint[] = "; with NCCL_DEBUG=WARN in the environment NCCL prints what it saw";

ErrorKind KindOf(ncclResult_t code) {
  switch (code) {
    case ncclSystemError:
      return {absl::StatusCode::kUnavailable, kNcclHint};
    case ncclRemoteError:
      return {absl::StatusCode::kUnavailable, ": another rank has failed or ended"};
    case ncclInvalidUsage:
      return {absl::StatusCode::kFailedPrecondition, kNcclHint};
    default:
      return {absl::StatusCode::kInternal, kNcclHint};
  }
}

const char* NcclName(ncclResult_t code) {
  switch (code) {
    case ncclUnhandledCudaError:
      return "a call of CUDA failed";
    case ncclSystemError:
      return "a call of the system failed";
    case ncclInternalError:
      return "an internal error";
    case ncclInvalidArgument:
      return "an invalid argument";
    case ncclInvalidUsage:
      return "an invalid use";
    case ncclRemoteError:
      return "a remote error";
    case ncclInProgress:
      return "still in progress";
    default:
      return "an unknown error";
  }
}

const char* CufftName(cufftResult code) {
  switch (code) {
    case CUFFT_INVALID_PLAN:
      return "an invalid plan";
    case CUFFT_ALLOC_FAILED:
      return "an allocation failed";
    case CUFFT_INVALID_TYPE:
      return "an invalid type";
    case CUFFT_INVALID_VALUE:
      return "an invalid value";
    case CUFFT_INTERNAL_ERROR:
      return "an internal error";
    case CUFFT_EXEC_FAILED:
      return "the execution failed";
    case CUFFT_SETUP_FAILED:
      return "the library could not start";
    case CUFFT_INVALID_SIZE:
      return "a size is not supported";
    case CUFFT_UNALIGNED_DATA:
      return "data are not aligned";
    case CUFFT_INVALID_DEVICE:
      return "an invalid device";
    case CUFFT_NO_WORKSPACE:
      return "there is no workspace";
    case CUFFT_NOT_IMPLEMENTED:
    case CUFFT_NOT_SUPPORTED:
      return "not supported";
    case CUFFT_MISSING_DEPENDENCY:
      return "a library that it needs is missing";
    default:
      return "an unknown error";
  }
}

const char* CusolverName(int code) {
  switch (code) {
    case CUSOLVER_STATUS_NOT_INITIALIZED:
      return "not initialised";
    case CUSOLVER_STATUS_ALLOC_FAILED:
      return "an allocation failed";
    case CUSOLVER_STATUS_INVALID_VALUE:
      return "an invalid value";
    case CUSOLVER_STATUS_ARCH_MISMATCH:
      return "not for this GPU's architecture";
    case CUSOLVER_STATUS_EXECUTION_FAILED:
      return "the execution failed";
    case CUSOLVER_STATUS_INTERNAL_ERROR:
      return "an internal error";
    case CUSOLVER_STATUS_NOT_SUPPORTED:
    case CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED:
      return "not supported";
    default:
      return "an unknown error";
  }
}

// Returns the error of a lost GPU, if any, as the cause of a library's failure; libraries only report that
// they failed. Creating an event detects a lost GPU. It submits no work, so it is valid during a stream
// capture.
std::optional<absl::Status> LossBehind(std::string_view what) {
  cudaEvent_t event = nullptr;
  const cudaError_t code = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  if (code == cudaSuccess) (void)cudaEventDestroy(event);
  if (!KindOf(code).ends_context) {
    (void)cudaGetLastError();
    return std::nullopt;
  }
  return CudaStatus(code, what);
}

}  // namespace

absl::Status DescribeCudaError(cudaError_t code, std::string_view what) {
  const ErrorKind kind = KindOf(code);
  return absl::Status(kind.code,
                      absl::StrCat("CUDA could not ", std::string(what), ": ", cudaGetErrorString(code), " (",
                                   cudaGetErrorName(code), ")", kind.hint));
}

absl::Status CudaStatus(cudaError_t code, std::string_view what) {
  if (code == cudaSuccess) return absl::OkStatus();
  // Clears CUDA's last error, so that later calls of cudaGetLastError do not return it.
  (void)cudaGetLastError();
  absl::Status status = DescribeCudaError(code, what);
  int gpu = -1;
  if (cudaGetDevice(&gpu) != cudaSuccess) return status;
  if (absl::Status lost = CheckNotLost(gpu); !lost.ok()) return lost;
  if (KindOf(code).ends_context || code == cudaErrorDevicesUnavailable) {
    if (absl::Status lost = CheckNoneLost(); !lost.ok()) return lost;
  }
  if (KindOf(code).ends_context) NoteLostGpu(gpu, std::string(status.message()));
  return status;
}

absl::Status CublasStatus(cublasStatus_t code, std::string_view what, std::string_view library) {
  if (code == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  if (const std::optional<absl::Status> lost = LossBehind(what)) return *lost;
  absl::StatusCode kind = absl::StatusCode::kInternal;
  if (code == CUBLAS_STATUS_ALLOC_FAILED) kind = absl::StatusCode::kResourceExhausted;
  if (code == CUBLAS_STATUS_NOT_SUPPORTED || code == CUBLAS_STATUS_ARCH_MISMATCH)
    kind = absl::StatusCode::kUnimplemented;
  if (code == CUBLAS_STATUS_NOT_INITIALIZED) kind = absl::StatusCode::kFailedPrecondition;
  return absl::Status(kind, absl::StrCat(std::string(library), " could not ", std::string(what), ": ",
                                         CublasName(code), " (status ", static_cast<int>(code), ")"));
}

absl::Status CudnnStatus(cudnnStatus_t code, std::string_view what, std::string_view details) {
  if (code == CUDNN_STATUS_SUCCESS) return absl::OkStatus();
  if (const std::optional<absl::Status> lost = LossBehind(what)) return *lost;
  absl::StatusCode kind = absl::StatusCode::kInternal;
  // Status codes are grouped by thousands: 3000 is "not supported".
  if (CUDNN_STATUS_CATEGORY(code) == CUDNN_STATUS_NOT_SUPPORTED) kind = absl::StatusCode::kUnimplemented;
  if (code == CUDNN_STATUS_NOT_INITIALIZED || code == CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH ||
      code == CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED) {
    kind = absl::StatusCode::kFailedPrecondition;
  }
  if (code == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
      code == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED) {
    kind = absl::StatusCode::kResourceExhausted;
  }
  return absl::Status(kind,
                      absl::StrCat("cuDNN could not ", std::string(what), ": status ", static_cast<int>(code),
                                   details.empty() ? "" : ", ", std::string(details)));
}

absl::Status CufftStatus(int code, std::string_view what) {
  if (code == CUFFT_SUCCESS) return absl::OkStatus();
  if (const std::optional<absl::Status> lost = LossBehind(what)) return *lost;
  absl::StatusCode kind = absl::StatusCode::kInternal;
  if (code == CUFFT_ALLOC_FAILED) kind = absl::StatusCode::kResourceExhausted;
  if (code == CUFFT_INVALID_SIZE || code == CUFFT_NOT_IMPLEMENTED || code == CUFFT_NOT_SUPPORTED) {
    kind = absl::StatusCode::kUnimplemented;
  }
  if (code == CUFFT_SETUP_FAILED || code == CUFFT_MISSING_DEPENDENCY) {
    kind = absl::StatusCode::kFailedPrecondition;
  }
  return absl::Status(kind, absl::StrCat("cuFFT could not ", std::string(what), ": ",
                                         CufftName(static_cast<cufftResult>(code)), " (status ", code, ")"));
}

absl::Status CusolverStatus(int code, std::string_view what) {
  if (code == CUSOLVER_STATUS_SUCCESS) return absl::OkStatus();
  if (const std::optional<absl::Status> lost = LossBehind(what)) return *lost;
  absl::StatusCode kind = absl::StatusCode::kInternal;
  if (code == CUSOLVER_STATUS_ALLOC_FAILED) kind = absl::StatusCode::kResourceExhausted;
  if (code == CUSOLVER_STATUS_NOT_SUPPORTED || code == CUSOLVER_STATUS_ARCH_MISMATCH) {
    kind = absl::StatusCode::kUnimplemented;
  }
  if (code == CUSOLVER_STATUS_NOT_INITIALIZED) kind = absl::StatusCode::kFailedPrecondition;
  return absl::Status(kind, absl::StrCat("cuSOLVER could not ", std::string(what), ": ", CusolverName(code),
                                         " (status ", code, ")"));
}

absl::Status NcclStatus(int code, std::string_view what, std::string_view details) {
  if (code == ncclSuccess) return absl::OkStatus();
  if (const std::optional<absl::Status> lost = LossBehind(what)) return *lost;
  const ErrorKind kind = KindOf(static_cast<ncclResult_t>(code));
  return absl::Status(
      kind.code,
      absl::StrCat("NCCL could not ", std::string(what), ": ", NcclName(static_cast<ncclResult_t>(code)),
                   " (status ", code, ")", details.empty() ? "" : ", ", std::string(details), kind.hint));
}

std::string DescribeBytes(int64_t bytes) {
  return absl::StrFormat("%d bytes (%.1f MiB)", bytes, static_cast<double>(bytes) / (1 << 20));
}

}  // namespace sinter
