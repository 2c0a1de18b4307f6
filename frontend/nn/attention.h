// Multi-head self-attention (Vaswani et al., "Attention Is All You Need", arXiv 1706.03762).
// Each position of a sequence gets a mean of all positions' values, weighted by how well their keys match its
// query.
//
//   auto block = nn::Residual{nn::LayerNorm(), nn::MultiHeadAttention(12, {.causal = true})};
//   Tensor y = block(x);  // x: f32[8,1024,768]; parameters "1.qkv.weight", "1.qkv.bias", "1.out.weight", ...
#ifndef SINTER_FRONTEND_NN_ATTENTION_H_
#define SINTER_FRONTEND_NN_ATTENTION_H_

#include <optional>

#include "sinter/frontend/nn/layers.h"

namespace sinter::nn {

struct MultiHeadAttentionOptions {
  bool causal = false;  // A position sees only itself and earlier positions.
  // Width of the queries, and of the keys and the values, over all heads. 0: the width of the input.
  int64_t width = 0;
  // Factor of the scores Q K^T. nullopt: 1 / sqrt(width / heads).
  std::optional<double> scale = std::nullopt;
  bool bias = true;
  Initializer weight = LeCunNormal();      // For the projection from the input to queries, keys and values.
  Initializer out_weight = LeCunNormal();  // For the projection back to the input's width.
  Initializer bias_init = Zeros();
  MathMode math = MathMode::kIeee;
};
// Maps x [batch, time, in] to [batch, time, in]. Children: `qkv`, a Linear to 3 * width, and `out`, a Linear
// to `in`.
class MultiHeadAttention : public Module {
 public:
  explicit MultiHeadAttention(int64_t heads, const MultiHeadAttentionOptions& options = {});
};

}  // namespace sinter::nn

#endif  // SINTER_FRONTEND_NN_ATTENTION_H_
