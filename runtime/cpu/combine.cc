#include "sinter/runtime/cpu/combine.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <type_traits>

#include "runtime/plan_generated.h"
#include "sinter/runtime/host/element_types.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/collective.h"

namespace sinter {
namespace {

// The accumulators of one block and the data that it reads fit in the L1 cache.
constexpr int64_t kBlock = 1024;

// Converts a stored value to the accumulator type, and back.
template <typename Acc, typename T>
Acc Widen(T value) {
  if constexpr (kIsSmallFloat<T>) {
    return value.ToFloat();
  } else {
    return static_cast<Acc>(value);
  }
}
template <typename T, typename Acc>
T Narrow(Acc value) {
  if constexpr (kIsSmallFloat<T>) {
    return T::FromFloat(value);
  } else {
    return static_cast<T>(value);
  }
}

template <typename Acc>
struct Plus {
  static Acc Of(Acc a, Acc b) { return a + b; }
};

// Combines equal floats, which have equal bits or are zeros. For zeros of both signs, AND gives +0 (the
// larger), OR -0.
template <typename F, bool kMax>
F EqualFloats(F a, F b) {
  using Bits = std::conditional_t<sizeof(F) == 8, uint64_t, uint32_t>;
  const Bits x = std::bit_cast<Bits>(a), y = std::bit_cast<Bits>(b);
  return std::bit_cast<F>(kMax ? x & y : x | y);
}

template <typename Acc, bool kMax>
struct Extreme {
  static Acc Of(Acc a, Acc b) {
    const Acc larger = (kMax ? a > b : a < b) ? a : b;
    if constexpr (std::floating_point<Acc>) {
      const Acc ordered = a == b ? EqualFloats<Acc, kMax>(a, b) : larger;
      return std::isunordered(a, b) ? a + b : ordered;
    } else {
      return larger;
    }
  }
};

// Acc: type of sums and comparisons. Quotient: type of the division by the number of inputs; void for no
// division.
template <typename T, typename Acc, typename Op, typename Quotient = void>
void CombineBlocks(std::span<const void* const> inputs, std::span<void* const> outputs, int64_t count) {
  Acc acc[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t size = std::min(kBlock, count - begin);
    const T* const first = static_cast<const T*>(inputs[0]) + begin;
    for (int64_t i = 0; i < size; ++i) acc[i] = Widen<Acc>(first[i]);
    for (const void* input : inputs.subspan(1)) {
      const T* const next = static_cast<const T*>(input) + begin;
      for (int64_t i = 0; i < size; ++i) acc[i] = Op::Of(acc[i], Widen<Acc>(next[i]));
    }
    if constexpr (!std::is_void_v<Quotient>) {
      const Quotient members = static_cast<Quotient>(inputs.size());
      for (int64_t i = 0; i < size; ++i) acc[i] = static_cast<Acc>(static_cast<Quotient>(acc[i]) / members);
    }
    for (void* output : outputs) {
      T* const to = static_cast<T*>(output) + begin;
      for (int64_t i = 0; i < size; ++i) to[i] = Narrow<T>(acc[i]);
    }
  }
}

template <typename T, typename Acc>
void CombineFloats(fb::ReduceOp combine, std::span<const void* const> inputs, std::span<void* const> outputs,
                   int64_t count) {
  switch (combine) {
    case fb::ReduceOp::Sum:
      return CombineBlocks<T, Acc, Plus<Acc>>(inputs, outputs, count);
    case fb::ReduceOp::Mean:
      return CombineBlocks<T, Acc, Plus<Acc>, Acc>(inputs, outputs, count);
    case fb::ReduceOp::Max:
      return CombineBlocks<T, Acc, Extreme<Acc, true>>(inputs, outputs, count);
    case fb::ReduceOp::Min:
      return CombineBlocks<T, Acc, Extreme<Acc, false>>(inputs, outputs, count);
  }
}

// Sums are unsigned, so that they wrap.
template <typename T>
void CombineIntegers(fb::ReduceOp combine, std::span<const void* const> inputs,
                     std::span<void* const> outputs, int64_t count) {
  using Unsigned = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  using Quotient = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  switch (combine) {
    case fb::ReduceOp::Sum:
      return CombineBlocks<T, Unsigned, Plus<Unsigned>>(inputs, outputs, count);
    case fb::ReduceOp::Mean:
      return CombineBlocks<T, uint64_t, Plus<uint64_t>, Quotient>(inputs, outputs, count);
    case fb::ReduceOp::Max:
      return CombineBlocks<T, T, Extreme<T, true>>(inputs, outputs, count);
    case fb::ReduceOp::Min:
      return CombineBlocks<T, T, Extreme<T, false>>(inputs, outputs, count);
  }
}

}  // namespace

void CombineElements(fb::ReduceOp combine, DType dtype, std::span<const void* const> inputs,
                     std::span<void* const> outputs, int64_t count) {
  SINTER_CHECK(!inputs.empty() && CanCombine(combine, dtype)) << "for " << DTypeName(dtype);
  WithElementType(dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (std::is_same_v<T, bool>) {
      CombineIntegers<uint8_t>(combine, inputs, outputs, count);
    } else if constexpr (std::is_integral_v<T>) {
      CombineIntegers<T>(combine, inputs, outputs, count);
    } else {
      CombineFloats<T, std::conditional_t<kIsSmallFloat<T>, float, T>>(combine, inputs, outputs, count);
    }
  });
}

}  // namespace sinter
