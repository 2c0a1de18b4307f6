// The single-precision part of vector_math.h: exponentials, logarithms and functions based on them.
//
// Polynomials are minimax fits (Remez, 60 digits). The comment beside a polynomial gives its error relative
// to the function, as a power of two. Leading coefficients that are exact are not part of the polynomial.
#include "sinter/kernels/cpu/math/float_bits.h"
#include "sinter/kernels/cpu/math/vector_math.h"

#define FMA __builtin_fmaf
#define NAN_F32 __builtin_nanf("")
#define INF_F32 __builtin_inff()

// ln 2 as a sum of two floats. n * LN2_HIGH is subtracted from x without error for all n in use.
#define LN2_HIGH 0x1.62e430p-1f
#define LN2_LOW -0x1.05c610p-29f

// Returns exp(r) - 1 for |r| <= ln(2) / 2.
SN_INLINE float Expm1Reduced(float r) {  // 2^-26.1.
  float q = 0x1.6bebcep-10f;
  q = FMA(q, r, 0x1.1229a0p-7f);
  q = FMA(q, r, 0x1.555678p-5f);
  q = FMA(q, r, 0x1.5554aep-3f);
  q = FMA(q, r, 0x1.fffffep-2f);
  return FMA(r * r, q, r);
}

// Reduces x to n * ln(2) + r; returns r.
SN_INLINE float ReduceByLn2(float x, int32_t* n) {
  float shifted = FMA(x, 0x1.715476p+0f, SN_SHIFTER_F32);
  float k = shifted - SN_SHIFTER_F32;
  *n = (int32_t)(SnBits(shifted) - SnBits(SN_SHIFTER_F32));
  return FMA(-k, LN2_LOW, FMA(-k, LN2_HIGH, x));
}

SN_EXPORT float sn_exp_f32(float x) {
  x = x < -104.0f ? -104.0f : x;
  x = x > 89.0f ? 89.0f : x;
  int32_t n;
  float r = ReduceByLn2(x, &n);
  return SnScaleF32(1.0f + Expm1Reduced(r), n);
}

SN_EXPORT float sn_exp2_f32(float x) {
  x = x < -151.0f ? -151.0f : x;
  x = x > 129.0f ? 129.0f : x;
  float shifted = x + SN_SHIFTER_F32;
  int32_t n = (int32_t)(SnBits(shifted) - SnBits(SN_SHIFTER_F32));
  float r = (x - (shifted - SN_SHIFTER_F32)) * 0x1.62e430p-1f;
  return SnScaleF32(1.0f + Expm1Reduced(r), n);
}

// Returns exp(x) - 1 for x in [-88, 89]; loses only the sign of zero.
SN_INLINE float Expm1Core(float x) {
  int32_t n;
  float r = ReduceByLn2(x, &n);
  // Everything is halved and doubled at the end, so that n = 128 does not overflow early.
  float s = SnFloat(((uint32_t)n + 126u) << 23);
  return 2.0f * FMA(Expm1Reduced(r), s, s - 0.5f);
}

SN_EXPORT float sn_expm1_f32(float x) {
  float c = x < -30.0f ? -30.0f : x;
  c = c > 89.0f ? 89.0f : c;
  float y = Expm1Core(c);
  return __builtin_copysignf(__builtin_fabsf(x) < 0x1p-30f ? x : y, x);
}

// Returns log(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)).
SN_INLINE float Log1pReduced(float f) {  // 2^-27.4.
  float p = -0x1.38b2d6p-4f;
  p = FMA(p, f, 0x1.055a6ap-3f);
  p = FMA(p, f, -0x1.0d8542p-3f);
  p = FMA(p, f, 0x1.22da40p-3f);
  p = FMA(p, f, -0x1.54724ap-3f);
  p = FMA(p, f, 0x1.99a006p-3f);
  p = FMA(p, f, -0x1.000226p-2f);
  p = FMA(p, f, 0x1.555554p-2f);
  return FMA(f * f, FMA(p, f, -0.5f), f);
}

// Returns the logarithm at the limits of its domain, and `y` elsewhere.
SN_INLINE float LogEdges(float x, float y) {
  y = x < INF_F32 ? y : x;  // Infinity and NaN.
  y = x == 0.0f ? -INF_F32 : y;
  return x < 0.0f ? NAN_F32 : y;
}

SN_EXPORT float sn_log_f32(float x) {
  float e;
  float y = Log1pReduced(SnSplitF32(x, &e) - 1.0f);
  return LogEdges(x, FMA(e, LN2_HIGH, FMA(e, LN2_LOW, y)));
}

SN_EXPORT float sn_log2_f32(float x) {
  float e;
  float y = Log1pReduced(SnSplitF32(x, &e) - 1.0f);
  return LogEdges(x, FMA(y, 0x1.715476p+0f, FMA(y, 0x1.4ae0c0p-26f, e)));
}

SN_EXPORT float sn_log10_f32(float x) {
  float e;
  float y = Log1pReduced(SnSplitF32(x, &e) - 1.0f);
  float low = FMA(e, -0x1.ec10c0p-27f, y * -0x1.5b235ep-27f);
  return LogEdges(x, FMA(e, 0x1.344136p-2f, FMA(y, 0x1.bcb7b2p-2f, low)));
}

SN_EXPORT float sn_log1p_f32(float x) {
  float u = 1.0f + x;
  float e;
  float m = SnSplitF32(u, &e);
  // (1 + x) / 2^e - 1 is computed from x itself, with one rounding. For large x the rounding of u has no
  // effect.
  float s = SnFloat((uint32_t)(127 - (int32_t)(e > 64.0f ? 64.0f : e)) << 23);
  float f = x > 0x1p60f ? m - 1.0f : FMA(x, s, s - 1.0f);
  float y = FMA(e, LN2_HIGH, FMA(e, LN2_LOW, Log1pReduced(f)));
  y = __builtin_fabsf(x) < 0x1p-30f ? x : y;
  return LogEdges(u, y);
}

SN_EXPORT float sn_tanh_f32(float x) {
  float a = __builtin_fabsf(x);
  float t = Expm1Core(2.0f * (a > 10.0f ? 10.0f : a));
  float y = t / (t + 2.0f);
  return __builtin_copysignf(a < 0x1p-20f ? a : y, x);
}

SN_EXPORT float sn_sigmoid_f32(float x) {
  // Uses exp only for negative arguments: 1 / (1 + exp(-x)) would overflow where the result is representable.
  float e = sn_exp_f32(-__builtin_fabsf(x));
  return (x >= 0.0f ? 1.0f : e) / (1.0f + e);
}

SN_EXPORT float sn_erf_f32(float x) {
  float a = __builtin_fabsf(x);
  float z = a * a;
  float p = 0x1.496a5ep-14f;  // erf(a) = a + a p(z) for a < 1: 2^-29.6.
  p = FMA(p, z, -0x1.a3f70ep-11f);
  p = FMA(p, z, 0x1.5405b4p-8f);
  p = FMA(p, z, -0x1.b7f90ep-6f);
  p = FMA(p, z, 0x1.ce2cf8p-4f);
  p = FMA(p, z, -0x1.81273ep-2f);
  p = FMA(p, z, 0x1.06eba8p-3f);
  float small = FMA(a, p, a);
  float c = a > 4.0f ? 4.0f : a;
  float q = 0x1.d484c4p-17f;  // erf(a) = 1 - exp(-a q(a)) for 1 <= a < 4: 2^-31.
  q = FMA(q, c, -0x1.6fa0b4p-12f);
  q = FMA(q, c, 0x1.ec80b6p-9f);
  q = FMA(q, c, -0x1.8961b8p-6f);
  q = FMA(q, c, 0x1.b459c4p-4f);
  q = FMA(q, c, 0x1.451ab8p-1f);
  q = FMA(q, c, 0x1.20f21cp+0f);
  int32_t n;
  float r = ReduceByLn2(-c * q, &n);
  float s = SnFloat(((uint32_t)n + 127u) << 23);
  float large = 1.0f - FMA(Expm1Reduced(r), s, s);
  return __builtin_copysignf(a < 1.0f ? small : large, x);
}

// Computes in double precision: y * log2(x) needs 33 bits before the exponential.
SN_EXPORT float sn_pow_f32(float x, float y) {
  double a = __builtin_fabsf(x);
  double e;
  double f = SnSplitF64(a, &e) - 1.0;
  double s = f / (2.0 + f);
  double z = s * s;
  double p = 0x1.2157404fb2d35p-2;  // 2^-44.
  p = __builtin_fma(p, z, 0x1.479ca4b674581p-2);
  p = __builtin_fma(p, z, 0x1.a619f78156322p-2);
  p = __builtin_fma(p, z, 0x1.2776c2ee47949p-1);
  p = __builtin_fma(p, z, 0x1.ec709dc4c3793p-1);
  double log2_x = __builtin_fma(s, __builtin_fma(z, p, 0x1.71547652b82fep+1), e);
  log2_x = a == 0.0 ? -__builtin_inf() : log2_x;
  log2_x = a < __builtin_inf() ? log2_x : a;
  double t = (double)y * log2_x;
  t = t < -160.0 ? -160.0 : t;
  t = t > 160.0 ? 160.0 : t;
  double shifted = t + SN_SHIFTER_F64;
  double r = t - (shifted - SN_SHIFTER_F64);
  double q = 0x1.41d36e4539f6bp-13;  // 2^-29.
  q = __builtin_fma(q, r, 0x1.5f456bf0f0ffbp-10);
  q = __builtin_fma(q, r, 0x1.3b2dbb5fc32d4p-7);
  q = __builtin_fma(q, r, 0x1.c6aed4b5b5e8dp-5);
  q = __builtin_fma(q, r, 0x1.ebfbdadd7003ap-3);
  q = __builtin_fma(q, r, 0x1.62e430c7eb201p-1);
  q = __builtin_fma(q, r, 0x1.0000000260208p+0);
  float result = (float)(q * SnDouble((SnBits64(shifted) - SnBits64(SN_SHIFTER_F64) + 1023) << 52));
  float half_y = 0.5f * y;
  int is_integer = __builtin_rintf(y) == y;  // Infinity counts as an even integer.
  int is_odd = is_integer & (__builtin_rintf(half_y) != half_y) & (__builtin_fabsf(y) < 0x1p24f);
  int is_negative = (int32_t)SnBits(x) < 0;
  result = (is_negative & is_odd) ? -result : result;
  int is_invalid = (x < 0.0f) & !is_integer & (x > -INF_F32);
  result = is_invalid ? NAN_F32 : result;
  result = y != y ? y : result;
  int is_one = (x == 1.0f) | (y == 0.0f) | ((x == -1.0f) & (__builtin_fabsf(y) == INF_F32));
  return is_one ? 1.0f : result;
}

SN_EXPORT float sn_sqrt_f32(float x) { return __builtin_sqrtf(x); }
SN_EXPORT float sn_rsqrt_f32(float x) { return 1.0f / __builtin_sqrtf(x); }
SN_EXPORT float sn_floor_f32(float x) { return __builtin_floorf(x); }
SN_EXPORT float sn_ceil_f32(float x) { return __builtin_ceilf(x); }
SN_EXPORT float sn_rint_f32(float x) { return __builtin_rintf(x); }
