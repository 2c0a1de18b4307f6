// Converts error codes of CUDA and of its libraries to absl::Status; no other code does.
//
//   SINTER_RETURN_IF_ERROR(CudaStatus(cudaStreamSynchronize(stream), "wait for gpu:0"));
//
// `what` completes "could not ...". Codes:
// - ResourceExhausted: no device memory or pinned memory.
// - FailedPrecondition: no GPU, no driver or an old driver, a library that is not ready.
// - Unimplemented: the library does not support the operation.
// - NotFound: no such GPU, or no code for it.
// - Unavailable: another rank, or the connection to it, has failed.
// - Internal: all others, such as a fault of a kernel or a bug of Sinter.
// CudaStatus clears CUDA's last error. Errors that end a GPU's context are permanent: the current GPU is
// marked lost (lost_gpus.h), and every later error reports the loss.
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

// Call directly after a CUDA call on the current GPU.
absl::Status CudaStatus(cudaError_t code, std::string_view what);
// Returns only the error's description: calls no CUDA function with side effects and marks no GPU lost.
absl::Status DescribeCudaError(cudaError_t code, std::string_view what);
// `library`: cuBLASLt, or cuBLAS, which has the same codes.
absl::Status CublasStatus(cublasStatus_t code, std::string_view what, std::string_view library = "cuBLASLt");
// `details`: the text of cudnnGetLastErrorString, or empty.
absl::Status CudnnStatus(cudnnStatus_t code, std::string_view what, std::string_view details = "");
// `code`: a cufftResult, passed as int as NCCL's is.
absl::Status CufftStatus(int code, std::string_view what);
// `code`: a cusolverStatus_t, passed as int too.
absl::Status CusolverStatus(int code, std::string_view what);
// `code`: an ncclResult_t, passed as int because NCCL's header is large. `details`: the text of
// ncclGetLastError, or empty.
absl::Status NcclStatus(int code, std::string_view what, std::string_view details = "");

// Returns a text such as "134217728 bytes (128.0 MiB)".
std::string DescribeBytes(int64_t bytes);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_DRIVER_CUDA_STATUS_H_
