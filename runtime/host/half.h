// The 16-bit floats bf16 and f16 as storage types, with conversions that give the same bits on every machine.
//
// Conversions are integer code and round to nearest, ties to even.
//
//   BFloat16 b = BFloat16::FromFloat(1.0f);     // b.bits == 0x3f80
//   float f = Float16{0x3c00}.ToFloat();        // 1.0f
//
// ToFloat is exact. FromFloat turns too large values into infinity, and too small values into a subnormal or
// a zero of the same sign. NaN stays NaN (quiet, with the upper bits of its payload).
#ifndef SINTER_RUNTIME_HOST_HALF_H_
#define SINTER_RUNTIME_HOST_HALF_H_

#include <bit>
#include <cstdint>

namespace sinter {

// 1 sign, 8 exponent and 7 mantissa bits: the upper half of a float.
struct BFloat16 {
  uint16_t bits = 0;

  static constexpr BFloat16 FromFloat(float value) {
    const uint32_t in = std::bit_cast<uint32_t>(value);
    if ((in & 0x7fffffffu) > 0x7f800000u) return {static_cast<uint16_t>(in >> 16 | 0x0040u)};
    return {static_cast<uint16_t>((in + 0x7fffu + (in >> 16 & 1u)) >> 16)};
  }
  constexpr float ToFloat() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
  friend constexpr bool operator==(BFloat16 a, BFloat16 b) { return a.ToFloat() == b.ToFloat(); }
};

// IEEE 754 binary16: 1 sign, 5 exponent and 10 mantissa bits.
struct Float16 {
  uint16_t bits = 0;

  static constexpr Float16 FromFloat(float value) {
    const uint32_t in = std::bit_cast<uint32_t>(value);
    const uint32_t sign = in >> 16 & 0x8000u;
    const uint32_t magnitude = in & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {  // NaN.
      return {static_cast<uint16_t>(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu))};
    }
    if (magnitude >= 0x47800000u) return {static_cast<uint16_t>(sign | 0x7c00u)};  // 2^16 and more: infinity.
    if (magnitude >= 0x38800000u) {                                                // 2^-14 and more: normal.
      // Changes the exponent's bias from 127 to 15. A carry out of the mantissa correctly rounds up to
      // infinity.
      const uint32_t rebiased = magnitude - 0x38000000u;
      return {static_cast<uint16_t>(sign | (rebiased + 0xfffu + (rebiased >> 13 & 1u)) >> 13)};
    }
    if (magnitude < 0x33000000u) return {static_cast<uint16_t>(sign)};  // Below 2^-25: zero.
    // Subnormal: the mantissa with its hidden bit, in units of 2^-24.
    const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    const uint32_t shift = 126u - (magnitude >> 23);  // 14..24
    const uint32_t half = uint32_t{1} << (shift - 1);
    const uint32_t odd = mantissa >> shift & 1u;
    return {static_cast<uint16_t>(sign | (mantissa + half - 1u + odd) >> shift)};
  }

  constexpr float ToFloat() const {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    const uint32_t exponent = bits >> 10 & 0x1fu;
    const uint32_t mantissa = bits & 0x3ffu;
    if (exponent == 0x1fu) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
    if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112u) << 23 | mantissa << 13);
    if (mantissa == 0) return std::bit_cast<float>(sign);
    // Subnormal: mantissa * 2^-24. The top bit becomes the hidden bit.
    const uint32_t width = static_cast<uint32_t>(std::bit_width(mantissa));  // 1..10
    return std::bit_cast<float>(sign | (width + 102u) << 23 | (mantissa << (24u - width) & 0x7fffffu));
  }
  friend constexpr bool operator==(Float16 a, Float16 b) { return a.ToFloat() == b.ToFloat(); }
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_HALF_H_
