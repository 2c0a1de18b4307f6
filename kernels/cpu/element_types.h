// Element types by the numbers of dtype.h, for kernels that are written once for all types.
//
//   WithElement(dtype, [&](auto element) {
//     using E = decltype(element);                       // E::Storage in memory, E::Compute for arithmetic.
//     E::Compute sum = E::Load(x[0]) + E::Load(x[1]);
//     y[0] = E::Store(sum);
//   });
//
// 16-bit floats compute in float. Integers compute as unsigned integers of the same width, at least 32 bits,
// so that they wrap.
#ifndef SINTER_KERNELS_CPU_ELEMENT_TYPES_H_
#define SINTER_KERNELS_CPU_ELEMENT_TYPES_H_

#include <cstdint>

#include "sinter/kernels/cpu/math/vector_math.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace sinter::kernels {

// Inline, because conversions dominate the work of many kernels.
inline float LoadF16(uint16_t bits) {
#if defined(__F16C__)
  return _cvtsh_ss(bits);
#else
  return sn_f32_from_f16(bits);
#endif
}
inline float LoadBf16(uint16_t bits) { return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16); }
// The same arithmetic as sn_bf16_from_f32.
inline uint16_t StoreBf16(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16, quiet_nan = (bits >> 16) | 0x40u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded);
}

inline constexpr int kF64 = 0, kF32 = 1, kBf16 = 2, kF16 = 3, kI64 = 4, kI32 = 5, kI8 = 6, kU8 = 7, kI1 = 8,
                     kI16 = 9, kU16 = 10, kU32 = 11, kU64 = 12;

// True for the types that have arithmetic.
constexpr bool IsNumberType(int64_t dtype) {
  return (dtype >= kF64 && dtype <= kU8) || (dtype >= kI16 && dtype <= kU64);
}

template <typename S, typename C, int number>
struct Element {
  using Storage = S;
  using Compute = C;
  static constexpr int kDType = number;
  static constexpr bool kIsFloat = number <= kF16;
  static constexpr bool kIsLowPrecision = number == kBf16 || number == kF16;

  static C Load(S value) {
    if constexpr (number == kBf16)
      return LoadBf16(value);
    else if constexpr (number == kF16)
      return LoadF16(value);
    else
      return static_cast<C>(value);
  }
  static S Store(C value) {
    if constexpr (number == kBf16)
      return StoreBf16(value);
    else if constexpr (number == kF16)
      return sn_f16_from_f32(value);
    else
      return static_cast<S>(value);
  }
};

// Calls f with the Element of an integer `dtype`, except i1. Does nothing for other types.
template <typename F>
void WithIntegerElement(int dtype, F&& f) {
  switch (dtype) {
    case kI64:
      return f(Element<int64_t, uint64_t, kI64>());
    case kI32:
      return f(Element<int32_t, uint32_t, kI32>());
    case kI8:
      return f(Element<int8_t, uint32_t, kI8>());
    case kU8:
      return f(Element<uint8_t, uint32_t, kU8>());
    case kI16:
      return f(Element<int16_t, uint32_t, kI16>());
    case kU16:
      return f(Element<uint16_t, uint32_t, kU16>());
    case kU32:
      return f(Element<uint32_t, uint32_t, kU32>());
    case kU64:
      return f(Element<uint64_t, uint64_t, kU64>());
    default:
      return;
  }
}

// Calls f with the Element of a float `dtype`. Does nothing for other types.
template <typename F>
void WithFloatElement(int dtype, F&& f) {
  switch (dtype) {
    case kF64:
      return f(Element<double, double, kF64>());
    case kF32:
      return f(Element<float, float, kF32>());
    case kBf16:
      return f(Element<uint16_t, float, kBf16>());
    case kF16:
      return f(Element<uint16_t, float, kF16>());
    default:
      return;
  }
}

// Calls f with the Element of an integer or float `dtype`, except i1.
template <typename F>
void WithElement(int dtype, F&& f) {
  WithFloatElement(dtype, f);
  WithIntegerElement(dtype, f);
}

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_ELEMENT_TYPES_H_
