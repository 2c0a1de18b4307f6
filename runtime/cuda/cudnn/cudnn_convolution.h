// A convolution, or one of its gradients, as a cuDNN plan.
//
//   const ConvShape shape = ConvShapeOf(table);
//   SINTER_ASSIGN_OR_RETURN(auto plan, MakeConvolutionPlan(cudnn, shape, {.bias = true, .relu = true}));
//   plan->Execute({{kFirst, x}, {kSecond, weights}, {kBias, bias}, {kResult, y}}, workspace);
//
// Weights are [out, in / groups, kh, kw] for both layouts of images. If a kernel needs another order, cuDNN
// reorders the weights in the workspace. For 1 x 1 weights both orders are identical.
#ifndef SINTER_RUNTIME_CUDA_CUDNN_CUDNN_CONVOLUTION_H_
#define SINTER_RUNTIME_CUDA_CUDNN_CUDNN_CONVOLUTION_H_

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/cuda/cudnn/cudnn_descriptors.h"

namespace sinter {

// A tensor in cuDNN's description: sizes in the order n, c, h, w, and strides in elements.
struct CudnnTensor {
  std::array<int64_t, 4> sizes;
  std::array<int64_t, 4> strides;
  auto operator<=>(const CudnnTensor&) const = default;
  int64_t elements() const { return sizes[0] * sizes[1] * sizes[2] * sizes[3]; }
};
CudnnTensor PackedTensor(std::array<int64_t, 4> sizes, bool channels_last);

struct ConvShape {
  fb::ConvKind kind = fb::ConvKind::Forward;
  fb::DType dtype = fb::DType::F32;
  fb::MathMode math = fb::MathMode::Ieee;
  bool channels_last = false;
  CudnnTensor x, weights, y;
  std::array<int64_t, 2> strides, dilations, padding_before, padding_after;
  auto operator<=>(const ConvShape&) const = default;

  const CudnnTensor& first() const { return kind == fb::ConvKind::InputGrad ? y : x; }
  const CudnnTensor& second() const { return kind == fb::ConvKind::WeightGrad ? y : weights; }
  const CudnnTensor& result() const {
    return kind == fb::ConvKind::Forward ? y : kind == fb::ConvKind::InputGrad ? x : weights;
  }
  // Returns a text such as "forward f32 ieee nchw [2,3,8,8] by [4,3,3,3]".
  std::string ToString() const;
};
ConvShape ConvShapeOf(const fb::ConvStep& table);

cudnnDataType_t CudnnType(fb::DType dtype);

// Ids of a plan's operands, in the order of fb::ConvStep's inputs and outputs.
inline constexpr int64_t kFirst = 1, kSecond = 2, kBias = 3, kResult = 4;

// Operations fused into a forward convolution. cuDNN 9.19 has no engine for relu alone.
struct ConvEpilogue {
  bool bias = false;
  bool relu = false;
  auto operator<=>(const ConvEpilogue&) const = default;
};

// Returns the plan. Unimplemented if cuDNN has no engine for it; the message describes the convolution.
absl::StatusOr<std::unique_ptr<CudnnPlan>> MakeConvolutionPlan(const CudnnHandle& cudnn,
                                                               const ConvShape& shape,
                                                               const ConvEpilogue& epilogue);
// As above, with other rules than RulesOf; for measurements.
absl::StatusOr<std::unique_ptr<CudnnPlan>> MakeConvolutionPlan(const CudnnHandle& cudnn,
                                                               const ConvShape& shape,
                                                               const ConvEpilogue& epilogue,
                                                               const CudnnEngineRules& rules);
// Returns 1 to `most` plans that the rules allow, in cuDNN's order.
absl::StatusOr<std::vector<std::unique_ptr<CudnnPlan>>> MakeConvolutionPlans(const CudnnHandle& cudnn,
                                                                             const ConvShape& shape,
                                                                             const ConvEpilogue& epilogue,
                                                                             const CudnnEngineRules& rules,
                                                                             size_t most);
// Returns the rules that steps use.
CudnnEngineRules RulesOf(const ConvShape& shape);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CUDNN_CUDNN_CONVOLUTION_H_
