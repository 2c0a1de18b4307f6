// A cache of the plans that cuDNN has built for one GPU of a session; equal steps share them.
// Preparing an engine takes cuDNN milliseconds for a convolution. For attention, cuDNN compiles a kernel,
// which takes about 56 ms.
//
//   SINTER_ASSIGN_OR_RETURN(auto plan, session.plans().Attention(cudnn, attention));
//
// Each returned plan has separate bindings (CudnnPlan::Share). Steps are equal if all members of their
// descriptions are equal and, for convolutions, the chosen engine is the same. Not thread-safe.
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
#include "sinter/runtime/host/build_cache.h"

namespace sinter {

class CudnnPlans {
 public:
  // Like MakeAttentionPlan.
  absl::StatusOr<std::unique_ptr<CudnnPlan>> Attention(const CudnnHandle& cudnn,
                                                       const CudnnAttention& attention);
  // Like MakeConvolutionPlan with RulesOf: uses the engine `only` if set, else cuDNN's first.
  absl::StatusOr<std::unique_ptr<CudnnPlan>> Convolution(const CudnnHandle& cudnn, const ConvShape& shape,
                                                         const ConvEpilogue& epilogue,
                                                         const std::optional<CudnnEngine>& only = {});

  // Takes plans that were built for the same GPU with other handles. A plan executes with the handle that
  // built it, so these handles must outlive this object.
  void TakeFrom(CudnnPlans& other) {
    attentions_.TakeFrom(other.attentions_);
    convolutions_.TakeFrom(other.convolutions_);
  }

  // Number of plans built so far.
  size_t built() const { return attentions_.size() + convolutions_.size(); }

 private:
  struct ConvolutionKey {
    ConvShape shape;
    ConvEpilogue epilogue;
    std::optional<CudnnEngine> only;
    auto operator<=>(const ConvolutionKey&) const = default;
  };

  BuildCache<CudnnAttention, std::unique_ptr<CudnnPlan>> attentions_;
  BuildCache<ConvolutionKey, std::unique_ptr<CudnnPlan>> convolutions_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CUDNN_CUDNN_PLANS_H_
