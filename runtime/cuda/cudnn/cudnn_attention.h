// Attention, or its gradient, as a cuDNN plan: one or a few kernels that keep one tile of scores at a time.
// The method is Dao, "FlashAttention-2" (arXiv 2307.08691).
//
//   CudnnAttention attention = {.dtype = fb::DType::BF16, .packed = true, .causal = true, .batch = 8,
//                               .heads = 12, .queries = 1024, .keys = 1024, .width = 64};
//   SINTER_ASSIGN_OR_RETURN(auto plan, MakeAttentionPlan(cudnn, attention));
//   plan->Execute({{kQueries, q}, {kKeys, k}, {kValues, v}, {kScale, &scale}, {kMasked, &masked},
//                  {kOutput, o}}, workspace);
#ifndef SINTER_RUNTIME_CUDA_CUDNN_CUDNN_ATTENTION_H_
#define SINTER_RUNTIME_CUDA_CUDNN_CUDNN_ATTENTION_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/cuda/cudnn/cudnn_convolution.h"
#include "sinter/runtime/cuda/cudnn/cudnn_descriptors.h"

namespace sinter {

// The parameters of fb::AttentionStep.
struct CudnnAttention {
  fb::DType dtype = fb::DType::BF16;
  bool backward = false;
  bool packed = false;
  bool causal = false;
  bool has_stats = false;
  bool has_bias = false;
  // For gradients: true if dQ is summed in a fixed order, so that the bits are the same in every run.
  bool in_order = true;
  int64_t batch = 0, heads = 0, key_heads = 0, queries = 0, keys = 0, width = 0;
  // Not 0: a query sees only keys at a distance below this.
  int64_t window = 0;
  fb::DType bias_dtype = fb::DType::F32;
  int64_t bias_batch = 0, bias_heads = 0, bias_queries = 0;  // 1, or as many as q has.
  // Numbers of heads in memory if `heads`, `key_heads` and `bias_heads` are only some of them, else 0.
  int64_t heads_in_memory = 0, key_heads_in_memory = 0, bias_heads_in_memory = 0;
  auto operator<=>(const CudnnAttention&) const = default;

  // The layouts that cuDNN sees: Queries() is that of q, Keys() that of k and v, Output() that of o, Bias()
  // that of the term that is added to the scores. Sizes are [batch, heads, positions, width], and those of
  // Bias() [1 or batch, 1 or heads, 1 or queries, keys].
  CudnnTensor Queries() const { return Positions(queries, heads, heads_in_memory, packed); }
  CudnnTensor Keys() const { return Positions(keys, key_heads, key_heads_in_memory, packed); }
  CudnnTensor Output() const { return Positions(queries, heads, heads_in_memory, false); }
  CudnnTensor Bias() const;
  // The gradients of k and v before those of heads that share one are summed.
  CudnnTensor KeysOfEachHead() const {
    return PackedTensor({batch, heads, keys, width}, /*channels_last=*/false);
  }
  CudnnTensor QuerySums() const {
    return PackedTensor({batch, heads, queries, width}, /*channels_last=*/false);
  }
  CudnnTensor Stats() const { return PackedTensor({batch, heads, queries, 1}, /*channels_last=*/false); }
  // Returns the minimum workspace of a gradient with a fixed order of sums, which is nearly all of its
  // workspace: one value per score, in the type of the operands. Returns 0 for all other attention.
  size_t ScoresBytes() const;
  // Returns a text such as "forward bf16 causal packed [8,12,1024,64] by 1024 keys of 12 heads".
  std::string ToString() const;

 private:
  CudnnTensor Positions(int64_t positions, int64_t of_heads, int64_t in_memory, bool is_packed) const;
};

// Ids of a plan's operands. kScale, kMasked and kOne are single f32 values in host memory: the scale, minus
// infinity and 1. Masks have more such numbers: i32 the counts kKeyCount and kQueryCount, and kRightBound, by
// how much a key may follow its query; f32 kLeftBound, by how much a query must follow its key to miss it,
// where both count from the first position. kRowSums and kQuerySums are f32 memory with the layouts Stats()
// and QuerySums(). kQuerySums exists only if `in_order` is false, and must be zero at the start.
inline constexpr int64_t kQueries = 1, kKeys = 2, kValues = 3, kOutput = 4, kStats = 5, kOutputGradient = 6,
                         kQueryGradient = 7, kKeyGradient = 8, kValueGradient = 9, kScale = 10, kMasked = 11,
                         kOne = 12, kRowSums = 13, kQuerySums = 14, kScoreBias = 15, kKeyCount = 16,
                         kQueryCount = 17, kRightBound = 18, kLeftBound = 19;

// Returns the plan. Unimplemented if cuDNN has no engine for it; the message describes the attention.
absl::StatusOr<std::unique_ptr<CudnnPlan>> MakeAttentionPlan(const CudnnHandle& cudnn,
                                                             const CudnnAttention& attention);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CUDNN_CUDNN_ATTENTION_H_
