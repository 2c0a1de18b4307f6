// The double-precision part of vector_math.h. vector_math_f32.c describes the polynomials.
#include "sinter/kernels/cpu/math/float_bits.h"
#include "sinter/kernels/cpu/math/vector_math.h"

#define FMA __builtin_fma
#define NAN_F64 __builtin_nan("")
#define INF_F64 __builtin_inf()

#define LN2_HIGH 0x1.62e42fefa39efp-1
#define LN2_LOW 0x1.abc9e3b39803fp-56

// Returns exp(r) - 1 for |r| <= ln(2) / 2.
SN_INLINE double Expm1Reduced(double r) {  // 2^-61.7.
  double q = 0x1.1ee8876897e8bp-29;
  q = FMA(q, r, 0x1.af6068e1e1f8fp-26);
  q = FMA(q, r, 0x1.27e53712dda33p-22);
  q = FMA(q, r, 0x1.71ddf776b19a7p-19);
  q = FMA(q, r, 0x1.a01a017aebfefp-16);
  q = FMA(q, r, 0x1.a01a01b032cd3p-13);
  q = FMA(q, r, 0x1.6c16c16c1f4acp-10);
  q = FMA(q, r, 0x1.111111110f606p-7);
  q = FMA(q, r, 0x1.555555555553ep-5);
  q = FMA(q, r, 0x1.5555555555559p-3);
  q = FMA(q, r, 0.5);
  return FMA(r * r, q, r);
}

// Reduces x to n * ln(2) + r; returns r.
SN_INLINE double ReduceByLn2(double x, int32_t* n) {
  double shifted = FMA(x, 0x1.71547652b82fep+0, SN_SHIFTER_F64);
  double k = shifted - SN_SHIFTER_F64;
  *n = (int32_t)(uint32_t)SnBits64(shifted);
  return FMA(-k, LN2_LOW, FMA(-k, LN2_HIGH, x));
}

SN_EXPORT double sn_exp_f64(double x) {
  x = x < -746.0 ? -746.0 : x;
  x = x > 710.0 ? 710.0 : x;
  int32_t n;
  double r = ReduceByLn2(x, &n);
  // For NaN, n is arbitrary, but NaN times any power of two is NaN.
  return SnScaleF64(1.0 + Expm1Reduced(r), n);
}

SN_EXPORT double sn_exp2_f64(double x) {
  x = x < -1080.0 ? -1080.0 : x;
  x = x > 1025.0 ? 1025.0 : x;
  double shifted = x + SN_SHIFTER_F64;
  int32_t n = (int32_t)(uint32_t)SnBits64(shifted);
  double r = (x - (shifted - SN_SHIFTER_F64)) * LN2_HIGH;
  return SnScaleF64(1.0 + Expm1Reduced(r), n);
}

// Returns exp(x) - 1 for x in [-700, 710]; loses only the sign of zero.
SN_INLINE double Expm1Core(double x) {
  int32_t n;
  double r = ReduceByLn2(x, &n);
  double s = SnDouble((uint64_t)((uint32_t)n + 1022u) << 52);
  return 2.0 * FMA(Expm1Reduced(r), s, s - 0.5);
}

SN_EXPORT double sn_expm1_f64(double x) {
  double c = x < -50.0 ? -50.0 : x;
  c = c > 710.0 ? 710.0 : c;
  double y = Expm1Core(c);
  return __builtin_copysign(__builtin_fabs(x) < 0x1p-60 ? x : y, x);
}

// Returns log(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)).
SN_INLINE double Log1pReduced(double f) {
  double s = f / (2.0 + f);
  double z = s * s;
  double p = 0x1.2f0d6447ec680p-3;  // 2^-59.5.
  p = FMA(p, z, 0x1.39a0f91123c18p-3);
  p = FMA(p, z, 0x1.74664605de1f4p-3);
  p = FMA(p, z, 0x1.c71c51e8ab54bp-3);
  p = FMA(p, z, 0x1.2492494216d02p-2);
  p = FMA(p, z, 0x1.999999997fb3fp-2);
  p = FMA(p, z, 0x1.5555555555593p-1);
  double half_square = 0.5 * f * f;
  return f - (half_square - s * FMA(z, p, half_square));
}

SN_INLINE double LogEdges(double x, double y) {
  y = x < INF_F64 ? y : x;
  y = x == 0.0 ? -INF_F64 : y;
  return x < 0.0 ? NAN_F64 : y;
}

SN_EXPORT double sn_log_f64(double x) {
  double e;
  double y = Log1pReduced(SnSplitF64(x, &e) - 1.0);
  return LogEdges(x, FMA(e, LN2_HIGH, FMA(e, LN2_LOW, y)));
}

SN_EXPORT double sn_log2_f64(double x) {
  double e;
  double y = Log1pReduced(SnSplitF64(x, &e) - 1.0);
  return LogEdges(x, FMA(y, 0x1.71547652b82fep+0, FMA(y, 0x1.777d0ffda0d24p-56, e)));
}

SN_EXPORT double sn_log10_f64(double x) {
  double e;
  double y = Log1pReduced(SnSplitF64(x, &e) - 1.0);
  double low = FMA(e, -0x1.9dc1da994fd21p-59, y * 0x1.95355baaafad3p-57);
  return LogEdges(x, FMA(e, 0x1.34413509f79ffp-2, FMA(y, 0x1.bcb7b1526e50ep-2, low)));
}

SN_EXPORT double sn_log1p_f64(double x) {
  double u = 1.0 + x;
  double e;
  double m = SnSplitF64(u, &e);
  double s = SnDouble((uint64_t)(uint32_t)(1023 - (int32_t)(e > 512.0 ? 512.0 : e)) << 52);
  double f = x > 0x1p500 ? m - 1.0 : FMA(x, s, s - 1.0);
  double y = FMA(e, LN2_HIGH, FMA(e, LN2_LOW, Log1pReduced(f)));
  y = __builtin_fabs(x) < 0x1p-60 ? x : y;
  return LogEdges(u, y);
}

SN_EXPORT double sn_tanh_f64(double x) {
  double a = __builtin_fabs(x);
  double t = Expm1Core(2.0 * (a > 20.0 ? 20.0 : a));
  double y = t / (t + 2.0);
  return __builtin_copysign(a < 0x1p-40 ? a : y, x);
}

SN_EXPORT double sn_sigmoid_f64(double x) {
  double e = sn_exp_f64(-__builtin_fabs(x));
  return (x >= 0.0 ? 1.0 : e) / (1.0 + e);
}

SN_EXPORT double sn_erf_f64(double x) {
  double a = __builtin_fabs(x);
  double z = a * a;
  double p = 0x1.0579a403c2aa6p-34;  // erf(a) = a + a p(z) for a < 1: 2^-62.7.
  p = FMA(p, z, -0x1.386abf0bd7167p-30);
  p = FMA(p, z, 0x1.f7a411e2717ddp-27);
  p = FMA(p, z, -0x1.5f1d36c1b9601p-23);
  p = FMA(p, z, 0x1.b9def19ea91cap-20);
  p = FMA(p, z, -0x1.f4d1df39684cfp-17);
  p = FMA(p, z, 0x1.f9a321a11ffe9p-14);
  p = FMA(p, z, -0x1.c02db3d8ed3bcp-11);
  p = FMA(p, z, 0x1.565bcd0db02edp-8);
  p = FMA(p, z, -0x1.b82ce3128499dp-6);
  p = FMA(p, z, 0x1.ce2f21a042b20p-4);
  p = FMA(p, z, -0x1.812746b0379e6p-2);
  p = FMA(p, z, 0x1.06eba8214db69p-3);
  double small = FMA(a, p, a);
  double c = a > 6.0 ? 6.0 : a;
  double t = (c - 2.0) / (c + 2.0);
  double g = -0x1.a787e620ff425p-17;  // erfc(a) = exp(-a a) g(t) for 1 <= a < 6: 2^-60.6 of erf.
  g = FMA(g, t, -0x1.be0ee31977d4dp-16);
  g = FMA(g, t, 0x1.cf919de01696cp-16);
  g = FMA(g, t, 0x1.6d81fff476a1fp-13);
  g = FMA(g, t, 0x1.6d3361639aad9p-15);
  g = FMA(g, t, -0x1.016b5540fee07p-10);
  g = FMA(g, t, -0x1.bc258d279d795p-11);
  g = FMA(g, t, 0x1.ca95ed8b1bce9p-8);
  g = FMA(g, t, 0x1.e947158af9c3ap-9);
  g = FMA(g, t, -0x1.437f0b68cd78cp-4);
  g = FMA(g, t, 0x1.eeea7dc8a78c8p-3);
  g = FMA(g, t, -0x1.b57034efd3f55p-2);
  g = FMA(g, t, 0x1.058671b52c776p-2);
  int32_t n;
  double r = ReduceByLn2(-c * c, &n);
  double s = SnDouble((uint64_t)((uint32_t)n + 1023u) << 52);
  double large = FMA(-g, FMA(Expm1Reduced(r), s, s), 1.0);
  return __builtin_copysign(a < 1.0 ? small : large, x);
}

// Returns log(a) as high + low with an error of about 2^-66. y * log(x) reaches 745, and its absolute error
// becomes the relative error of the power.
SN_INLINE double LogAsPair(double a, double* low) {
  double e;
  double m = SnSplitF64(a, &e);
  double f = m - 1.0;
  double d = m + 1.0;
  double d_low = m - (d - 1.0);
  double inverse = 1.0 / d;
  double s = f * inverse;
  double s_low = FMA(-s, d_low, FMA(-s, d, f)) * inverse;
  double z = s * s;
  double z_low = FMA(2.0 * s, s_low, FMA(s, s, -z));
  double p = 0x1.eb2082ed3450ep-4;  // 2^-73.5.
  p = FMA(p, z, 0x1.de319973a2b53p-4);
  p = FMA(p, z, 0x1.1120c132509aep-3);
  p = FMA(p, z, 0x1.3b1362696101fp-3);
  p = FMA(p, z, 0x1.745d1833713bap-3);
  p = FMA(p, z, 0x1.c71c71c57e155p-3);
  p = FMA(p, z, 0x1.2492492493048p-2);
  p = FMA(p, z, 0x1.9999999999996p-2);
  p = p * z;
  double c = 0x1.5555555555555p-1 + p;
  double c_low = ((0x1.5555555555555p-1 - c) + p) + 0x1.5555555555555p-55;
  double v = z * c;
  double v_low = FMA(z, c, -v) + FMA(z, c_low, z_low * c);
  double w = s * v;
  double w_low = FMA(s, v, -w) + FMA(s, v_low, s_low * v);
  double k = e * LN2_HIGH;
  double k_low = FMA(e, LN2_LOW, FMA(e, LN2_HIGH, -k));
  double two_s = 2.0 * s;
  double sum = two_s + w;
  double sum_low = ((two_s - sum) + w) + FMA(2.0, s_low, w_low);
  double high = k + sum;
  double rest = ((k - high) + sum) + (k_low + sum_low);
  double total = high + rest;
  *low = (high - total) + rest;
  return total;
}

SN_EXPORT double sn_pow_f64(double x, double y) {
  double a = __builtin_fabs(x);
  double low;
  double high = LogAsPair(a, &low);
  high = a == 0.0 ? -INF_F64 : high;
  high = a < INF_F64 ? high : a;
  double t = y * high;
  double t_low = FMA(y, low, FMA(y, high, -t));
  // For larger |t| the sum above may be infinity minus infinity.
  t_low = __builtin_fabs(t) < 800.0 ? t_low : 0.0;
  t = t < -800.0 ? -800.0 : t;
  t = t > 800.0 ? 800.0 : t;
  double shifted = FMA(t, 0x1.71547652b82fep+0, SN_SHIFTER_F64);
  double k = shifted - SN_SHIFTER_F64;
  double r = FMA(-k, LN2_HIGH, t);
  double correction = FMA(-k, LN2_LOW, t_low);
  double r_sum = r + correction;
  double r_low = (r - r_sum) + correction;
  double p = Expm1Reduced(r_sum);
  double result = SnScaleF64(1.0 + FMA(r_low, 1.0 + p, p), (int32_t)(uint32_t)SnBits64(shifted));
  double half_y = 0.5 * y;
  int is_integer = __builtin_rint(y) == y;  // Infinity counts as an even integer.
  int is_odd = is_integer & (__builtin_rint(half_y) != half_y) & (__builtin_fabs(y) < 0x1p53);
  int is_negative = (int64_t)SnBits64(x) < 0;
  result = (is_negative & is_odd) ? -result : result;
  int is_invalid = (x < 0.0) & !is_integer & (x > -INF_F64);
  result = is_invalid ? NAN_F64 : result;
  result = y != y ? y : result;
  int is_one = (x == 1.0) | (y == 0.0) | ((x == -1.0) & (__builtin_fabs(y) == INF_F64));
  return is_one ? 1.0 : result;
}

SN_EXPORT double sn_sqrt_f64(double x) { return __builtin_sqrt(x); }
SN_EXPORT double sn_rsqrt_f64(double x) { return 1.0 / __builtin_sqrt(x); }
SN_EXPORT double sn_floor_f64(double x) { return __builtin_floor(x); }
SN_EXPORT double sn_ceil_f64(double x) { return __builtin_ceil(x); }
SN_EXPORT double sn_rint_f64(double x) { return __builtin_rint(x); }
