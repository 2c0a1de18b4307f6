// The largest elements of rows, the largest first, and their positions.
//
//   inputs x[rows, size]; outputs values[rows, count], positions[rows, count] (i32)
//   parameters dtype, rows, size, count (1 to size)
//
// NaN is the largest. Of equal elements the first comes first, so the order is total and the result exact. A
// heap of the best elements so far lies in the row of positions; its top is the last of them. Most blocks of
// a row have no element that comes before the top, which vectors of comparisons tell.
#include <algorithm>
#include <numeric>
#include <span>

#include "sinter/kernels/cpu/catalog/catalog_kernels.h"
#include "sinter/kernels/cpu/element_types.h"

namespace sinter::kernels {
namespace {

enum TopKParameter { kTopKDType, kTopKRows, kTopKSize, kTopKCount };
constexpr std::string_view kTopKParameters[] = {"dtype", "rows", "size", "count"};
constexpr int64_t kTopKGrainElements = 8192;
constexpr int64_t kTopKBlock = 32;  // Elements that are compared with the top at once.

std::string CheckTopK(std::span<const int64_t> p, std::span<const CatalogOperand> operands) {
  const int64_t rows = p[kTopKRows], size = p[kTopKSize], count = p[kTopKCount];
  int64_t elements = 0;
  std::string problem = CheckNumberType(p[kTopKDType], "the tensor");
  if (problem.empty()) problem = CheckSizes({rows, size}, &elements);
  if (!problem.empty()) return problem;
  if (size >= int64_t{1} << 31) return "a row of " + std::to_string(size) + " elements exceeds i32";
  if (count < 1 || count > size) {
    return "the " + std::to_string(count) + " largest of " + std::to_string(size) + " elements";
  }
  problem = CheckOperand(operands[0], "x", p[kTopKDType], elements);
  if (problem.empty()) problem = CheckOperand(operands[1], "values", p[kTopKDType], rows * count);
  return problem.empty() ? CheckOperand(operands[2], "positions", kI32, rows * count) : problem;
}

int64_t TopKWorkspaceBytes(std::span<const int64_t>) { return 0; }

// Compares positions of a row: true if the element at a comes before the element at b.
template <typename E>
struct ComesBefore {
  const typename E::Storage* row;

  bool operator()(int32_t a, int32_t b) const {
    if constexpr (E::kIsFloat) {
      const auto x = E::Load(row[a]), y = E::Load(row[b]);
      const bool x_is_nan = x != x, y_is_nan = y != y;
      if (x_is_nan != y_is_nan) return x_is_nan;
      return x > y || (!(y > x) && a < b);
    } else {
      return row[a] > row[b] || (row[a] == row[b] && a < b);
    }
  }
};

// True if an element of the block comes before `top`, which lies in front of it.
template <typename E>
bool AnyComesBefore(const typename E::Storage* block, typename E::Storage top) {
  int any = 0;
  if constexpr (E::kIsFloat) {
    const auto least = E::Load(top);
    if (least != least) return false;
    for (int64_t i = 0; i < kTopKBlock; ++i) any |= !(E::Load(block[i]) <= least);
  } else {
    for (int64_t i = 0; i < kTopKBlock; ++i) any |= block[i] > top;
  }
  return any != 0;
}

// Lets the elements [begin, end) of a row, which lie behind those of the heap, take the place of its top.
template <typename E>
void Offer(const ComesBefore<E>& comes_before, int64_t begin, int64_t end, std::span<int32_t> best) {
  for (int64_t i = begin; i < end; ++i) {
    const int32_t position = static_cast<int32_t>(i);
    if (!comes_before(position, best[0])) continue;
    std::pop_heap(best.begin(), best.end(), comes_before);
    best.back() = position;
    std::push_heap(best.begin(), best.end(), comes_before);
  }
}

template <typename E>
void TakeLargest(const CatalogCall& call) {
  using S = typename E::Storage;
  const std::span<const int64_t> p = call.parameters;
  const int64_t size = p[kTopKSize], count = p[kTopKCount];
  call.parallel.For(p[kTopKRows], 1 + kTopKGrainElements / size, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) {
      const ComesBefore<E> comes_before{static_cast<const S*>(call.buffers[0]) + r * size};
      S* const values = static_cast<S*>(call.buffers[1]) + r * count;
      int32_t* const best = static_cast<int32_t*>(call.buffers[2]) + r * count;
      std::iota(best, best + count, 0);
      std::make_heap(best, best + count, comes_before);
      for (int64_t i = count; i < size; i += kTopKBlock) {
        const int64_t end = std::min(size, i + kTopKBlock);
        const bool is_whole = end - i == kTopKBlock;
        if (is_whole && !AnyComesBefore<E>(comes_before.row + i, comes_before.row[best[0]])) continue;
        Offer(comes_before, i, end, {best, static_cast<size_t>(count)});
      }
      std::sort_heap(best, best + count, comes_before);
      for (int64_t j = 0; j < count; ++j) values[j] = comes_before.row[best[j]];
    }
  });
}

void RunTopK(const CatalogCall& call) {
  WithElement(static_cast<int>(call.parameters[kTopKDType]),
              [&](auto element) { TakeLargest<decltype(element)>(call); });
}

}  // namespace

CatalogKernel TopKKernel() {
  return {"top_k", 1, 2, kTopKParameters, CheckTopK, TopKWorkspaceBytes, RunTopK};
}

}  // namespace sinter::kernels
