// The double-precision part of vector_math.h: sine, cosine, tangent and arc tangent.
#include "sinter/kernels/cpu/math/float_bits.h"
#include "sinter/kernels/cpu/math/vector_math.h"

#define FMA __builtin_fma

// Reduces x to k * pi / 2 + high + low with |high| <= pi / 4, for |x| <= SN_FAR_F64; returns high. *quarter
// is k modulo 2^32. In this range, k times the first of the three parts of pi / 2 is subtracted without
// error.
SN_INLINE double ReduceByHalfPi(double x, double* low, int32_t* quarter) {
  double shifted = FMA(x, 0x1.45f306dc9c883p-1, SN_SHIFTER_F64);
  double k = shifted - SN_SHIFTER_F64;
  double r = FMA(-k, 0x1.921fb54442d18p+0, x);
  double p = k * 0x1.1a62633145c07p-54;
  double p_low = FMA(k, 0x1.1a62633145c07p-54, -p);
  double high = r - p;
  double back = high - r;
  double error = (r - (high - back)) - (p + back) - p_low;
  double tail = FMA(k, 0x1.f1976b7ed8fbcp-110, error);
  double sum = high + tail;
  *low = (high - sum) + tail;
  *quarter = (int32_t)(uint32_t)SnBits64(shifted);
  return sum;
}

#ifndef SINTER_KERNEL_BITCODE

SN_INLINE int IsFar(double x) { return __builtin_fabs(x) > SN_FAR_F64; }

// 64 zeros, then the first 1216 bits of 2 / pi after the binary point.
static const uint64_t kTwoOverPi[] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41,
    0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};

__extension__ typedef unsigned __int128 Wide;

// Like ReduceByHalfPi, for |x| > SN_FAR_F64; returns NaN for infinity. The method is Payne and Hanek, "Radian
// reduction for trigonometric functions" (SIGNUM Newsletter 18, 1983). With x = m 2^e, it skips the bits of 2
// / pi for which m 2^e 2 / pi is a multiple of 4, and uses the next 192 bits. The smallest distance of a
// double from a multiple of pi / 2 is 2^-60.9, so at least 66 of the 128 fraction bits are significant.
static double ReduceFarByHalfPi(double x, double* low, int32_t* quarter) {
  uint64_t bits = SnBits64(x);
  *low = 0.0;
  *quarter = 0;
  if (!(__builtin_fabs(x) < __builtin_inf())) return __builtin_nan("");
  uint64_t m = (bits & 0x000fffffffffffffu) | 0x0010000000000000u;
  int32_t start = (int32_t)(bits >> 52 & 0x7ff) - 1075 + 62;
  const uint64_t* from = kTwoOverPi + start / 64;
  uint64_t window[3];
  for (int i = 0; i < 3; ++i) window[i] = from[i] << start % 64 | from[i + 1] >> 1 >> (63 - start % 64);
  Wide part0 = (Wide)m * window[2];
  Wide part1 = (Wide)m * window[1] + (uint64_t)(part0 >> 64);
  uint64_t high = m * window[0] + (uint64_t)(part1 >> 64);  // Modulo 2^192, which drops whole turns.

  // Two bits of quarters; the rest is a fraction of a quarter. It is taken as signed, so that its magnitude
  // is at most one half.
  Wide fraction = ((Wide)high << 64 | (uint64_t)part1) << 2 | (uint64_t)part0 >> 62;
  int is_negative = (int)(fraction >> 127);
  *quarter = (int32_t)(high >> 62) + is_negative;
  if (is_negative) fraction = -fraction;
  uint64_t leading = (uint64_t)(fraction >> 64);
  int shift = leading != 0 ? __builtin_clzll(leading) : 64 + __builtin_clzll((uint64_t)fraction);
  fraction <<= shift;
  double unit = SnDouble((uint64_t)(1023 - 53 - shift) << 52);
  double f = (double)(int64_t)(fraction >> 75) * unit;
  double f_low = (double)(int64_t)((uint64_t)(fraction >> 22) & 0x001fffffffffffffu) * (unit * 0x1p-53);

  double p = f * 0x1.921fb54442d18p+0;
  double p_low =
      FMA(f, 0x1.921fb54442d18p+0, -p) + FMA(f, 0x1.1a62633145c07p-54, f_low * 0x1.921fb54442d18p+0);
  double sum = p + p_low;
  *low = (p - sum) + p_low;
  if (is_negative != (int)(bits >> 63)) {
    sum = -sum;
    *low = -*low;
  }
  if (bits >> 63 != 0) *quarter = -*quarter;
  return sum;
}

#endif  // SINTER_KERNEL_BITCODE

SN_INLINE double SineReduced(double r, double low) {  // Error 2^-68.8.
  double z = r * r;
  double p = -0x1.aaa38324dcb02p-41;
  p = FMA(p, z, 0x1.61208f37f1e8ap-33);
  p = FMA(p, z, -0x1.ae645292e8133p-26);
  p = FMA(p, z, 0x1.71de3a5335693p-19);
  p = FMA(p, z, -0x1.a01a01a018ab3p-13);
  p = FMA(p, z, 0x1.111111111110bp-7);
  p = FMA(p, z, -0x1.5555555555555p-3);
  // sin(r + low) = sin(r) + low (1 - r r / 2).
  return r + FMA(r * z, p, FMA(-0.5 * z, low, low));
}

SN_INLINE double CosineReduced(double r, double low) {  // Error 2^-64.2.
  double z = r * r;
  double p = -0x1.8facd57e02ebdp-37;
  p = FMA(p, z, 0x1.1ee9e898dc3aap-29);
  p = FMA(p, z, -0x1.27e4f80540049p-22);
  p = FMA(p, z, 0x1.a01a019cab85fp-16);
  p = FMA(p, z, -0x1.6c16c16c15141p-10);
  p = FMA(p, z, 0x1.555555555554cp-5);
  double half = 0.5 * z;
  double w = 1.0 - half;
  double w_low = (1.0 - w) - half;
  return w + (w_low + FMA(z * z, p, -r * low));
}

SN_INLINE double SineOfQuarter(double r, double low, int32_t quarter) {
  double y = (quarter & 1) != 0 ? CosineReduced(r, low) : SineReduced(r, low);
  return SnDouble(SnBits64(y) ^ ((uint64_t)(uint32_t)(quarter & 2) << 62));
}

SN_INLINE double TangentOfQuarter(double r, double low, int32_t quarter) {
  double s = SineReduced(r, low);
  double c = CosineReduced(r, low);
  int odd = (quarter & 1) != 0;
  return (odd ? -c : s) / (odd ? s : c);
}

#ifndef SINTER_KERNEL_BITCODE

void sn_sin_far_f64(const double* x, double* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (!IsFar(x[i])) continue;
    double low;
    int32_t quarter;
    double r = ReduceFarByHalfPi(x[i], &low, &quarter);
    y[i] = SineOfQuarter(r, low, quarter);
  }
}

void sn_cos_far_f64(const double* x, double* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (!IsFar(x[i])) continue;
    double low;
    int32_t quarter;
    double r = ReduceFarByHalfPi(x[i], &low, &quarter);
    y[i] = SineOfQuarter(r, low, quarter + 1);
  }
}

void sn_tan_far_f64(const double* x, double* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (!IsFar(x[i])) continue;
    double low;
    int32_t quarter;
    double r = ReduceFarByHalfPi(x[i], &low, &quarter);
    y[i] = TangentOfQuarter(r, low, quarter);
  }
}

// Return `near`, or the function's value if |x| > SN_FAR_F64.
SN_INLINE double sn_sin_unless_far_f64(double x, double near) {
  if (__builtin_expect(IsFar(x), 0)) sn_sin_far_f64(&x, &near, 1);
  return near;
}
SN_INLINE double sn_cos_unless_far_f64(double x, double near) {
  if (__builtin_expect(IsFar(x), 0)) sn_cos_far_f64(&x, &near, 1);
  return near;
}
SN_INLINE double sn_tan_unless_far_f64(double x, double near) {
  if (__builtin_expect(IsFar(x), 0)) sn_tan_far_f64(&x, &near, 1);
  return near;
}

#else

// The same functions as declarations only: a branch would keep a loop from being vectorized.
// codegen/cpu/far_arguments.h inserts the branch after vectorization.
__attribute__((const)) double sn_sin_unless_far_f64(double x, double near);
__attribute__((const)) double sn_cos_unless_far_f64(double x, double near);
__attribute__((const)) double sn_tan_unless_far_f64(double x, double near);

#endif  // SINTER_KERNEL_BITCODE

SN_EXPORT double sn_sin_f64(double x) {
  double low;
  int32_t quarter;
  double r = ReduceByHalfPi(x, &low, &quarter);
  return sn_sin_unless_far_f64(x, x == 0.0 ? x : SineOfQuarter(r, low, quarter));
}

SN_EXPORT double sn_cos_f64(double x) {
  double low;
  int32_t quarter;
  double r = ReduceByHalfPi(x, &low, &quarter);
  return sn_cos_unless_far_f64(x, SineOfQuarter(r, low, (int32_t)((uint32_t)quarter + 1u)));
}

SN_EXPORT double sn_tan_f64(double x) {
  double low;
  int32_t quarter;
  double r = ReduceByHalfPi(x, &low, &quarter);
  return sn_tan_unless_far_f64(x, x == 0.0 ? x : TangentOfQuarter(r, low, quarter));
}

SN_EXPORT double sn_atan2_f64(double y, double x) {
  double ax = __builtin_fabs(x), ay = __builtin_fabs(y);
  int has_infinity = (ax == __builtin_inf()) | (ay == __builtin_inf());
  double bx = has_infinity ? (ax == __builtin_inf() ? 1.0 : 0.0) : ax;
  double by = has_infinity ? (ay == __builtin_inf() ? 1.0 : 0.0) : ay;
  int swap = by > bx;
  double high = swap ? by : bx;
  double low = swap ? bx : by;
  double scale = high > 0x1p1022 ? 0.25 : 1.0;  // The sum below must not overflow.
  high = (high == 0.0 ? 1.0 : high) * scale;
  low = low * scale;
  int turn = low > 0x1.a827999fcef32p-2 * high;  // As in trigonometry_f32.c.
  double t = (turn ? low - high : low) / (turn ? low + high : high);
  double z = t * t;
  double p = 0x1.f178315a38484p-7;  // Polynomial error 2^-64.2.
  p = FMA(p, z, -0x1.121d14153c07bp-5);
  p = FMA(p, z, 0x1.70e2526bbc41fp-5);
  p = FMA(p, z, -0x1.ab7af1abfd184p-5);
  p = FMA(p, z, 0x1.e171a0938b2f7p-5);
  p = FMA(p, z, -0x1.110c6e4ce5d6fp-4);
  p = FMA(p, z, 0x1.3b136de72492cp-4);
  p = FMA(p, z, -0x1.745d14b700359p-4);
  p = FMA(p, z, 0x1.c71c71b73a7ecp-4);
  p = FMA(p, z, -0x1.2492492475561p-3);
  p = FMA(p, z, 0x1.999999999964ap-3);
  p = FMA(p, z, -0x1.5555555555554p-2);
  double r = FMA(t * z, p, t);
  r = turn ? 0x1.921fb54442d18p-1 + (r + 0x1.1a62633145c07p-55) : r;
  r = swap ? 0x1.921fb54442d18p+0 - (r - 0x1.1a62633145c07p-54) : r;
  r = (int64_t)SnBits64(x) < 0 ? 0x1.921fb54442d18p+1 - (r - 0x1.1a62633145c07p-53) : r;
  r = __builtin_copysign(r, y);
  return ((x != x) | (y != y)) ? x + y : r;
}

SN_EXPORT double sn_atan_f64(double x) { return sn_atan2_f64(x, 1.0); }
