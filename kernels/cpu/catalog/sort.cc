// The elements of each row in ascending order, or in descending order, and their positions.
//
//   inputs x[rows, size]; outputs values[rows, size], positions[rows, size] of i32
//   parameters dtype, rows, size, descending
//
// Equal elements keep their order, -0 is equal to 0, and NaN is the largest.
//
// Types of up to 32 bits sort numbers of 64 bits in the workspace: the element as a number without sign, then
// the position. Wider types sort the positions. A row is one thread's.
#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <type_traits>

#include "sinter/kernels/cpu/catalog/catalog_kernels.h"
#include "sinter/kernels/cpu/element_types.h"

namespace sinter::kernels {
namespace {

enum Parameter { kDType, kRows, kSize, kDescending };
constexpr std::string_view kParameters[] = {"dtype", "rows", "size", "descending"};
constexpr int64_t kGrainElements = 2048;

std::string Check(std::span<const int64_t> p, std::span<const CatalogOperand> operands) {
  int64_t elements = 0;
  std::string problem = CheckNumberType(p[kDType], "the tensor");
  if (problem.empty()) problem = CheckSizes({p[kRows], p[kSize]}, &elements);
  if (problem.empty() && p[kSize] > std::numeric_limits<int32_t>::max())
    problem = "a row has 2^31 elements or more";
  if (problem.empty() && p[kDescending] != 0 && p[kDescending] != 1) problem = "descending is not 0 or 1";
  if (problem.empty()) problem = CheckOperand(operands[0], "x", p[kDType], elements);
  if (problem.empty()) problem = CheckOperand(operands[1], "values", p[kDType], elements);
  if (problem.empty()) problem = CheckOperand(operands[2], "positions", kI32, elements);
  return problem;
}

bool IsWide(int64_t dtype) { return dtype == kF64 || dtype == kI64 || dtype == kU64; }

int64_t WorkspaceBytes(std::span<const int64_t> p) {
  return IsWide(p[kDType]) ? 0 : p[kRows] * p[kSize] * static_cast<int64_t>(sizeof(uint64_t));
}

// Returns a number whose order is that of the elements.
template <typename E>
auto KeyOf(typename E::Storage x) {
  if constexpr (E::kIsFloat) {
    using Float = typename E::Compute;
    using Bits = std::conditional_t<sizeof(Float) == 8, uint64_t, uint32_t>;
    constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
    const Float value = E::Load(x);
    if (value != value) return ~Bits{0};
    const Bits bits = value == 0 ? Bits{0} : std::bit_cast<Bits>(value);
    return (bits & kSign) != 0 ? static_cast<Bits>(~bits) : static_cast<Bits>(bits | kSign);
  } else {
    using Bits = std::conditional_t<sizeof(x) == 8, uint64_t, uint32_t>;
    constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
    if constexpr (std::is_signed_v<typename E::Storage>) {
      return static_cast<Bits>(static_cast<Bits>(static_cast<std::make_signed_t<Bits>>(x)) ^ kSign);
    } else {
      return static_cast<Bits>(x);
    }
  }
}

template <typename E>
void SortRow(const typename E::Storage* row, bool descending, int64_t size, uint64_t* keys,
             int32_t* positions) {
  using Key = decltype(KeyOf<E>(*row));
  const Key flip = descending ? ~Key{0} : Key{0};
  if constexpr (sizeof(Key) == 4) {
    for (int64_t i = 0; i < size; ++i) {
      keys[i] = uint64_t{static_cast<Key>(KeyOf<E>(row[i]) ^ flip)} << 32 | static_cast<uint64_t>(i);
    }
    std::sort(keys, keys + size);
    for (int64_t i = 0; i < size; ++i) positions[i] = static_cast<int32_t>(keys[i] & 0xffffffffu);
  } else {
    std::iota(positions, positions + size, 0);
    std::sort(positions, positions + size, [&](int32_t a, int32_t b) {
      const Key x = KeyOf<E>(row[a]) ^ flip, y = KeyOf<E>(row[b]) ^ flip;
      return x < y || (x == y && a < b);
    });
  }
}

template <typename E>
void Sort(const CatalogCall& call) {
  using S = typename E::Storage;
  const std::span<const int64_t> p = call.parameters;
  const int64_t size = p[kSize];
  if (size == 0) return;
  call.parallel.For(p[kRows], 1 + kGrainElements / size, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) {
      const S* const row = static_cast<const S*>(call.buffers[0]) + r * size;
      S* const values = static_cast<S*>(call.buffers[1]) + r * size;
      int32_t* const positions = static_cast<int32_t*>(call.buffers[2]) + r * size;
      uint64_t* const keys = static_cast<uint64_t*>(call.workspace) + (IsWide(p[kDType]) ? 0 : r * size);
      SortRow<E>(row, p[kDescending] != 0, size, keys, positions);
      for (int64_t i = 0; i < size; ++i) values[i] = row[positions[i]];
    }
  });
}

void Run(const CatalogCall& call) {
  WithElement(static_cast<int>(call.parameters[kDType]),
              [&](auto element) { Sort<decltype(element)>(call); });
}

}  // namespace

CatalogKernel SortKernel() { return {"sort", 1, 2, kParameters, Check, WorkspaceBytes, Run}; }

}  // namespace sinter::kernels
