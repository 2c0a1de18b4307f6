// The single-precision part of vector_math.h: sine, cosine, tangent and arc tangent.
#include "sinter/kernels/cpu/math/float_bits.h"
#include "sinter/kernels/cpu/math/vector_math.h"

#define FMA __builtin_fmaf

// Returns the distance of x from its nearest quarter turn, in turns, with a relative error of at most 2^-24
// for every finite f32; `quarter` is that quarter turn. 1 / (2 pi) is split into pieces of 29 bits, so that x
// times a piece is exact in double precision. Whole turns are dropped from each piece, which is exact too.
// Seven pieces reach 2^-205, which suffices for x = 2^128 and for the smallest distance of an f32 from a
// multiple of pi / 2. Infinity gives NaN.
SN_INLINE double TurnsFromQuarter(float x, int32_t* quarter) {
  double v = x;
  double t0 = v * 0x1.45f306dp-3, t1 = v * 0x1.9391054p-32, t2 = v * 0x1.4fe13abp-61;
  double t3 = v * 0x1.d1f534dp-90, t4 = v * 0x1.b81b6c5p-119, t5 = v * 0x1.5993c4p-150;
  double t6 = v * 0x1.c820ff2p-177;
  double sum = (t0 - __builtin_rint(t0)) + (t1 - __builtin_rint(t1));
  sum = sum + (t2 - __builtin_rint(t2));
  sum = sum + (t3 - __builtin_rint(t3));
  double rest = t4 - __builtin_rint(t4);
  double shifted = __builtin_fma(sum + rest, 4.0, SN_SHIFTER_F64);
  *quarter = (int32_t)(uint32_t)SnBits64(shifted);
  // Subtracts the quarter first. Otherwise `rest` would be rounded relative to the quarter, which shows for
  // 0x1.f37c8ap+95, very near a multiple. The last two pieces are below 2^-21 turns for all x.
  return (__builtin_fma(shifted - SN_SHIFTER_F64, -0.25, sum) + rest) + (t5 + t6);
}

// Returns the sine of r + quarter * pi / 2 for |r| <= pi / 4. The comments give the errors of the
// polynomials.
SN_INLINE float SineOfQuarter(float r, int32_t quarter) {
  float z = r * r;
  float s = FMA(FMA(-0x1.994b48p-13f, z, 0x1.110756p-7f), z, -0x1.555546p-3f);  // 2^-28.
  s = FMA(r * z, s, r);
  float c = FMA(FMA(0x1.99ff6ap-16f, z, -0x1.6c0c82p-10f), z, 0x1.55554ap-5f);  // 2^-33.
  c = FMA(z, FMA(z, c, -0.5f), 1.0f);
  float y = (quarter & 1) != 0 ? c : s;
  return SnFloat(SnBits(y) ^ ((uint32_t)(quarter & 2) << 30));
}

SN_EXPORT float sn_sin_f32(float x) {
  int32_t quarter;
  float r = (float)(TurnsFromQuarter(x, &quarter) * 0x1.921fb54442d18p+2);
  return x == 0.0f ? x : SineOfQuarter(r, quarter);
}

SN_EXPORT float sn_cos_f32(float x) {
  int32_t quarter;
  float r = (float)(TurnsFromQuarter(x, &quarter) * 0x1.921fb54442d18p+2);
  return SineOfQuarter(r, (int32_t)((uint32_t)quarter + 1u));
}

SN_EXPORT float sn_tan_f32(float x) {
  int32_t quarter;
  double r = TurnsFromQuarter(x, &quarter) * 0x1.921fb54442d18p+2;
  double z = r * r;
  double s = __builtin_fma(0x1.6cd5ee65a3342p-19, z, -0x1.a00f93a271b5fp-13);  // Polynomial error 2^-37.
  s = __builtin_fma(__builtin_fma(s, z, 0x1.1111088a04247p-7), z, -0x1.5555554ca9480p-3);
  s = __builtin_fma(r * z, s, r);
  double c = __builtin_fma(-0x1.242920b7e26a2p-22, z, 0x1.a01117f9f5845p-16);  // Polynomial error 2^-43.
  c = __builtin_fma(__builtin_fma(c, z, -0x1.6c16b88c7bdc0p-10), z, 0x1.5555554f42d09p-5);
  c = __builtin_fma(z, __builtin_fma(z, c, -0.5), 1.0);
  int odd = (quarter & 1) != 0;
  float y = (float)((odd ? -c : s) / (odd ? s : c));
  return x == 0.0f ? x : y;
}

SN_EXPORT float sn_atan2_f32(float y, float x) {
  float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y);
  int has_infinity = (ax == __builtin_inff()) | (ay == __builtin_inff());
  float bx = has_infinity ? (ax == __builtin_inff() ? 1.0f : 0.0f) : ax;
  float by = has_infinity ? (ay == __builtin_inff() ? 1.0f : 0.0f) : ay;
  int swap = by > bx;
  float high = swap ? by : bx;
  float low = swap ? bx : by;
  float scale = high > 0x1p126f ? 0.25f : 1.0f;  // The sum below must not overflow.
  high = (high == 0.0f ? 1.0f : high) * scale;
  low = low * scale;
  // atan(a) = pi / 4 + atan((a - 1) / (a + 1)) reduces the argument below tan(pi / 8).
  int turn = low > 0x1.a8279ap-2f * high;
  float t = (turn ? low - high : low) / (turn ? low + high : high);
  float z = t * t;
  float p = -0x1.f1fb2ap-5f;  // Polynomial error 2^-30.
  p = FMA(p, z, 0x1.b1f11ap-4f);
  p = FMA(p, z, -0x1.23b5a4p-3f);
  p = FMA(p, z, 0x1.9991a0p-3f);
  p = FMA(p, z, -0x1.55554ap-2f);
  float r = FMA(t * z, p, t);
  r = turn ? 0x1.921fb6p-1f + (r - 0x1.777a5cp-26f) : r;
  r = swap ? 0x1.921fb6p+0f - (r + 0x1.777a5cp-25f) : r;
  r = (int32_t)SnBits(x) < 0 ? 0x1.921fb6p+1f - (r + 0x1.777a5cp-24f) : r;
  r = __builtin_copysignf(r, y);
  return ((x != x) | (y != y)) ? x + y : r;
}

SN_EXPORT float sn_atan_f32(float x) { return sn_atan2_f32(x, 1.0f); }
