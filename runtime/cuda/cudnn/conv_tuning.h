// Chooses which of cuDNN's engines computes a convolution, at Load: as the tuning file says, else cuDNN's first that fits.
//
//   SINTER_ASSIGN_OR_RETURN(auto plan, ChooseConvolutionPlan(context, cudnn, shape, {.bias = true}));
//
// Engines are measured in TuningMode::kAnyBits alone (`sinter tune --any-bits`): each sums in an order of its own. What is measured
// is kept for the life of the process, and by the session for its file. All of them are deterministic and exact: the same plan
// with the same tuning file gives the same bits.
//
// An engine of a file is looked for among those that cuDNN names; one that is none of them is reported, and the first is taken.
#ifndef SINTER_RUNTIME_CUDA_CUDNN_CONV_TUNING_H_
#define SINTER_RUNTIME_CUDA_CUDNN_CONV_TUNING_H_

#include <memory>

#include "absl/status/statusor.h"
#include "sinter/runtime/cuda/context/cuda_context.h"
#include "sinter/runtime/cuda/cudnn/cudnn_convolution.h"
#include "sinter/runtime/device/tuning.h"

namespace sinter {

// InvalidArgument: SINTER_GPU_TUNE or SINTER_GPU_TUNE_SAVE cannot be read. Unimplemented as MakeConvolutionPlan.
absl::StatusOr<std::unique_ptr<CudnnPlan>> ChooseConvolutionPlan(CudaContext& context,
                                                                 const CudnnHandle& cudnn,
                                                                 const ConvShape& shape,
                                                                 const ConvEpilogue& epilogue);

// What the choice is kept under.
ProductKey ConvolutionKeyOf(const CudaDeviceInfo& device, size_t cudnn_version, const ConvShape& shape,
                            const ConvEpilogue& epilogue);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CUDNN_CONV_TUNING_H_
