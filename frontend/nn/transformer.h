// Blocks of transformers (Vaswani et al., "Attention Is All You Need", arXiv 1706.03762).
//
//   auto encoder = nn::TransformerEncoder(6, 8, {.dropout = 0.1});
//   Tensor memory = encoder(nn::SinusoidalPositions()(x), {.key_lengths = lengths});  // [batch, time, width]
//   auto llama = nn::TransformerEncoder(16, 32, {.norm = nn::BlockNorm::kRmsNorm, .gated = true,
//                                                .causal = true, .kv_heads = 8, .bias = false,
//                                                .rope = RopeOptions{}});
//   Tensor y = llama(tokens, {});
#ifndef SINTER_FRONTEND_NN_TRANSFORMER_H_
#define SINTER_FRONTEND_NN_TRANSFORMER_H_

#include <cstdint>
#include <functional>

#include "sinter/frontend/nn/attention.h"

namespace sinter::nn {

// Adds sines and cosines of the positions to x [batch, time, width], of an even width: element 2 i of
// position t is sin(t / base^(2 i / width)), and element 2 i + 1 its cosine. The first position is 0,
// or in a scope KvCaches (kv_cache.h) the one behind those that were read before.
class SinusoidalPositions : public Module {
 public:
  explicit SinusoidalPositions(double base = 10000);
};

struct MlpOptions {
  int64_t hidden = 0;  // 0: 4 times the width of the input.
  // silu(gate) * up in place of an activation of up (Shazeer, arXiv 2002.05202).
  bool gated = false;
  std::function<Tensor(const Tensor&)> activation = {};  // Empty: GELU; not with `gated`.
  bool bias = true;
  double dropout = 0;  // Probability that a hidden element is dropped, in Mode::kTrain.
  Initializer weight = LeCunNormal(), out_weight = LeCunNormal();
  MathMode math = MathMode::kIeee;
};
// Maps x [..., in] to hidden elements and back to [..., in]. Children: `up`, a Linear to hidden (with `gated`
// to 2 * hidden, the gate first), and `down`, a Linear to in.
class Mlp : public Module {
 public:
  explicit Mlp(const MlpOptions& options = {});
};

enum class BlockNorm { kLayerNorm, kRmsNorm };
struct TransformerOptions {
  int64_t hidden = 0;  // Hidden elements of the MLP; 0: 4 times the width.
  BlockNorm norm = BlockNorm::kLayerNorm;
  double epsilon = 1e-5;   // Epsilon of the norms.
  bool norm_first = true;  // Norms in front of attention and MLP; else behind each sum, as in the paper.
  bool gated = false;      // As in MlpOptions.
  std::function<Tensor(const Tensor&)> activation = {};
  bool causal = false;  // Self-attention is causal. That of decoders always is.
  int64_t kv_heads = 0;
  bool bias = true;
  double dropout = 0;  // Probability for results of attention and MLP, hidden elements and weights.
  std::optional<RopeOptions> rope = std::nullopt;
  int64_t window = 0;
  Initializer weight = LeCunNormal();
  // For the projections whose results are added to x.
  Initializer out_weight = LeCunNormal();
  MathMode math = MathMode::kIeee;
  // Makes the block's MLP, if it shall be another module, called once for each block.
  std::function<Module()> mlp = {};
};

// Self-attention and an MLP, each added to its input: x [batch, time, width] -> the same. Children: norm1,
// attention, norm2, mlp.
class TransformerEncoderBlock : public ModuleOf<Tensor(const Tensor& x, const SequenceMask& mask)> {
 public:
  explicit TransformerEncoderBlock(int64_t heads, const TransformerOptions& options = {});
};
// Causal self-attention, attention to a memory, and an MLP. Children: norm1, attention, norm2, cross, norm3,
// mlp.
class TransformerDecoderBlock
    : public ModuleOf<Tensor(const Tensor& x, const SequenceMask& mask, const Memory& memory)> {
 public:
  explicit TransformerDecoderBlock(int64_t heads, const TransformerOptions& options = {});
};
// Blocks one after the other, "blocks.0", "blocks.1", ..., and with norm_first a last norm, "norm".
class TransformerEncoder : public ModuleOf<Tensor(const Tensor& x, const SequenceMask& mask)> {
 public:
  TransformerEncoder(int64_t blocks, int64_t heads, const TransformerOptions& options = {});
};
class TransformerDecoder
    : public ModuleOf<Tensor(const Tensor& x, const SequenceMask& mask, const Memory& memory)> {
 public:
  TransformerDecoder(int64_t blocks, int64_t heads, const TransformerOptions& options = {});
};

}  // namespace sinter::nn

#endif  // SINTER_FRONTEND_NN_TRANSFORMER_H_
