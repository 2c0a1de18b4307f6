// Bit patterns of floats and the basic steps that all vector math shares; internal to kernels/cpu.
//
// Contract: static, always inlined and branch-free. Selects are written `a ? b : c` on values that are
// already computed, so that the compiler never has to guard an operation.
//
//   float two_to_n = SnFloat((uint32_t)(n + 127) << 23);
#ifndef SINTER_KERNELS_CPU_MATH_FLOAT_BITS_H_
#define SINTER_KERNELS_CPU_MATH_FLOAT_BITS_H_

#include <stdint.h>

#define SN_INLINE static inline __attribute__((always_inline))

// Attribute of the functions of vector_math.h. As bitcode they are always inlined; natively they are called.
#ifdef SINTER_KERNEL_BITCODE
#define SN_EXPORT __attribute__((always_inline))
#else
#define SN_EXPORT
#endif

SN_INLINE uint32_t SnBits(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  return bits;
}

SN_INLINE float SnFloat(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}

SN_INLINE uint64_t SnBits64(double x) {
  uint64_t bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  return bits;
}

SN_INLINE double SnDouble(uint64_t bits) {
  double x;
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}

// Rounds a small x to the nearest integer: adding 1.5 * 2^23 leaves the integer in the low bits of the sum. A
// conversion instruction would be undefined for NaN and infinity; this method gives an arbitrary integer for
// them.
#define SN_SHIFTER_F32 12582912.0f
#define SN_SHIFTER_F64 6755399441055744.0

// Returns p * 2^n for n in [-252, 254], rounded once even if the result is denormal.
SN_INLINE float SnScaleF32(float p, int32_t n) {
  int32_t half = n >> 1;
  float s0 = SnFloat(((uint32_t)half + 127u) << 23);
  float s1 = SnFloat(((uint32_t)n - (uint32_t)half + 127u) << 23);
  return p * s0 * s1;
}

// Returns p * 2^n for n in [-2044, 2046]. Uses 32-bit arithmetic on n, because AVX2 has no 64-bit arithmetic
// shift right.
SN_INLINE double SnScaleF64(double p, int32_t n) {
  int32_t half = n >> 1;
  double s0 = SnDouble((uint64_t)((uint32_t)half + 1023u) << 52);
  double s1 = SnDouble((uint64_t)((uint32_t)n - (uint32_t)half + 1023u) << 52);
  return p * s0 * s1;
}

// Splits a positive finite x, denormal or not, into x = m * 2^exponent; returns m in [sqrt(1/2), sqrt(2)).
SN_INLINE float SnSplitF32(float x, float* exponent) {
  int tiny = x < 0x1p-126f;
  uint32_t bits = SnBits(tiny ? x * 0x1p24f : x) - 0x3f3504f3u;
  *exponent = (float)((int32_t)bits >> 23) - (tiny ? 24.0f : 0.0f);
  return SnFloat((bits & 0x007fffffu) + 0x3f3504f3u);
}

SN_INLINE double SnSplitF64(double x, double* exponent) {
  int tiny = x < 0x1p-1022;
  uint64_t bits = SnBits64(tiny ? x * 0x1p54 : x) - 0x3fe6a09e667f3bcdu;
  *exponent = (double)((int32_t)(bits >> 32) >> 20) - (tiny ? 54.0 : 0.0);
  return SnDouble((bits & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu);
}

#endif  // SINTER_KERNELS_CPU_MATH_FLOAT_BITS_H_
