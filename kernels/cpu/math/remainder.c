// C's fmod: x - n y with truncated n, exact.
// A quotient may have two thousand bits, so the code loops over them. It subtracts integers, so nothing is
// rounded.
#include "sinter/kernels/cpu/math/float_bits.h"
#include "sinter/kernels/cpu/math/vector_math.h"

double sn_rem_f64(double x, double y) {
  uint64_t sign = SnBits64(x) & 0x8000000000000000u;
  double ax = __builtin_fabs(x), ay = __builtin_fabs(y);
  if (!(ax < __builtin_inf()) || y != y || ay == 0.0) return __builtin_nan("");
  if (ax < ay) return x;
  const uint64_t hidden = UINT64_C(1) << 52;
  uint64_t bits_x = SnBits64(ax), bits_y = SnBits64(ay);
  int exponent_x = (int)(bits_x >> 52), exponent_y = (int)(bits_y >> 52);
  uint64_t m = (bits_x & (hidden - 1)) | (exponent_x > 0 ? hidden : 0);
  uint64_t n = (bits_y & (hidden - 1)) | (exponent_y > 0 ? hidden : 0);
  exponent_x = exponent_x > 0 ? exponent_x : 1;
  exponent_y = exponent_y > 0 ? exponent_y : 1;
  m %= n;
  for (int shift = exponent_x - exponent_y; shift > 0 && m != 0;) {
    int step = shift < 11 ? shift : 11;  // m < 2^53, so eleven more bits fit.
    m = (m << step) % n;
    shift -= step;
  }
  // m units of 2^(exponent_y - 1075), in two exact steps, because the unit itself may be too small for a
  // normal number.
  double result = (double)(int64_t)m * 0x1p-52 * SnDouble((uint64_t)exponent_y << 52);
  return SnDouble(SnBits64(result) | sign);
}

float sn_rem_f32(float x, float y) { return (float)sn_rem_f64(x, y); }
