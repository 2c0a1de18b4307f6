// The plans that cuDNN has built for one GPU of a session. Steps that are alike share what is built: preparing an engine takes
// cuDNN milliseconds for a convolution, and a compilation, some 56 ms, for attention.
//
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<CudnnPlan> plan, session.plans().Attention(cudnn, attention));
//
// Each plan that is given has bindings of its own (CudnnPlan::Share). Alike are steps of which every member of the description
// is the same, and for convolutions the engine that was chosen. One thread at a time.
#ifndef SINTER_RUNTIME_CUDA_CUDNN_CUDNN_PLANS_H_
#define SINTER_RUNTIME_CUDA_CUDNN_CUDNN_PLANS_H_

#include <compare>
#include <cstddef>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "sinter/runtime/cuda/cudnn/cudnn_attention.h"
#include "sinter/runtime/cuda/cudnn/cudnn_convolution.h"
#include "sinter/runtime/cuda/cudnn/cudnn_descriptors.h"
#include "sinter/runtime/host/built_once.h"

namespace sinter {

class CudnnPlans {
 public:
  // As MakeAttentionPlan.
  absl::StatusOr<std::unique_ptr<CudnnPlan>> Attention(const CudnnHandle& cudnn,
                                                       const CudnnAttention& attention);
  // As MakeConvolutionPlan, by the rules of steps: of `only`, that engine, else of cuDNN's first.
  absl::StatusOr<std::unique_ptr<CudnnPlan>> Convolution(const CudnnHandle& cudnn, const ConvShape& shape,
                                                         const ConvEpilogue& epilogue,
                                                         const std::optional<CudnnEngine>& only = {});

  // What was built for the same GPU with other handles, which must outlive it: a plan is executed with the handle that it was
  // built with.
  void TakeFrom(CudnnPlans& other) {
    attentions_.TakeFrom(other.attentions_);
    convolutions_.TakeFrom(other.convolutions_);
  }

  // So far.
  size_t built() const { return attentions_.size() + convolutions_.size(); }

 private:
  struct ConvolutionKey {
    ConvShape shape;
    ConvEpilogue epilogue;
    std::optional<CudnnEngine> only;
    auto operator<=>(const ConvolutionKey&) const = default;
  };

  BuiltOnce<CudnnAttention, std::unique_ptr<CudnnPlan>> attentions_;
  BuiltOnce<ConvolutionKey, std::unique_ptr<CudnnPlan>> convolutions_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CUDNN_CUDNN_PLANS_H_
