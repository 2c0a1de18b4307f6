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

std::vector<Value> Attention(const Call& call) {
  auto op = llvm::cast<ir::AttentionOp>(call.op);
  const Positions p = {ir::AttentionShape::Of(op.getInputs()), call.in};
  const Masks masks = Masks::Of(op, call);
  std::vector<Value> results = {call.Result()};
  if (op.getStats()) results.push_back(call.Result(1));
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

}  // namespace

void AddAttentionOps(OpTable& table) {
  table["sinter.attention"] = Attention;
  table["sinter.attention_grad"] = AttentionGrad;
}

}  // namespace sinter::reference
