#include "sinter/runtime/cuda/cudnn/cudnn_plans.h"

#include "sinter/runtime/host/status.h"

namespace sinter {

absl::StatusOr<std::unique_ptr<CudnnPlan>> CudnnPlans::Attention(const CudnnHandle& cudnn,
                                                                 const CudnnAttention& attention) {
  SINTER_ASSIGN_OR_RETURN(const std::unique_ptr<CudnnPlan>* built,
                          attentions_.Get(attention, [&] { return MakeAttentionPlan(cudnn, attention); }));
  return (*built)->Share();
}

absl::StatusOr<std::unique_ptr<CudnnPlan>> CudnnPlans::Convolution(const CudnnHandle& cudnn,
                                                                   const ConvShape& shape,
                                                                   const ConvEpilogue& epilogue,
                                                                   const std::optional<CudnnEngine>& only) {
  const auto build = [&] {
    CudnnEngineRules rules = RulesOf(shape);
    rules.only = only;
    return MakeConvolutionPlan(cudnn, shape, epilogue, rules);
  };
  SINTER_ASSIGN_OR_RETURN(const std::unique_ptr<CudnnPlan>* built,
                          convolutions_.Get({shape, epilogue, only}, build));
  return (*built)->Share();
}

}  // namespace sinter
