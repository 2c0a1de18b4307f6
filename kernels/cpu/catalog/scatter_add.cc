// result = x, then result[o, indices[i], j] += updates[o, i, j] in the order of i.
//
//   inputs x[outer, size, inner], indices[count], updates[outer, count, inner]; outputs result
//   parameters dtype, index_dtype, outer, size, inner, count
//
// Indices outside [0, size) are ignored. The result may alias x.
//
// Each thread owns a range of the result's rows (o, k). It walks over all indices and adds those in its
// range. So no two threads write to the same element, and each element's sum has a fixed order. 16-bit floats
// are summed in f32 in the workspace.
#include <cstring>

#include "sinter/kernels/cpu/catalog/catalog_kernels.h"
#include "sinter/kernels/cpu/element_types.h"

namespace sinter::kernels {
namespace {

enum Parameter { kDType, kIndexDType, kOuter, kSize, kInner, kCount };
constexpr std::string_view kParameters[] = {"dtype", "index_dtype", "outer", "size", "inner", "count"};
constexpr int64_t kGrainElements = 4096;

std::string Check(std::span<const int64_t> p, std::span<const CatalogOperand> operands) {
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

bool IsLowPrecision(int64_t dtype) { return dtype == kBf16 || dtype == kF16; }

int64_t WorkspaceBytes(std::span<const int64_t> p) {
  return IsLowPrecision(p[kDType]) ? p[kOuter] * p[kSize] * p[kInner] * static_cast<int64_t>(sizeof(float))
                                   : 0;
}

// Adds the updates of rows [begin, end) of the result. `sums` is the result itself or the workspace.
template <typename E, typename Index, typename Sum>
void AddRows(std::span<const int64_t> p, const Index* indices, const typename E::Storage* updates, Sum* sums,
             int64_t begin, int64_t end) {
  const int64_t size = p[kSize], inner = p[kInner], count = p[kCount];
  for (int64_t outer = begin / size; outer * size < end; ++outer) {
    const int64_t first = begin > outer * size ? begin - outer * size : 0;
    const int64_t last = end - outer * size < size ? end - outer * size : size;
    Sum* const to = sums + outer * size * inner;
    const typename E::Storage* const from = updates + outer * count * inner;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t index = indices[i];
      if (index < first || index >= last) continue;
      Sum* const row = to + index * inner;
      const typename E::Storage* const add = from + i * inner;
      for (int64_t j = 0; j < inner; ++j) {
        row[j] = static_cast<Sum>(static_cast<typename E::Compute>(row[j]) + E::Load(add[j]));
      }
    }
  }
}

template <typename E, typename Index>
void Scatter(const CatalogCall& call) {
  using S = typename E::Storage;
  const std::span<const int64_t> p = call.parameters;
  const S* const x = static_cast<const S*>(call.buffers[0]);
  const Index* const indices = static_cast<const Index*>(call.buffers[1]);
  const S* const updates = static_cast<const S*>(call.buffers[2]);
  S* const result = static_cast<S*>(call.buffers[3]);
  const int64_t inner = p[kInner];
  if (inner == 0) return;
  const int64_t grain = 1 + kGrainElements / inner;
  call.parallel.For(p[kOuter] * p[kSize], grain, [&](int64_t begin, int64_t end, int) {
    const int64_t first = begin * inner, last = end * inner;
    if constexpr (E::kIsLowPrecision) {
      float* const sums = static_cast<float*>(call.workspace);
      for (int64_t e = first; e < last; ++e) sums[e] = E::Load(x[e]);
      AddRows<E>(p, indices, updates, sums, begin, end);
      for (int64_t e = first; e < last; ++e) result[e] = E::Store(sums[e]);
    } else {
      if (result != x) std::memcpy(result + first, x + first, static_cast<size_t>(last - first) * sizeof(S));
      AddRows<E>(p, indices, updates, result, begin, end);
    }
  });
}

void Run(const CatalogCall& call) {
  WithElement(static_cast<int>(call.parameters[kDType]), [&](auto element) {
    if (call.parameters[kIndexDType] == kI64) {
      Scatter<decltype(element), int64_t>(call);
    } else {
      Scatter<decltype(element), int32_t>(call);
    }
  });
}

}  // namespace

CatalogKernel ScatterAddKernel() { return {"scatter_add", 3, 1, kParameters, Check, WorkspaceBytes, Run}; }

}  // namespace sinter::kernels
