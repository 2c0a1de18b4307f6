// Tracks GPUs that are lost to this process because an error has ended their CUDA context.
// A fault of a kernel or of the hardware ends the context for all sessions, and no call restores it. The
// first error is kept because it names the cause; later errors only repeat that the GPU is lost.
//
//   NoteLostGpu(0, "CUDA could not finish the work of gpu:0: ...");   // Called by CudaStatus.
//   SINTER_RETURN_IF_ERROR(CheckNotLost(0));                          // Now fails with the first error.
//
// Thread-safe. This header uses no CUDA type.
#ifndef SINTER_RUNTIME_CUDA_DRIVER_LOST_GPUS_H_
#define SINTER_RUNTIME_CUDA_DRIVER_LOST_GPUS_H_

#include <string_view>

#include "absl/status/status.h"

namespace sinter {

// Marks the GPU lost. Only the first call for a GPU sets its error.
void NoteLostGpu(int index, std::string_view first_error);
// Internal if the GPU is lost, with the first error and advice. Takes about a nanosecond while no GPU is
// lost.
absl::Status CheckNotLost(int index);
// The same check for the GPU that was lost first: after one GPU's fault, CUDA may also refuse the other GPUs
// to this process.
absl::Status CheckNoneLost();

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_DRIVER_LOST_GPUS_H_
