// scatter_add: result = x, then result[o, indices[i], j] += updates[o, i, j] in the order of i.
//
//   inputs x[outer, size, inner], indices[count], updates[outer, count, inner]; outputs result
//   parameters dtype, index_dtype, outer, size, inner, count
//
// scatter: the same, but the update replaces the element (kind 0), or their maximum (1), their minimum (2) or
// their product (3) does.
//
//   parameters kind, and those of scatter_add
//
// Indices outside [0, size) are ignored. The result may alias x.
//
// Each thread owns a range of the result's rows (o, k). It walks over all indices and combines those in its
// range. So no two threads write to the same element, and each element's result has a fixed order. Sums and
// products of 16-bit floats are in f32 in the workspace.
#include <cstring>

#include "sinter/kernels/cpu/catalog/catalog_kernels.h"
#include "sinter/kernels/cpu/element_types.h"

namespace sinter::kernels {
namespace {

enum Parameter { kDType, kIndexDType, kOuter, kSize, kInner, kCount };
enum Kind { kSet, kMax, kMin, kMul, kAdd };
constexpr std::string_view kAddParameters[] = {"dtype", "index_dtype", "outer", "size", "inner", "count"};
constexpr std::string_view kParameters[] = {"kind", "dtype", "index_dtype", "outer",
                                            "size", "inner", "count"};
constexpr int64_t kGrainElements = 4096;

std::string CheckAdd(std::span<const int64_t> p, std::span<const CatalogOperand> operands) {
  if (std::string problem = CheckNumberType(p[kDType], "the tensor"); !problem.empty()) return problem;
  if (std::string problem = CheckIndexType(p[kIndexDType], "the indices"); !problem.empty()) return problem;
  int64_t elements = 0, updates = 0;
  if (std::string problem = CheckSizes({p[kOuter], p[kSize], p[kInner]}, &elements); !problem.empty())
    return problem;
  if (std::string problem = CheckSizes({p[kOuter], p[kCount], p[kInner]}, &updates); !problem.empty())
    return problem;
  std::string problem = CheckOperand(operands[0], "x", p[kDType], elements);
  if (problem.empty()) problem = CheckOperand(operands[1], "indices", p[kIndexDType], p[kCount]);
  if (problem.empty()) problem = CheckOperand(operands[2], "updates", p[kDType], updates);
  if (problem.empty()) problem = CheckOperand(operands[3], "the result", p[kDType], elements);
  return problem;
}

std::string Check(std::span<const int64_t> p, std::span<const CatalogOperand> operands) {
  if (p[0] < kSet || p[0] > kMul) return "has an unknown kind; kinds are 0 to 3";
  return CheckAdd(p.subspan(1), operands);
}

int64_t AddWorkspaceBytes(std::span<const int64_t> p) {
  const bool is_low_precision = p[kDType] == kBf16 || p[kDType] == kF16;
  return is_low_precision ? p[kOuter] * p[kSize] * p[kInner] * static_cast<int64_t>(sizeof(float)) : 0;
}

int64_t WorkspaceBytes(std::span<const int64_t> p) {
  return p[0] == kMul ? AddWorkspaceBytes(p.subspan(1)) : 0;
}

// Calls `combine(to, from)` for each update of rows [begin, end) of the result: the offsets of a row of the
// result and of its update, in order.
template <typename Index, typename Combine>
void ForUpdates(std::span<const int64_t> p, const Index* indices, int64_t begin, int64_t end,
                const Combine& combine) {
  const int64_t size = p[kSize], inner = p[kInner], count = p[kCount];
  for (int64_t outer = begin / size; outer * size < end; ++outer) {
    const int64_t first = begin > outer * size ? begin - outer * size : 0;
    const int64_t last = end - outer * size < size ? end - outer * size : size;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t index = indices[i];
      if (index < first || index >= last) continue;
      combine((outer * size + index) * inner, (outer * count + i) * inner);
    }
  }
}

// Sums and products, in `results`: the result itself or the workspace.
template <Kind kind, typename E, typename Index, typename Result>
void Accumulate(std::span<const int64_t> p, const Index* indices, const typename E::Storage* updates,
                Result* results, int64_t begin, int64_t end) {
  using Compute = typename E::Compute;
  ForUpdates(p, indices, begin, end, [&](int64_t to, int64_t from) {
    for (int64_t j = 0; j < p[kInner]; ++j) {
      const Compute old = static_cast<Compute>(results[to + j]), update = E::Load(updates[from + j]);
      results[to + j] = static_cast<Result>(kind == kAdd ? old + update : old * update);
    }
  });
}

// True if `update` takes the place of `old`. NaN stays, and replaces numbers.
template <Kind kind, typename E>
bool Replaces(typename E::Storage update, typename E::Storage old) {
  if constexpr (E::kIsFloat) {
    const auto x = E::Load(old), y = E::Load(update);
    return x == x && (y != y || (kind == kMax ? y > x : y < x));
  } else {
    return kind == kMax ? update > old : update < old;
  }
}

template <Kind kind, typename E, typename Index>
void Replace(std::span<const int64_t> p, const Index* indices, const typename E::Storage* updates,
             typename E::Storage* results, int64_t begin, int64_t end) {
  ForUpdates(p, indices, begin, end, [&](int64_t to, int64_t from) {
    if constexpr (kind == kSet) {
      std::memcpy(results + to, updates + from, static_cast<size_t>(p[kInner]) * sizeof(results[0]));
    } else {
      for (int64_t j = 0; j < p[kInner]; ++j) {
        if (Replaces<kind, E>(updates[from + j], results[to + j])) results[to + j] = updates[from + j];
      }
    }
  });
}

template <Kind kind, typename E, typename Index>
void Scatter(const CatalogCall& call, std::span<const int64_t> p) {
  using S = typename E::Storage;
  const S* const x = static_cast<const S*>(call.buffers[0]);
  const Index* const indices = static_cast<const Index*>(call.buffers[1]);
  const S* const updates = static_cast<const S*>(call.buffers[2]);
  S* const result = static_cast<S*>(call.buffers[3]);
  const int64_t inner = p[kInner];
  if (inner == 0) return;
  const int64_t grain = 1 + kGrainElements / inner;
  call.parallel.For(p[kOuter] * p[kSize], grain, [&](int64_t begin, int64_t end, int) {
    const int64_t first = begin * inner, last = end * inner;
    constexpr bool is_accumulated = kind == kAdd || kind == kMul;
    if constexpr (is_accumulated && E::kIsLowPrecision) {
      float* const sums = static_cast<float*>(call.workspace);
      for (int64_t e = first; e < last; ++e) sums[e] = E::Load(x[e]);
      Accumulate<kind, E>(p, indices, updates, sums, begin, end);
      for (int64_t e = first; e < last; ++e) result[e] = E::Store(sums[e]);
    } else {
      if (result != x) std::memcpy(result + first, x + first, static_cast<size_t>(last - first) * sizeof(S));
      if constexpr (is_accumulated) {
        Accumulate<kind, E>(p, indices, updates, result, begin, end);
      } else {
        Replace<kind, E>(p, indices, updates, result, begin, end);
      }
    }
  });
}

template <Kind kind>
void RunKind(const CatalogCall& call, std::span<const int64_t> p) {
  WithElement(static_cast<int>(p[kDType]), [&](auto element) {
    if (p[kIndexDType] == kI64) {
      Scatter<kind, decltype(element), int64_t>(call, p);
    } else {
      Scatter<kind, decltype(element), int32_t>(call, p);
    }
  });
}

void RunAdd(const CatalogCall& call) { RunKind<kAdd>(call, call.parameters); }

void Run(const CatalogCall& call) {
  const std::span<const int64_t> p = call.parameters.subspan(1);
  switch (call.parameters[0]) {
    case kSet:
      return RunKind<kSet>(call, p);
    case kMax:
      return RunKind<kMax>(call, p);
    case kMin:
      return RunKind<kMin>(call, p);
    default:
      return RunKind<kMul>(call, p);
  }
}

}  // namespace

CatalogKernel ScatterAddKernel() {
  return {"scatter_add", 3, 1, kAddParameters, CheckAdd, AddWorkspaceBytes, RunAdd};
}
CatalogKernel ScatterKernel() { return {"scatter", 3, 1, kParameters, Check, WorkspaceBytes, Run}; }

}  // namespace sinter::kernels
