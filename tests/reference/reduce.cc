// Reductions and scans.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sinter/tests/reference/reference.h"

namespace sinter::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns for each result element the offsets of the operand's elements that it reduces, in row-major order.
std::vector<std::vector<int64_t>> Groups(const Shape& shape, const Shape& dims) {
  std::vector<bool> is_reduced(shape.size());
  for (const int64_t dim : dims) is_reduced[dim] = true;
  int64_t count = 1;
  for (size_t d = 0; d < shape.size(); ++d) count *= is_reduced[d] ? 1 : shape[d];
  std::vector<std::vector<int64_t>> groups(count);
  int64_t offset = 0;
  ForEachIndex(shape, [&](const Shape& at) {
    int64_t group = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (!is_reduced[d]) group = group * shape[d] + at[d];
    }
    groups[group].push_back(offset++);
  });
  return groups;
}

using RealReduction = double (*)(const std::vector<double>&);
using IntReduction = int64_t (*)(const std::vector<int64_t>&, DType);

int64_t NoInts(const std::vector<int64_t>&, DType) { return 0; }

template <RealReduction real, IntReduction integer = NoInts>
std::vector<Value> Reduce(const Call& call) {
  const Value& x = call.in[0];
  Value r = call.Result();
  auto groups = Groups(x.shape, call.Ints("dims"));
  for (size_t i = 0; i < groups.size(); ++i) {
    if (x.is_real()) {
      std::vector<double> elements;
      for (int64_t j : groups[i]) elements.push_back(x.reals[j]);
      r.reals[i] = real(elements);
    } else {
      std::vector<int64_t> elements;
      for (int64_t j : groups[i]) elements.push_back(x.ints[j]);
      r.ints[i] = integer(elements, x.dtype);
    }
  }
  return {r};
}

double Sum(const std::vector<double>& x) {
  double sum = 0;
  for (double v : x) sum += v;
  return sum;
}
int64_t SumInts(const std::vector<int64_t>& x, DType) {
  uint64_t sum = 0;
  for (int64_t v : x) sum += static_cast<uint64_t>(v);
  return static_cast<int64_t>(sum);
}
double Prod(const std::vector<double>& x) {
  double product = 1;
  for (double v : x) product *= v;
  return product;
}
int64_t ProdInts(const std::vector<int64_t>& x, DType) {
  uint64_t product = 1;
  for (int64_t v : x) product *= static_cast<uint64_t>(v);
  return static_cast<int64_t>(product);
}
double Max(const std::vector<double>& x) {
  double best = -kInfinity;
  for (double v : x) best = std::isnan(best) || std::isnan(v) ? std::nan("") : std::max(best, v);
  return best;
}
int64_t MaxInts(const std::vector<int64_t>& x, DType dtype) {
  int64_t best = Lowest(dtype);
  for (int64_t v : x) best = IsLess(dtype, best, v) ? v : best;
  return best;
}
double Min(const std::vector<double>& x) {
  double best = kInfinity;
  for (double v : x) best = std::isnan(best) || std::isnan(v) ? std::nan("") : std::min(best, v);
  return best;
}
int64_t MinInts(const std::vector<int64_t>& x, DType dtype) {
  int64_t best = Highest(dtype);
  for (int64_t v : x) best = IsLess(dtype, v, best) ? v : best;
  return best;
}
double NoReals(const std::vector<double>&) { return 0; }
int64_t Any(const std::vector<int64_t>& x, DType) { return std::count(x.begin(), x.end(), 1) > 0; }
int64_t All(const std::vector<int64_t>& x, DType) { return std::count(x.begin(), x.end(), 0) == 0; }

double Mean(const std::vector<double>& x) { return Sum(x) / static_cast<double>(x.size()); }
double Logsumexp(const std::vector<double>& x) {
  double top = Max(x);
  if (!std::isfinite(top)) return top;
  double sum = 0;
  for (double v : x) sum += std::exp(v - top);
  return std::log(sum) + top;
}
double Norm(const std::vector<double>& x) {
  double sum = 0;
  for (double v : x) sum += v * v;
  return std::sqrt(sum);
}

// Returns the position of the first element that no other element beats.
std::vector<Value> ArgReduce(const Call& call, bool largest) {
  const Value& x = call.in[0];
  Value r = call.Result();
  auto groups = Groups(x.shape, {call.Int("dim")});
  for (size_t i = 0; i < groups.size(); ++i) {
    size_t best = 0;
    for (size_t k = 1; k < groups[i].size(); ++k) {
      int64_t a = groups[i][k], b = groups[i][best];
      bool beats = false;
      if (x.is_real()) {
        double v = x.reals[a], w = x.reals[b];
        beats = !std::isnan(w) && (std::isnan(v) || (largest ? v > w : v < w));
      } else {
        beats = largest ? IsLess(x.dtype, x.ints[b], x.ints[a]) : IsLess(x.dtype, x.ints[a], x.ints[b]);
      }
      if (beats) best = k;
    }
    r.ints[i] = static_cast<int64_t>(best);
  }
  return {r};
}
std::vector<Value> Argmax(const Call& call) { return ArgReduce(call, true); }
std::vector<Value> Argmin(const Call& call) { return ArgReduce(call, false); }

std::vector<Value> Cumsum(const Call& call) {
  Value r = call.in[0];
  for (std::vector<int64_t>& line : Groups(r.shape, {call.Int("dim")})) {
    if (call.Flag("reverse")) std::reverse(line.begin(), line.end());
    for (size_t k = 1; k < line.size(); ++k) {
      if (r.is_real()) {
        r.reals[line[k]] += r.reals[line[k - 1]];
      } else {
        r.ints[line[k]] = static_cast<int64_t>(static_cast<uint64_t>(r.ints[line[k]]) +
                                               static_cast<uint64_t>(r.ints[line[k - 1]]));
      }
    }
  }
  return {r};
}

// Sorts whole rows; NaN first, then by value, then by position.
std::vector<Value> TopK(const Call& call) {
  const Value& x = call.in[0];
  Value values = call.Result(0), positions = call.Result(1);
  const int64_t k = call.Int("k"), size = x.shape.back();
  const auto is_before = [&](int64_t a, int64_t b) {
    if (!x.is_real()) return x.ints[a] != x.ints[b] ? IsLess(x.dtype, x.ints[b], x.ints[a]) : a < b;
    if (std::isnan(x.reals[a]) != std::isnan(x.reals[b])) return std::isnan(x.reals[a]);
    if (std::isnan(x.reals[a]) || x.reals[a] == x.reals[b]) return a < b;
    return x.reals[a] > x.reals[b];
  };
  for (int64_t row = 0; row < x.size() / size; ++row) {
    std::vector<int64_t> order(static_cast<size_t>(size));
    std::iota(order.begin(), order.end(), row * size);
    std::sort(order.begin(), order.end(), is_before);
    for (int64_t j = 0; j < k; ++j) {
      values.Copy(row * k + j, x, order[j]);
      positions.ints[row * k + j] = order[j] - row * size;
    }
  }
  return {values, positions};
}

// The order of sinter.sort: by value, NaN last, then by position; the other way round, but for positions, if
// it is descending.
std::vector<Value> Sort(const Call& call) {
  const Value& x = call.in[0];
  Value values = call.Result(0), positions = call.Result(1);
  const bool descending = call.Flag("descending");
  const int64_t size = x.shape.back();
  const auto is_less = [&](int64_t a, int64_t b) {
    if (!x.is_real()) return IsLess(x.dtype, x.ints[a], x.ints[b]);
    if (std::isnan(x.reals[a])) return false;
    return std::isnan(x.reals[b]) || x.reals[a] < x.reals[b];
  };
  for (int64_t row = 0; size > 0 && row < x.size() / size; ++row) {
    std::vector<int64_t> order(static_cast<size_t>(size));
    std::iota(order.begin(), order.end(), row * size);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return descending ? is_less(b, a) : is_less(a, b); });
    for (int64_t j = 0; j < size; ++j) {
      values.Copy(row * size + j, x, order[j]);
      positions.ints[row * size + j] = order[j] - row * size;
    }
  }
  return {values, positions};
}

}  // namespace

void AddReduceOps(OpTable& table) {
  table["sinter.sum"] = Reduce<Sum, SumInts>;
  table["sinter.prod"] = Reduce<Prod, ProdInts>;
  table["sinter.max"] = Reduce<Max, MaxInts>;
  table["sinter.min"] = Reduce<Min, MinInts>;
  table["sinter.any"] = Reduce<NoReals, Any>;
  table["sinter.all"] = Reduce<NoReals, All>;
  table["sinter.mean"] = Reduce<Mean>;
  table["sinter.logsumexp"] = Reduce<Logsumexp>;
  table["sinter.norm"] = Reduce<Norm>;
  table["sinter.argmax"] = Argmax;
  table["sinter.argmin"] = Argmin;
  table["sinter.cumsum"] = Cumsum;
  table["sinter.top_k"] = TopK;
  table["sinter.sort"] = Sort;
}

}  // namespace sinter::reference
