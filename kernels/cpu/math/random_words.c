// The random numbers of vector_math.h.
#include "sinter/kernels/cpu/math/float_bits.h"
#include "sinter/kernels/cpu/math/vector_math.h"

SN_EXPORT uint32_t sn_philox(uint64_t seed, uint64_t step, uint32_t stream, uint64_t index, int32_t lane) {
  uint32_t c0 = (uint32_t)index, c1 = (uint32_t)(index >> 32), c2 = stream, c3 = (uint32_t)step;
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32) ^ (uint32_t)(step >> 32);
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = (uint64_t)c0 * 0xD2511F53u;
    uint64_t product1 = (uint64_t)c2 * 0xCD9E8D57u;
    c0 = (uint32_t)(product1 >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)product1;
    c2 = (uint32_t)(product0 >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)product0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  uint32_t low = (lane & 1) != 0 ? c1 : c0;
  uint32_t high = (lane & 1) != 0 ? c3 : c2;
  return (lane & 2) != 0 ? high : low;
}

SN_EXPORT float sn_uniform_f32(uint32_t word) { return (float)(int32_t)(word >> 8) * 0x1p-24f; }

SN_EXPORT double sn_uniform_f64(uint32_t high, uint32_t low) {
  return (double)(int32_t)(high >> 5) * 0x1p-27 + (double)(int32_t)(low >> 6) * 0x1p-53;
}

// Box and Muller's cosine branch: radius * cos(2 pi turns), with turns in [0, 1). The angle is rounded to
// f32.
SN_EXPORT float sn_normal_f32(uint32_t word0, uint32_t word1) {
  // In (0, 1], with more bits near zero than a 24-bit uniform number: these bits make the tail of the
  // distribution.
  float u = __builtin_fmaf((float)(int32_t)(word0 >> 1), 0x1p-31f, 0x1p-33f);
  float radius = __builtin_sqrtf(-2.0f * sn_log_f32(u));
  float turns = sn_uniform_f32(word1);
  return radius * sn_cos_f32(turns * 0x1.921fb6p+2f);
}

SN_EXPORT double sn_normal_f64(uint32_t word0, uint32_t word1, uint32_t word2, uint32_t word3) {
  double u = sn_uniform_f64(word0, word1) + 0x1p-54;
  double radius = __builtin_sqrt(-2.0 * sn_log_f64(u));
  return radius * sn_cos_f64(sn_uniform_f64(word2, word3) * 0x1.921fb54442d18p+2);
}
