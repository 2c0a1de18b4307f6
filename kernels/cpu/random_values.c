// The loops of random_values.h. The functions that they call are inlined here from their texts, as generated code inlines them
// from bitcode: one by one a normal number takes 106 ns, in these vectors 14 (Xeon, 2.8 GHz, 2026-11-22). Where there are vectors
// of AVX-512, random_values_v4.c has the same loops for them: 6.6 ns in place of 10.4 on one core of
// another Xeon, with AVX-512 FP16, the same day.
#include "sinter/kernels/cpu/random_values.h"

#include "sinter/kernels/cpu/cpu_level.h"
#include "sinter/kernels/cpu/float_bits.h"

// Of what is included here nothing is emitted: the library has these functions already.
#undef SN_EXPORT
#define SN_EXPORT extern inline __attribute__((gnu_inline, always_inline))
// keep-sorted
#include "sinter/kernels/cpu/random_words.c"
#include "sinter/kernels/cpu/trigonometry_f32.c"
#include "sinter/kernels/cpu/vector_math_f32.c"

// For x86-64-v4, whose file defines this name and gives the functions others.
#if defined(__x86_64__) && !defined(SINTER_RANDOM_VALUES_V4)
#define SINTER_HAS_V4 1
void sn_fill_uniform_f32_v4(uint64_t seed, uint64_t first, int64_t count, double low, double range,
                            float* to);
void sn_fill_normal_f32_v4(uint64_t seed, uint64_t first, int64_t count, double mean, double deviation,
                           float* to);
#endif

void sn_fill_uniform_f32(uint64_t seed, uint64_t first, int64_t count, double low, double range, float* to) {
#ifdef SINTER_HAS_V4
  if (sn_cpu_level() >= 4) {
    sn_fill_uniform_f32_v4(seed, first, count, low, range, to);
    return;
  }
#endif
  for (int64_t i = 0; i < count; ++i) {
    float unit = sn_uniform_f32(sn_philox(seed, 0, 0, first + (uint64_t)i, 0));
    to[i] = (float)(low + range * (double)unit);
  }
}

void sn_fill_normal_f32(uint64_t seed, uint64_t first, int64_t count, double mean, double deviation,
                        float* to) {
#ifdef SINTER_HAS_V4
  if (sn_cpu_level() >= 4) {
    sn_fill_normal_f32_v4(seed, first, count, mean, deviation, to);
    return;
  }
#endif
  for (int64_t i = 0; i < count; ++i) {
    uint64_t index = first + (uint64_t)i;
    float normal = sn_normal_f32(sn_philox(seed, 0, 0, index, 0), sn_philox(seed, 0, 0, index, 1));
    to[i] = (float)(mean + deviation * (double)normal);
  }
}
