// GPUs that are lost to this process: a kernel's fault or the hardware's has ended CUDA's context of them, for all sessions
// alike, and no call mends it. The first error is kept, for it says what happened; those that follow only say that it did.
//
//   NoteLostGpu(0, "CUDA could not finish the work of gpu:0: ...");   // By CudaStatus, for errors that end a context.
//   SINTER_RETURN_IF_ERROR(CheckNotLost(0));                          // From then on an error, with the first.
//
// Thread-safe. No CUDA type is seen here.
#ifndef SINTER_RUNTIME_CUDA_DRIVER_LOST_GPUS_H_
#define SINTER_RUNTIME_CUDA_DRIVER_LOST_GPUS_H_

#include <string_view>

#include "absl/status/status.h"

namespace sinter {

// `first_error` of the first call for the GPU counts.
void NoteLostGpu(int index, std::string_view first_error);
// Internal: the GPU is lost; says since when and what to do. Costs a nanosecond while none is.
absl::Status CheckNotLost(int index);
// The same of whichever was lost first: after one GPU's fault CUDA may refuse the others to the process, too.
absl::Status CheckNoneLost();

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_DRIVER_LOST_GPUS_H_
