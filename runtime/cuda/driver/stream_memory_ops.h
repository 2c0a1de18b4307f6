// Writes to memory, and waits for values in memory, that a stream performs without a kernel.
//
//   SINTER_ASSIGN_OR_RETURN(const StreamMemoryOps ops, StreamMemoryOps::Load());
//   using Kind = StreamMemoryOp::Kind;
//   const StreamMemoryOp list[] = {{Kind::kWrite, flag, 1}, {Kind::kWait, other, 1}};
//   SINTER_RETURN_IF_ERROR(ops.Give(stream, list));       // In this order, also in a capture.
//
// A write is visible to all GPUs and to the CPU after what the stream did before it. A wait ends when the
// value is the given one. CUDA's manual: "Stream Memory Operations" of the driver API.
#ifndef SINTER_RUNTIME_CUDA_DRIVER_STREAM_MEMORY_OPS_H_
#define SINTER_RUNTIME_CUDA_DRIVER_STREAM_MEMORY_OPS_H_

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sinter {

struct StreamMemoryOp {
  enum class Kind : uint8_t { kWrite, kWait };

  Kind kind;
  uint32_t* address;  // Pinned memory, or memory of a GPU that the stream's GPU can access.
  uint32_t value;
};

class StreamMemoryOps {
 public:
  // FailedPrecondition if the driver has no such operations.
  static absl::StatusOr<StreamMemoryOps> Load();

  absl::Status Give(cudaStream_t stream, std::span<const StreamMemoryOp> ops) const;

 private:
  using Function = CUresult(CUstream, unsigned, CUstreamBatchMemOpParams*, unsigned);
  explicit StreamMemoryOps(Function* function) : function_(function) {}

  Function* function_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_DRIVER_STREAM_MEMORY_OPS_H_
