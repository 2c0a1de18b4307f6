// Caches of keys and values: a model that was trained on whole sequences reads them in pieces, for example
// one token at a time, and each piece attends to all before it.
//
//   graph.Function("prompt", Mode::kEval, [&](Builder& b) {
//     nn::KvCaches caches(b, {.context = 1024, .begins = true});
//     Tensor logits = model(b.Input("ids", I32, {1, 128}));           // Positions 0 to 127.
//     ...
//   });
//   graph.Function("next", Mode::kEval, [&](Builder& b) {
//     nn::KvCaches caches(b, {.context = 1024});
//     Tensor logits = model(b.Input("ids", I32, {1, 1}));             // Position 128, then 129, ...
//     ...
//   });
//
// The layers nn::MultiHeadAttention and MaskedAttention with `causal` do this by themselves, also below
// others, and nn::SinusoidalPositions goes on where the last piece ended. A model that adds learned positions
// takes those from FirstPosition on. A mask or a bias of a call has as many keys as the caches, [..., time,
// context]: AlibiBias(b, heads, time, context, FirstPosition(x)). The caches are variables, which a run
// changes in place, so a step's time does not depend on how they are filled. Repeat (ops/loops.h) around the
// body of "next" makes several tokens in one run.
#ifndef SINTER_FRONTEND_NN_KV_CACHE_H_
#define SINTER_FRONTEND_NN_KV_CACHE_H_

#include <memory>
#include <string>
#include <string_view>

#include "sinter/frontend/graph/graph.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter::nn {

struct KvCacheOptions {
  // The most positions. Behind the last one, further positions replace it: begin again before that.
  int64_t context = 0;
  bool begins = false;        // The function's input is the beginning of a sequence.
  DType dtype = DType::kF32;  // In memory; of a graph in bf16, bf16 halves it.
  // Variables are "<name>/<path of the layer>/k" and "/v", [batch, heads, context, depth], and
  // "<name>/position", i32[]. A checkpoint has them too.
  std::string name = "kv_cache";
};

// While it lives, layers of attention in the function read and extend their caches. Scopes do not nest.
class KvCaches {
 public:
  explicit KvCaches(Builder& b, const KvCacheOptions& options, Where where = Where::current());
  // Counts the positions that the layers have read.
  ~KvCaches();
  KvCaches(const KvCaches&) = delete;
  KvCaches& operator=(const KvCaches&) = delete;

  // The position of the first element of the input: i32[].
  Tensor position() const;

  // For the layers. The scope of the function that x is in; null outside of one.
  static KvCaches* Around(const Tensor& x);
  // Appends k and v [batch, time, heads, depth] to the cache of this path, and returns causal attention of q
  // to all that it has. Not ok, with an error kept: a second use of the path, or of another time than
  // before.
  Tensor Attend(std::string_view path, const Tensor& q, const Tensor& k, const Tensor& v,
                const AttentionOptions& options, Where where);

 private:
  struct State;
  std::unique_ptr<State> state_;  // Null after a wrong call.
};

// The position of the first element of the sequence that the function reads: that of the scope KvCaches
// around the call, else 0. For tables of positions: table[Window{FirstPosition(x), x.dim(1)}].
Operand FirstPosition(const Tensor& x, Where where = Where::current());

}  // namespace sinter::nn

#endif  // SINTER_FRONTEND_NN_KV_CACHE_H_
