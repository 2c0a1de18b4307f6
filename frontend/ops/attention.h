// Attention: each query takes a mean of values, weighted by how well their keys match it.
//
//   Tensor mixed = Attention(q, k, v, {.causal = true});
//
// ops.h includes this header.
#ifndef SINTER_FRONTEND_OPS_ATTENTION_H_
#define SINTER_FRONTEND_OPS_ATTENTION_H_

#include <cstdint>
#include <optional>

#include "sinter/frontend/graph/graph.h"
#include "sinter/frontend/ops/images.h"

namespace sinter {

// On a GPU, in bf16 and f16, no [B, H, T, S] tensor is in memory, unless there is dropout or a bias has a
// gradient. Elsewhere the scores are in memory: f32[B, H, T, S] (f64 of f64). A mask, a bias and key_lengths
// become one tensor of floats, of the shape to which they broadcast. A query that sees no key gets zeros.
struct AttentionOptions {
  // Position t sees only positions up to t. With S keys for T queries, the queries are the last positions: t
  // stands at S - T + t.
  bool causal = false;
  std::optional<double> scale = {};  // nullopt: 1 / sqrt(D).
  MathMode math = MathMode::kIeee;   // Arithmetic of f32 matmuls.
  std::optional<Tensor> mask = {};   // i1 that broadcasts to [B, H, T, S]: true where a query sees a key.
  std::optional<Tensor> bias = {};   // Added to the scores; floats that broadcast to [B, H, T, S].
  std::optional<Tensor> key_lengths = {};  // Integers [B]: only so many keys of an example count.
  // A query sees only keys at a distance below this; 0: all. With `causal`, itself and window - 1 earlier
  // ones. With S keys for T queries, the queries are the last positions.
  int64_t window = 0;
  double dropout = 0;  // Probability that a weight is dropped.
};
// softmax(scale * Q K^T) V for each example and head. q is [B, T, H, D], k and v are [B, S, HK, D], the
// result is [B, T, H, D]. H must be a multiple of HK: groups of H / HK heads share keys and values.
Tensor Attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options = {},
                 Where where = Where::current());
// The same for qkv [B, T, 3, H, D], which holds q, k and v: the reshaped result of one projection to 3 * H *
// D.
Tensor Attention(const Tensor& qkv, const AttentionOptions& options = {}, Where where = Where::current());

// Turns pairs of x's elements by angles that grow with the position, so that products of queries and keys
// depend on their distance (Su et al., "RoFormer", arXiv 2104.09864). x is [B, T, H, D], D even. The pairs
// are (i, i + D / 2), as in Llama, or with `interleaved` (2 i, 2 i + 1).
struct RopeOptions {
  double base = 10000;
  // Position of x's first element: a number, or an integer tensor of rank 0, or [B] of each example.
  Operand first_position = 0;
  bool interleaved = false;
};
Tensor Rope(const Tensor& x, const RopeOptions& options = {}, Where where = Where::current());
// A bias of attention that falls with the distance of query and key, with another slope for each head:
// f32[heads, queries, keys] (Press et al., "ALiBi", arXiv 2108.12409). The queries are the last positions.
// The number of heads is a power of two.
Tensor AlibiBias(Builder& b, int64_t heads, int64_t queries, int64_t keys, Where where = Where::current());
// The same for queries from position `first_query` on, a number or an i32[] (nn::FirstPosition). For i32[B]
// it is f32[B, heads, queries, keys].
Tensor AlibiBias(Builder& b, int64_t heads, int64_t queries, int64_t keys, const Operand& first_query,
                 Where where = Where::current());

}  // namespace sinter

#endif  // SINTER_FRONTEND_OPS_ATTENTION_H_
