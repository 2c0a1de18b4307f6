// Attention and its gradient, computed from their formulas one query at a time.

#include <cmath>
#include <limits>

#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/library/attention_shape.h"
#include "sinter/tests/reference/reference.h"

namespace sinter::reference {
namespace {

// Offsets of the elements of q, k and v, for packed and separate inputs.
struct Positions {
  ir::AttentionShape s;
  const std::vector<Value>& in;

  int64_t At(int which, int64_t example, int64_t position, int64_t head, int64_t d) const {
    if (s.packed) return (((example * s.queries + position) * 3 + which) * s.heads + head) * s.width + d;
    const int64_t positions = which == 0 ? s.queries : s.keys, heads = which == 0 ? s.heads : s.key_heads;
    return ((example * positions + position) * heads + head) * s.width + d;
  }
  const Value& Of(int which, const std::vector<Value>& values) const { return values[s.packed ? 0 : which]; }
  double Get(int which, int64_t example, int64_t position, int64_t head, int64_t d) const {
    return Of(which, in).reals[At(which, example, position, head, d)];
  }
  int64_t KeyHead(int64_t head) const { return head / (s.heads / s.key_heads); }
  // Offset of a row in o and g. Stats() returns the offset in stats.
  int64_t Row(int64_t example, int64_t query, int64_t head) const {
    return ((example * s.queries + query) * s.heads + head) * s.width;
  }
  int64_t Stats(int64_t example, int64_t query, int64_t head) const {
    return (example * s.heads + head) * s.queries + query;
  }
};

struct Query {
  int64_t example, position, head;
};

template <typename Function>
void ForEachQuery(const ir::AttentionShape& s, Function function) {
  for (int64_t example = 0; example < s.batch; ++example)
    for (int64_t head = 0; head < s.heads; ++head)
      for (int64_t position = 0; position < s.queries; ++position) function(Query{example, position, head});
}

// The masks of an op, and its bias, which may be null.
struct Masks {
  double scale;
  bool causal;
  int64_t window;
  const Value* bias;

  template <typename Op>
  static Masks Of(Op op, const Call& call) {
    return {call.Real("scale"), op.getCausal(), static_cast<int64_t>(op.getWindow()),
            op.getBias() ? &call.in[op.getInputs().size()] : nullptr};
  }
};

// Returns the scores of a query: minus infinity for keys that it does not see.
std::vector<double> Scores(const Positions& p, const Query& q, const Masks& masks) {
  std::vector<double> scores(static_cast<size_t>(p.s.keys), -std::numeric_limits<double>::infinity());
  for (int64_t key = 0; key < p.s.keys; ++key) {
    const int64_t distance = p.s.keys - p.s.queries + q.position - key;
    if (masks.causal && distance < 0) continue;
    if (masks.window > 0 && std::abs(distance) >= masks.window) continue;
    double score = 0;
    for (int64_t d = 0; d < p.s.width; ++d) {
      score += p.Get(0, q.example, q.position, q.head, d) * p.Get(1, q.example, key, p.KeyHead(q.head), d);
    }
    score *= masks.scale;
    if (masks.bias != nullptr) {
      const std::vector<int64_t>& sizes = masks.bias->shape;
      const int64_t at[] = {q.example, q.head, q.position, key};
      int64_t offset = 0;
      for (size_t i = 0; i < 4; ++i) offset = offset * sizes[i] + (sizes[i] == 1 ? 0 : at[i]);
      score += masks.bias->reals[static_cast<size_t>(offset)];
    }
    scores[static_cast<size_t>(key)] = score;
  }
  return scores;
}

// Computes the result, and the stats if there are two results.
void Mix(const Positions& p, const Masks& masks, std::vector<Value>& results) {
  ForEachQuery(p.s, [&](const Query& q) {
    const std::vector<double> scores = Scores(p, q, masks);
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
    for (const double score : scores) top = std::max(top, score);
    const bool sees_any = std::isfinite(top);
    for (const double score : scores) sum += sees_any ? std::exp(score - top) : 0;
    double* const row = &results[0].reals[p.Row(q.example, q.position, q.head)];
    for (size_t key = 0; key < scores.size() && sees_any; ++key) {
      const double probability = std::exp(scores[key] - top) / sum;
      for (int64_t d = 0; d < p.s.width; ++d) {
        row[d] += probability * p.Get(2, q.example, static_cast<int64_t>(key), p.KeyHead(q.head), d);
      }
    }
    if (results.size() == 1) return;
    results[1].reals[p.Stats(q.example, q.position, q.head)] = sees_any ? top + std::log(sum) : top;
  });
}

std::vector<Value> Attention(const Call& call) {
  auto op = llvm::cast<ir::AttentionOp>(call.op);
  std::vector<Value> results = {call.Result()};
  if (op.getStats()) results.push_back(call.Result(1));
  Mix({ir::AttentionShape::Of(op.getInputs()), call.in}, Masks::Of(op, call), results);
  return results;
}

std::vector<Value> AttentionGrad(const Call& call) {
  auto op = llvm::cast<ir::AttentionGradOp>(call.op);
  const Positions p = {ir::AttentionShape::Of(op.getInputs()), call.in};
  const Masks masks = Masks::Of(op, call);
  const size_t inputs = op.getInputs().size(), given = inputs + (op.getBias() ? 1 : 0);
  const Value &o = call.in[given], &stats = call.in[given + 1], &g = call.in[given + 2];
  std::vector<Value> results;
  for (unsigned i = 0; i < inputs; ++i) results.push_back(call.Result(i));
  const auto add = [&](int which, int64_t example, int64_t position, int64_t head, int64_t d, double term) {
    results[p.s.packed ? 0 : which].reals[p.At(which, example, position, head, d)] += term;
  };
  ForEachQuery(p.s, [&](const Query& q) {
    const std::vector<double> scores = Scores(p, q, masks);
    const int64_t row = p.Row(q.example, q.position, q.head), key_head = p.KeyHead(q.head);
    double shift = 0;
    for (int64_t d = 0; d < p.s.width; ++d) shift += g.reals[row + d] * o.reals[row + d];
    for (int64_t key = 0; key < p.s.keys; ++key) {
      const double score = scores[static_cast<size_t>(key)];
      if (std::isinf(score)) continue;  // Not seen.
      const double probability = std::exp(score - stats.reals[p.Stats(q.example, q.position, q.head)]);
      double back = 0;
      for (int64_t d = 0; d < p.s.width; ++d) {
        back += g.reals[row + d] * p.Get(2, q.example, key, key_head, d);
        add(2, q.example, key, key_head, d, probability * g.reals[row + d]);
      }
      const double slope = masks.scale * probability * (back - shift);
      for (int64_t d = 0; d < p.s.width; ++d) {
        add(0, q.example, q.position, q.head, d, slope * p.Get(1, q.example, key, key_head, d));
        add(1, q.example, key, key_head, d, slope * p.Get(0, q.example, q.position, q.head, d));
      }
    }
  });
  return results;
}

// Writes the heads of a row [B, 1, HN, D] from `first` on to a position of a cache [B, HK, S, D].
void TakeRow(const Value& row, int64_t first, const ir::AttentionShape& s, int64_t position, Value& cache) {
  if (position < 0 || position >= s.keys) return;
  for (int64_t i = 0; i < s.batch * s.key_heads * s.width; ++i) {
    const int64_t d = i % s.width, head = i / s.width % s.key_heads, example = i / s.width / s.key_heads;
    cache.reals[((example * s.key_heads + head) * s.keys + position) * s.width + d] =
        row.reals[(example * row.shape[2] + first + head) * s.width + d];
  }
}

// Copies q's heads and k and v by position to the operands of an attention.
std::vector<Value> FewQueries(const Call& call) {
  auto op = llvm::cast<ir::FewQueriesAttentionOp>(call.op);
  const auto heads = static_cast<int64_t>(op.getHeads()), first = static_cast<int64_t>(op.getFirstHead());
  const ir::AttentionShape s = ir::AttentionShape::OfFew(op.getInputs(), heads, op.getByHead());
  std::vector<Value> in = call.in;
  const int64_t all = call.in[0].shape[2];
  in[0].shape = {s.batch, s.queries, heads, s.width};
  in[0].reals.resize(static_cast<size_t>(s.batch * s.queries * heads * s.width));
  for (int64_t i = 0; i < s.batch * s.queries; ++i)
    for (int64_t j = 0; j < heads * s.width; ++j)
      in[0].reals[i * heads * s.width + j] = call.in[0].reals[(i * all + first) * s.width + j];
  const size_t row = op.getBias() ? 4 : 3;
  std::vector<Value> results = {call.Result()};
  for (const int which : {1, 2}) {
    if (!op.getByHead()) continue;
    Value cache = call.in[which];
    if (op.getPosition()) {
      const Value& from = call.in[row + static_cast<size_t>(which) - 1];
      const auto head = static_cast<int64_t>(which == 1 ? op.getFirstKey() : op.getFirstValue());
      TakeRow(from, head, s, call.in[row + 2].ints[0], cache);
      results.push_back(cache);
    }
    in[which].shape = {s.batch, s.keys, s.key_heads, s.width};
    for (int64_t i = 0; i < s.batch * s.keys * s.key_heads * s.width; ++i) {
      const int64_t d = i % s.width, head = i / s.width % s.key_heads;
      const int64_t key = i / s.width / s.key_heads % s.keys, example = i / s.width / s.key_heads / s.keys;
      in[which].reals[i] = cache.reals[((example * s.key_heads + head) * s.keys + key) * s.width + d];
    }
  }
  const Positions p = {s, in};
  std::vector<Value> mixed = {results[0]};
  Mix(p, Masks::Of(op, call), mixed);
  results[0] = mixed[0];
  return results;
}

}  // namespace

void AddAttentionOps(OpTable& table) {
  table["sinter.attention"] = Attention;
  table["sinter.attention_grad"] = AttentionGrad;
  table["sinter.few_queries_attention"] = FewQueries;
}

}  // namespace sinter::reference
