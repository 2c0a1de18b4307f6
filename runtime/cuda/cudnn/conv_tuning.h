// Chooses at Load which cuDNN engine computes a convolution: the tuning file's, else cuDNN's first that fits.
//
//   SINTER_ASSIGN_OR_RETURN(auto plan, ChooseConvolutionPlan(context, cudnn, shape, {.bias = true}));
//
// Engines sum in different orders, so they are measured only where a file keeps the choice (`sinter tune`),
// or in TuningMode::kAnyBits. Measurements are kept for the life of the process, and in the session for its
// tuning file.
// All candidate engines are deterministic and exact: the same plan with the same tuning file gives the same
// bits.
//
// An engine named in a tuning file must be one that cuDNN offers for the convolution. If not, a warning is
// reported and the file's entry is ignored.
#ifndef SINTER_RUNTIME_CUDA_CUDNN_CONV_TUNING_H_
#define SINTER_RUNTIME_CUDA_CUDNN_CONV_TUNING_H_

#include <memory>

#include "absl/status/statusor.h"
#include "sinter/runtime/cuda/context/cuda_context.h"
#include "sinter/runtime/cuda/cudnn/cudnn_convolution.h"
#include "sinter/runtime/device/tuning.h"

namespace sinter {

// Returns the plan of the chosen engine. InvalidArgument if SINTER_GPU_TUNE or SINTER_GPU_TUNE_SAVE is
// malformed. Unimplemented as for MakeConvolutionPlan.
absl::StatusOr<std::unique_ptr<CudnnPlan>> ChooseConvolutionPlan(CudaContext& context,
                                                                 const CudnnHandle& cudnn,
                                                                 const ConvShape& shape,
                                                                 const ConvEpilogue& epilogue);

// Returns the key under which the choice is stored.
TuningKey ConvolutionKeyOf(const CudaDeviceInfo& device, size_t cudnn_version, const ConvShape& shape,
                           const ConvEpilogue& epilogue);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CUDNN_CONV_TUNING_H_
