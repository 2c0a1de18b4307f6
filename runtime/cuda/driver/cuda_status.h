// What CUDA, cuBLASLt, cuDNN and NCCL answer, as absl::Status: the one place that converts it.
//
//   SINTER_RETURN_IF_ERROR(CudaStatus(cudaStreamSynchronize(stream), "wait for gpu:0"));
//
// `what` completes "could not ...". Codes: ResourceExhausted (no memory, on the device or pinned), FailedPrecondition (no
// GPU, no driver or too old a one, a library not ready), Unimplemented (the library does not do this), NotFound (no such
// GPU, no code for it), Unavailable (another rank, or what connects to it, has failed), Internal (all others: a kernel's
// fault, or ours). Errors that CUDA remembers until asked are taken
// from it. Those that end a GPU's context stay: the current GPU is lost (lost_gpus.h), and every later error is that it is.
#ifndef SINTER_RUNTIME_CUDA_DRIVER_CUDA_STATUS_H_
#define SINTER_RUNTIME_CUDA_DRIVER_CUDA_STATUS_H_

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn_graph.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace sinter {

// After a call for the current GPU.
absl::Status CudaStatus(cudaError_t code, std::string_view what);
// The text alone: nothing is asked of CUDA, and no GPU is lost.
absl::Status DescribeCudaError(cudaError_t code, std::string_view what);
absl::Status CublasStatus(cublasStatus_t code, std::string_view what);
// `details`: what cudnnGetLastErrorString says, or nothing.
absl::Status CudnnStatus(cudnnStatus_t code, std::string_view what, std::string_view details = "");
// `code`: an ncclResult_t, whose header is large. `details`: what ncclGetLastError says, or nothing.
absl::Status NcclStatus(int code, std::string_view what, std::string_view details = "");

// "134217728 bytes (128.0 MiB)".
std::string DescribeBytes(int64_t bytes);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_DRIVER_CUDA_STATUS_H_
