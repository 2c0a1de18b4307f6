// Multi-head attention (Vaswani et al., "Attention Is All You Need", arXiv 1706.03762).
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
  // Heads of keys and values, which groups of heads share (Ainslie et al., arXiv 2305.13245). 0: as many.
  int64_t kv_heads = 0;
  // Turns queries and keys by their positions (Rope in ops/attention.h).
  std::optional<RopeOptions> rope = std::nullopt;
  int64_t window = 0;  // A position sees only those at a distance below this; 0: all.
  double dropout = 0;  // Probability that a weight is dropped, in Mode::kTrain.
};
// Maps x [batch, time, in] to [batch, time, in]. Children: `qkv`, a Linear to queries, keys and values, and
// `out`, a Linear to `in`. For masks and lengths see MaskedAttention.
class MultiHeadAttention : public Module {
 public:
  explicit MultiHeadAttention(int64_t heads, const MultiHeadAttentionOptions& options = {});
};

// Limits of what the positions of a call see, beside the options of the layer.
struct SequenceMask {
  std::optional<Tensor> key_lengths = {};  // i32[batch]: only so many positions of an example count.
  std::optional<Tensor> mask = {};         // i1 that broadcasts to [batch, heads, time, time].
  std::optional<Tensor> bias = {};         // Added to the scores, as AlibiBias; broadcasts to the same.
};
// MultiHeadAttention with a mask that differs from call to call: for sequences of several lengths.
//   Tensor y = attention(x, {.key_lengths = lengths});
class MaskedAttention : public ModuleOf<Tensor(const Tensor& x, const SequenceMask& mask)> {
 public:
  explicit MaskedAttention(int64_t heads, const MultiHeadAttentionOptions& options = {});
};

// The input that cross-attention looks at: [batch, positions, features]. Pieces of a sequence behind the
// first give none in a scope KvCaches that keeps memories (kv_cache.h), nor lengths.
struct Memory {
  std::optional<Tensor> values = {};
  std::optional<Tensor> key_lengths = {};  // i32[batch]: only so many positions of an example count.
  std::optional<Tensor> mask = {};         // i1 that broadcasts to [batch, heads, time, positions].
};
struct CrossAttentionOptions {
  int64_t width = 0;  // As in MultiHeadAttentionOptions.
  std::optional<double> scale = std::nullopt;
  bool bias = true;
  Initializer weight = LeCunNormal();
  Initializer out_weight = LeCunNormal();
  Initializer bias_init = Zeros();
  MathMode math = MathMode::kIeee;
  double dropout = 0;
};
// Maps x [batch, time, in] to [batch, time, in]; queries come from x, keys and values from the memory.
//   Tensor y = cross(x, {.values = text, .key_lengths = lengths});
// Children: `q`, a Linear to width, `kv`, a Linear to 2 * width, and `out`, a Linear to `in`.
class CrossAttention : public ModuleOf<Tensor(const Tensor& x, const Memory& memory)> {
 public:
  explicit CrossAttention(int64_t heads, const CrossAttentionOptions& options = {});
};

}  // namespace sinter::nn

#endif  // SINTER_FRONTEND_NN_ATTENTION_H_
