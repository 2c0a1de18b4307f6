// The loops of random_values.h. The functions that they call are inlined here from their texts, as generated code inlines them
// from bitcode: one by one a normal number takes 106 ns, in these vectors 14 (Xeon, 2.8 GHz, 2026-11-22).
#include "sinter/kernels/cpu/random_values.h"

#include "sinter/kernels/cpu/float_bits.h"

// Of what is included here nothing is emitted: the library has these functions already.
#undef SN_EXPORT
#define SN_EXPORT extern inline __attribute__((gnu_inline, always_inline))
// keep-sorted
#include "sinter/kernels/cpu/random_words.c"
#include "sinter/kernels/cpu/trigonometry_f32.c"
#include "sinter/kernels/cpu/vector_math_f32.c"

void sn_fill_uniform_f32(uint64_t seed, uint64_t first, int64_t count, double low, double range, float* to) {
  for (int64_t i = 0; i < count; ++i) {
    float unit = sn_uniform_f32(sn_philox(seed, 0, 0, first + (uint64_t)i, 0));
    to[i] = (float)(low + range * (double)unit);
  }
}

void sn_fill_normal_f32(uint64_t seed, uint64_t first, int64_t count, double mean, double deviation,
                        float* to) {
  for (int64_t i = 0; i < count; ++i) {
    uint64_t index = first + (uint64_t)i;
    float normal = sn_normal_f32(sn_philox(seed, 0, 0, index, 0), sn_philox(seed, 0, 0, index, 1));
    to[i] = (float)(mean + deviation * (double)normal);
  }
}
