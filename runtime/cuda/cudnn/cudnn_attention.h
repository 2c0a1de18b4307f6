// Attention of a plan, or its gradient, as a cuDNN plan: one kernel or a few, which hold the scores of a tile of queries and
// keys at a time. The method: Dao, "FlashAttention-2" (arXiv 2307.08691).
//
//   CudnnAttention attention = {.dtype = fb::DType::BF16, .batch = 8, .heads = 12, .queries = 1024, .keys = 1024, .width = 64,
//                               .causal = true, .packed = true};
//   SINTER_ASSIGN_OR_RETURN(auto plan, MakeAttentionPlan(cudnn, attention));
//   plan->Execute({{kQueries, q}, {kKeys, k}, {kValues, v}, {kScale, &scale}, {kMasked, &masked}, {kOutput, o}}, workspace);
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

// As in fb::AttentionStep, with as many heads of k as of q.
struct CudnnAttention {
  fb::DType dtype = fb::DType::BF16;
  bool backward = false;
  bool packed = false;
  bool causal = false;
  bool has_stats = false;
  // Of a gradient: whether sums are in an order of their own, so that the bits are the same in every run.
  bool in_order = true;
  int64_t batch = 0, heads = 0, queries = 0, keys = 0, width = 0;
  // Heads in memory, of which these are some: 0 where they are all. Then there is one example.
  int64_t heads_in_memory = 0;
  auto operator<=>(const CudnnAttention&) const = default;

  // q and o, k and v, and the stats, as cuDNN sees them: [batch, heads, positions, width].
  CudnnTensor Queries() const { return Positions(queries, packed); }
  CudnnTensor Keys() const { return Positions(keys, packed); }
  CudnnTensor Output() const { return Positions(queries, false); }
  CudnnTensor QuerySums() const {
    return PackedTensor({batch, heads, queries, width}, /*channels_last=*/false);
  }
  CudnnTensor Stats() const { return PackedTensor({batch, heads, queries, 1}, /*channels_last=*/false); }
  // What a gradient in order has in its workspace at least, and little besides: one value of each score, in the type of the
  // operands. Of others 0.
  size_t ScoresBytes() const;
  // "forward bf16 causal packed [8,12,1024,64] by 1024 keys".
  std::string ToString() const;

 private:
  CudnnTensor Positions(int64_t positions, bool is_packed) const;
};

// Ids of a plan's operands. kScale and kMasked are each one f32 of the host: scale, and minus infinity; kOne is 1. kRowSums
// is memory for `Stats()` and kQuerySums, which begins as zeros, for `QuerySums()`, where sums are in any order: f32.
inline constexpr int64_t kQueries = 1, kKeys = 2, kValues = 3, kOutput = 4, kStats = 5, kOutputGradient = 6,
                         kQueryGradient = 7, kKeyGradient = 8, kValueGradient = 9, kScale = 10, kMasked = 11,
                         kOne = 12, kRowSums = 13, kQuerySums = 14;

// Unimplemented: cuDNN has no engine for it; the message says for what.
absl::StatusOr<std::unique_ptr<CudnnPlan>> MakeAttentionPlan(const CudnnHandle& cudnn,
                                                             const CudnnAttention& attention);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CUDNN_CUDNN_ATTENTION_H_
