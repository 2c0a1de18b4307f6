// The 8-bit floats e4m3 and e5m2 as storage types, with conversions that give the same bits on every machine.
//
//   Float8E4M3 x = Float8E4M3::FromFloat(1.0f);   // x.bits == 0x38
//   float f = Float8E5M2{0x3c}.ToFloat();         // 1.0f
//
// Conversions round to nearest, ties to even, and do not saturate, as in PyTorch: what is too large becomes
// NaN in e4m3 (above 464; the largest is 448), which has no infinity, and infinity in e5m2 (from 61440; the
// largest is 57344). NaN becomes 0x7f of the same sign.
#ifndef SINTER_RUNTIME_HOST_FLOAT8_H_
#define SINTER_RUNTIME_HOST_FLOAT8_H_

#include <bit>
#include <cstdint>

#include "sinter/runtime/host/half.h"

namespace sinter {

// 1 sign, 4 exponent and 3 mantissa bits, with the exponent's bias 7. All exponents are of finite numbers;
// only the mantissa 7 of the largest exponent is NaN (in ml_dtypes and PyTorch: e4m3fn).
struct Float8E4M3 {
  uint8_t bits = 0;

  static constexpr Float8E4M3 FromFloat(float value) {
    const uint32_t in = std::bit_cast<uint32_t>(value);
    const uint32_t sign = in >> 24 & 0x80u, magnitude = in & 0x7fffffffu;
    if (magnitude > 0x43e80000u) return {static_cast<uint8_t>(sign | 0x7fu)};  // Above 464, or NaN.
    if (magnitude >= 0x3c800000u) {                                            // 2^-6 and more: normal.
      const uint32_t rebiased = magnitude - 0x3c000000u;
      return {static_cast<uint8_t>(sign | (rebiased + 0x7ffffu + (rebiased >> 20 & 1u)) >> 20)};
    }
    // In units of 2^-9: the sum with 2^14 has them as its last place, and so rounds to them.
    const float shifted = std::bit_cast<float>(magnitude) + 16384.0f;
    return {static_cast<uint8_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x46800000u))};
  }
  constexpr float ToFloat() const {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x80u) << 24, magnitude = bits & 0x7fu;
    if (magnitude == 0x7fu) return std::bit_cast<float>(sign | 0x7fc00000u);
    if (magnitude >= 8) return std::bit_cast<float>(sign | ((magnitude << 20) + 0x3c000000u));
    const float subnormal = static_cast<float>(magnitude) * 0x1p-9f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(subnormal));
  }
  friend constexpr bool operator==(Float8E4M3 a, Float8E4M3 b) { return a.ToFloat() == b.ToFloat(); }
};

// 1 sign, 5 exponent and 2 mantissa bits: the upper half of a Float16.
struct Float8E5M2 {
  uint8_t bits = 0;

  static constexpr Float8E5M2 FromFloat(float value) {
    const uint32_t in = std::bit_cast<uint32_t>(value);
    const uint32_t sign = in >> 24 & 0x80u, magnitude = in & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return {static_cast<uint8_t>(sign | 0x7fu)};
    if (magnitude >= 0x47700000u) return {static_cast<uint8_t>(sign | 0x7cu)};  // 61440 and more: infinity.
    if (magnitude >= 0x38800000u) {                                             // 2^-14 and more: normal.
      const uint32_t rebiased = magnitude - 0x38000000u;
      return {static_cast<uint8_t>(sign | (rebiased + 0xfffffu + (rebiased >> 21 & 1u)) >> 21)};
    }
    // In units of 2^-16: the sum with 2^7 has them as its last place, and so rounds to them.
    const float shifted = std::bit_cast<float>(magnitude) + 128.0f;
    return {static_cast<uint8_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x43000000u))};
  }
  constexpr float ToFloat() const { return Float16{static_cast<uint16_t>(bits << 8)}.ToFloat(); }
  friend constexpr bool operator==(Float8E5M2 a, Float8E5M2 b) { return a.ToFloat() == b.ToFloat(); }
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_FLOAT8_H_
