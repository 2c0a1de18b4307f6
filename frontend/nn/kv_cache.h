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
// takes those of Positions. A mask or a bias of a call has as many keys as the caches, [..., time, context]:
// AlibiBias(b, heads, time, context, FirstPosition(x)). The caches are variables, which a run changes in
// place, so a step's time does not depend on how they are filled. Repeat (ops/loops.h) around the body of
// "next" makes several tokens in one run.
//
// With `rows`, sequences of several lengths go on together, each from its own position:
//
//   nn::KvCaches caches(b, {.context = 1024, .begins = true, .rows = 8, .lengths = lengths});
//   Tensor logits = model(prompts);  // [8, 128], of which lengths[i] tokens of row i count, the first ones.
//   ...                              // The next token of row i is that of the logits at lengths[i] - 1.
//   ...
//   nn::KvCaches caches(b, {.context = 1024, .rows = 8});
//   Tensor logits = model(b.Input("ids", I32, {8, 1}));  // Row i at position lengths[i].
//
// With `memory`, nn::CrossAttention computes the keys and values of its memory at the beginning alone. Later
// pieces are given none: decoder(x, {}, {}).
#ifndef SINTER_FRONTEND_NN_KV_CACHE_H_
#define SINTER_FRONTEND_NN_KV_CACHE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sinter/frontend/graph/graph.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter::nn {

struct KvCacheOptions {
  // The most positions. Behind the last one, further positions replace it: begin again before that.
  int64_t context = 0;
  bool begins = false;  // The function's input is the beginning of a sequence.
  // Rows of the batch, each with a position of its own. 0: all have the same.
  int64_t rows = 0;
  // With `rows`, i32 or i64 [rows]: only so many positions of the input count in each row, the first ones.
  // The others are padding, which no other position sees. 0: a row stays as it is. Without it all count.
  std::optional<Tensor> lengths = {};
  // The most positions of the memories of nn::CrossAttention, which the first piece gives and later pieces
  // see. 0: every piece gives its memory.
  int64_t memory = 0;
  DType dtype = DType::kF32;  // In memory; of a graph in bf16, bf16 halves it.
  // Variables are "<name>/<path of the layer>/k" and "/v", [batch, heads, context, depth], and
  // "<name>/position", i32[] or i32[rows]. Those of a memory have its positions, and "/lengths", i32[batch].
  // A checkpoint has them too.
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

  // The position of the first element of the input: i32[], or i32[rows].
  Tensor position() const;
  // Positions of an input: i32[time], or i32[rows, time], of which those of padding stay in the context.
  Tensor Positions(int64_t time) const;

  // For the layers. The scope of the function that x is in; null outside of one.
  static KvCaches* Around(const Tensor& x);
  // Appends k and v [batch, time, heads, depth] to the cache of this path, and returns causal attention of q
  // to all that it has. Not ok, with an error kept: a second use of the path, or of another time than
  // before.
  Tensor Attend(std::string_view path, const Tensor& q, const Tensor& k, const Tensor& v,
                const AttentionOptions& options, Where where);
  // True if memories are kept, and true if the function reads one that an earlier piece has given.
  bool KeepsMemory() const;
  bool ReadsMemory() const;
  // The keys and values of a memory, [batch, positions, heads, depth].
  struct KeysAndValues {
    Tensor k, v;
  };
  // Keeps those of a memory, or without `given` takes those that an earlier piece has kept, and returns the
  // attention of q to them. Not ok, with an error kept, as for Attend.
  Tensor AttendMemory(std::string_view path, const Tensor& q, const std::optional<KeysAndValues>& given,
                      const AttentionOptions& options, Where where);

 private:
  struct State;
  static Tensor Extended(State& s, std::string_view path, const char* name, const Tensor& more);
  std::unique_ptr<State> state_;  // Null after a wrong call.
};

// The position of the first element of the sequence that the function reads: that of the scope KvCaches
// around the call, else 0. With KvCacheOptions::rows it is i32[rows].
Operand FirstPosition(const Tensor& x, Where where = Where::current());
// The positions of x [batch, time, ...]: i32[time], or with KvCacheOptions::rows i32[rows, time]. For tables
// of positions: tokens(ids) + table[Positions(ids)].
Tensor Positions(const Tensor& x, Where where = Where::current());

}  // namespace sinter::nn

#endif  // SINTER_FRONTEND_NN_KV_CACHE_H_
