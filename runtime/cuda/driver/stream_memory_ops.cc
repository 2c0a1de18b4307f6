#include "sinter/runtime/cuda/driver/stream_memory_ops.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/driver/cuda_status.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

// The version of the driver's interface whose function and struct this file uses.
constexpr unsigned kInterface = 12000;

}  // namespace

absl::StatusOr<StreamMemoryOps> StreamMemoryOps::Load() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  SINTER_RETURN_IF_ERROR(CudaStatus(
      cudaGetDriverEntryPointByVersion("cuStreamBatchMemOp", &found, kInterface, cudaEnableDefault, &result),
      "find the driver's operations on memory"));
  if (result != cudaDriverEntryPointSuccess || found == nullptr) {
    return absl::FailedPreconditionError("the NVIDIA driver has no operations on memory in streams");
  }
  return StreamMemoryOps(reinterpret_cast<Function*>(found));
}

absl::Status StreamMemoryOps::Give(cudaStream_t stream, std::span<const StreamMemoryOp> ops) const {
  if (ops.empty()) return absl::OkStatus();
  std::vector<CUstreamBatchMemOpParams> params(ops.size());
  for (size_t i = 0; i < ops.size(); ++i) {
    const auto address = reinterpret_cast<CUdeviceptr>(ops[i].address);
    if (ops[i].kind == StreamMemoryOp::Kind::kWrite) {
      params[i].writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32,
                              .address = address,
                              .value = ops[i].value,
                              .flags = CU_STREAM_WRITE_VALUE_DEFAULT,
                              .alias = 0};
    } else {
      params[i].waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
                             .address = address,
                             .value = ops[i].value,
                             .flags = CU_STREAM_WAIT_VALUE_EQ,
                             .alias = 0};
    }
  }
  const CUresult code = function_(stream, static_cast<unsigned>(params.size()), params.data(), 0);
  if (code == CUDA_SUCCESS) return absl::OkStatus();
  // The runtime's codes are those of the driver.
  return CudaStatus(static_cast<cudaError_t>(code), "give a stream operations on memory");
}

}  // namespace sinter
