// The conversions of vector_math.h between bf16, f16 and wider floats.
#include "sinter/kernels/cpu/math/float_bits.h"
#include "sinter/kernels/cpu/math/vector_math.h"

SN_EXPORT uint16_t sn_bf16_from_f32(float x) {
  uint32_t bits = SnBits(x);
  uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1);
  uint32_t quiet_nan = bits | 0x400000u;
  // A comparison of floats, because it is one instruction.
  return (uint16_t)((x != x ? quiet_nan : rounded) >> 16);
}

SN_EXPORT float sn_f32_from_bf16(uint16_t bits) { return SnFloat((uint32_t)bits << 16); }

SN_EXPORT uint16_t sn_f16_from_f32(float x) {
  uint32_t bits = SnBits(x);
  uint32_t sign = bits & 0x80000000u;
  uint32_t magnitude = bits ^ sign;
  // Normal results: changes the exponent bias from 127 to 15 and rounds to even at bit 13.
  uint32_t normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1)) >> 13;
  // Denormal results: adding one half aligns their last bit with the float's last bit, so that the addition
  // rounds.
  uint32_t denormal = SnBits(SnFloat(magnitude) + 0.5f) - SnBits(0.5f);
  uint32_t special = magnitude > 0x7f800000u ? 0x7e00u | ((magnitude >> 13) & 0x1ffu) : 0x7c00u;
  uint32_t result = magnitude < (113u << 23) ? denormal : normal;
  result =
      // 2^16 and above. Values from 65520 to 2^16 already rounded up to infinity in `normal`.
      magnitude >= 0x47800000u ? special : result;
  return (uint16_t)(result | (sign >> 16));
}

SN_EXPORT float sn_f32_from_f16(uint16_t bits) {
  uint32_t sign = ((uint32_t)bits & 0x8000u) << 16;
  uint32_t shifted = ((uint32_t)bits & 0x7fffu) << 13;
  uint32_t exponent = shifted & 0x0f800000u;
  uint32_t normal = shifted + (112u << 23);
  uint32_t special = shifted | 0x7f800000u | (shifted & 0x007fffffu ? 0x00400000u : 0u);
  uint32_t denormal = SnBits(SnFloat(shifted + (113u << 23)) - SnFloat(113u << 23));
  uint32_t result = exponent == 0 ? denormal : normal;
  return SnFloat((exponent == 0x0f800000u ? special : result) | sign);
}

// Rounds to odd: the last bit records that bits were cut off, so that the second rounding is correct.
SN_INLINE float RoundToOdd(double x) {
  float nearest = (float)x;
  uint32_t bits = SnBits(nearest);
  uint32_t toward_zero = bits - (__builtin_fabs((double)nearest) > __builtin_fabs(x) ? 1u : 0u);
  int is_exact = ((double)nearest == x) | (x != x);
  return SnFloat(is_exact ? bits : toward_zero | 1u);
}

SN_EXPORT uint16_t sn_bf16_from_f64(double x) { return sn_bf16_from_f32(RoundToOdd(x)); }
SN_EXPORT uint16_t sn_f16_from_f64(double x) { return sn_f16_from_f32(RoundToOdd(x)); }
