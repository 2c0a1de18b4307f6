// The double-precision half of vector_math.h: sine, cosine, tangent and arc tangent.
#include "sinter/kernels/cpu/float_bits.h"
#include "sinter/kernels/cpu/vector_math.h"

#define FMA __builtin_fma

// x = k * pi / 2 + high + low, |high| <= pi / 4, for |x| <= 2^50; *quarter is k modulo 2^32. Up to there k
// times the first of the four parts of pi / 2 is subtracted without error.
SN_INLINE double ReduceByHalfPi(double x, double* low, int32_t* quarter) {
  x = __builtin_fabs(x) <= 0x1p50 ? x : __builtin_nan("");
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

SN_INLINE double SineReduced(double r, double low) {  // 2^-68.8
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

SN_INLINE double CosineReduced(double r, double low) {  // 2^-64.2
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

SN_EXPORT double sn_sin_f64(double x) {
  double low;
  int32_t quarter;
  double r = ReduceByHalfPi(x, &low, &quarter);
  return x == 0.0 ? x : SineOfQuarter(r, low, quarter);
}

SN_EXPORT double sn_cos_f64(double x) {
  double low;
  int32_t quarter;
  double r = ReduceByHalfPi(x, &low, &quarter);
  return SineOfQuarter(r, low, (int32_t)((uint32_t)quarter + 1u));
}

SN_EXPORT double sn_tan_f64(double x) {
  double low;
  int32_t quarter;
  double r = ReduceByHalfPi(x, &low, &quarter);
  double s = SineReduced(r, low);
  double c = CosineReduced(r, low);
  int odd = (quarter & 1) != 0;
  double y = (odd ? -c : s) / (odd ? s : c);
  return x == 0.0 ? x : y;
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
  int turn = low > 0x1.a827999fcef32p-2 * high;  // See trigonometry_f32.c.
  double t = (turn ? low - high : low) / (turn ? low + high : high);
  double z = t * t;
  double p = 0x1.f178315a38484p-7;  // 2^-64.2
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
