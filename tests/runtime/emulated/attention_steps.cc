// Attention and its gradient on emulated GPUs (Vaswani et al., "Attention Is All You Need", 2017).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "sinter/tests/runtime/emulated/library_steps.h"

namespace sinter {
namespace {

// The places of q, k, v and of tensors of their shapes: three tensors, or one that holds all.
struct AttentionIndex {
  explicit AttentionIndex(const fb::AttentionStep& table) { table.UnPackTo(&t); }

  int64_t queries() const { return t.batch * t.queries * t.heads * t.width; }
  int64_t keys() const { return t.batch * t.keys * t.key_heads * t.width; }
  int64_t rows() const { return t.batch * t.heads * t.queries; }

  // The first of `width` adjacent elements of one position and head, in a tensor of its own.
  size_t Query(int64_t b, int64_t i, int64_t h) const {
    return ((b * t.queries + i) * t.heads + h) * t.width;
  }
  size_t Key(int64_t b, int64_t j, int64_t h) const {
    return ((b * t.keys + j) * t.key_heads + h / (t.heads / t.key_heads)) * t.width;
  }
  size_t Row(int64_t b, int64_t h, int64_t i) const { return (b * t.heads + h) * t.queries + i; }

  fb::AttentionStepT t;
};

struct Operands {
  std::vector<double> q, k, v;
  std::vector<double> bias = {};
};

// Number of operands before those that only a gradient has.
size_t Given(const fb::AttentionStepT& t) { return (t.packed ? 1 : 3) + (t.has_bias ? 1 : 0); }

// The packed tensor is [batch, positions, 3, heads, width].
Operands LoadQueriesKeysValues(const AttentionIndex& at, const std::vector<void*>& buffers) {
  const fb::DType dtype = at.t.dtype;
  if (!at.t.packed) {
    return {LoadFloats(dtype, buffers[0], at.queries()), LoadFloats(dtype, buffers[1], at.keys()),
            LoadFloats(dtype, buffers[2], at.keys())};
  }
  const std::vector<double> packed = LoadFloats(dtype, buffers[0], 3 * at.queries());
  Operands o;
  const auto run = static_cast<ptrdiff_t>(at.t.heads * at.t.width);
  for (auto p = packed.begin(); p != packed.end();) {
    for (std::vector<double>* part : {&o.q, &o.k, &o.v}) {
      part->insert(part->end(), p, p + run);
      p += run;
    }
  }
  return o;
}

Operands LoadOperands(const AttentionIndex& at, const std::vector<void*>& buffers) {
  Operands o = LoadQueriesKeysValues(at, buffers);
  const fb::AttentionStepT& t = at.t;
  if (t.has_bias) {
    const int64_t count = t.bias_batch * t.bias_heads * t.bias_queries * t.keys;
    o.bias = LoadFloats(t.bias_dtype, buffers[Given(t) - 1], count);
  }
  return o;
}

void StoreGradients(const AttentionIndex& at, const Operands& gradients, void* const* outputs) {
  const fb::DType dtype = at.t.dtype;
  if (!at.t.packed) {
    StoreFloats(dtype, gradients.q, outputs[0]);
    StoreFloats(dtype, gradients.k, outputs[1]);
    StoreFloats(dtype, gradients.v, outputs[2]);
    return;
  }
  std::vector<double> packed;
  const auto run = static_cast<size_t>(at.t.heads * at.t.width);
  for (size_t p = 0; p < gradients.q.size(); p += run) {
    for (const std::vector<double>* part : {&gradients.q, &gradients.k, &gradients.v}) {
      packed.insert(packed.end(), part->begin() + static_cast<ptrdiff_t>(p),
                    part->begin() + static_cast<ptrdiff_t>(p + run));
    }
  }
  StoreFloats(dtype, packed, outputs[0]);
}

double Dot(const double* a, const double* b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

void AddScaled(double* to, double scale, const double* from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += scale * from[i];
}

// Returns the scores of a query: minus infinity for keys that it does not see.
std::vector<double> Scores(const AttentionIndex& at, const Operands& in, int64_t b, int64_t h, int64_t i) {
  const fb::AttentionStepT& t = at.t;
  std::vector<double> scores(t.keys, -std::numeric_limits<double>::infinity());
  const auto shared = [](int64_t size, int64_t index) { return size == 1 ? 0 : index; };
  for (int64_t j = 0; j < t.keys; ++j) {
    const int64_t distance = t.keys - t.queries + i - j;
    if ((t.causal && distance < 0) || (t.window != 0 && std::abs(distance) >= t.window)) continue;
    scores[j] = t.scale * Dot(&in.q[at.Query(b, i, h)], &in.k[at.Key(b, j, h)], t.width);
    if (!t.has_bias) continue;
    const int64_t matrix = shared(t.bias_batch, b) * t.bias_heads + shared(t.bias_heads, h);
    scores[j] += in.bias[(matrix * t.bias_queries + shared(t.bias_queries, i)) * t.keys + j];
  }
  return scores;
}

// Calls f(b, h, i, scores) for each row of scores: example, head and position.
template <typename F>
void ForRows(const AttentionIndex& at, const Operands& in, F&& f) {
  for (int64_t b = 0; b < at.t.batch; ++b) {
    for (int64_t h = 0; h < at.t.heads; ++h) {
      for (int64_t i = 0; i < at.t.queries; ++i) f(b, h, i, Scores(at, in, b, h, i));
    }
  }
}

void Forward(const AttentionIndex& at, const std::vector<void*>& buffers) {
  const fb::AttentionStepT& t = at.t;
  const Operands in = LoadOperands(at, buffers);
  std::vector<double> o(at.queries()), stats(at.rows());
  ForRows(at, in, [&](int64_t b, int64_t h, int64_t i, const std::vector<double>& scores) {
    const double most = *std::max_element(scores.begin(), scores.end());
    stats[at.Row(b, h, i)] = most;
    if (most == -std::numeric_limits<double>::infinity()) return;  // The query sees no key.
    double sum = 0;
    for (const double score : scores) sum += std::exp(score - most);
    for (int64_t j = 0; j < t.keys; ++j) {
      AddScaled(&o[at.Query(b, i, h)], std::exp(scores[j] - most) / sum, &in.v[at.Key(b, j, h)], t.width);
    }
    stats[at.Row(b, h, i)] += std::log(sum);
  });
  void* const* const outputs = buffers.data() + Given(t);
  StoreFloats(t.dtype, o, outputs[0]);
  if (t.has_stats) StoreFloats(fb::DType::F32, stats, outputs[1]);
}

void Backward(const AttentionIndex& at, const std::vector<void*>& buffers) {
  const fb::AttentionStepT& t = at.t;
  const Operands in = LoadOperands(at, buffers);
  void* const* const more = buffers.data() + Given(t);
  const std::vector<double> o = LoadFloats(t.dtype, more[0], at.queries());
  const std::vector<double> stats = LoadFloats(fb::DType::F32, more[1], at.rows());
  const std::vector<double> g = LoadFloats(t.dtype, more[2], at.queries());
  Operands d = {std::vector<double>(in.q.size()), std::vector<double>(in.k.size()),
                std::vector<double>(in.v.size())};
  ForRows(at, in, [&](int64_t b, int64_t h, int64_t i, const std::vector<double>& scores) {
    const size_t query = at.Query(b, i, h);
    const double mean = Dot(&g[query], &o[query], t.width);
    for (int64_t j = 0; j < t.keys; ++j) {
      if (std::isinf(scores[j])) continue;  // Not seen.
      const size_t key = at.Key(b, j, h);
      const double p = std::exp(scores[j] - stats[at.Row(b, h, i)]);
      AddScaled(&d.v[key], p, &g[query], t.width);
      const double slope = t.scale * p * (Dot(&g[query], &in.v[key], t.width) - mean);
      AddScaled(&d.q[query], slope, &in.k[key], t.width);
      AddScaled(&d.k[key], slope, &in.q[query], t.width);
    }
  });
  StoreGradients(at, d, more + 3);
}

}  // namespace

LibraryCall EmulatedAttention(const fb::AttentionStep& table) {
  return [at = AttentionIndex(table)](const std::vector<void*>& buffers) {
    at.t.backward ? Backward(at, buffers) : Forward(at, buffers);
  };
}

}  // namespace sinter
