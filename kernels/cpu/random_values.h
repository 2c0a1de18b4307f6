// Many random numbers at once, natively: the loops of vector_math.h's functions, as vectors.
//
//   float weights[1000];
//   sn_fill_normal_f32(/*seed=*/7, /*first=*/0, 1000, /*mean=*/0, /*deviation=*/0.02, weights);
//
// to[i] is made of the words of sn_philox(seed, 0, 0, first + i, lane), so that any cut of a tensor into ranges gives the same
// numbers. What is scaled is computed in double precision and rounded once:
//   uniform: (float)(low + range * sn_uniform_f32(word 0))
//   normal:  (float)(mean + deviation * sn_normal_f32(word 0, word 1))
// Bits are those of the functions called one by one, on every machine.
#ifndef SINTER_KERNELS_CPU_RANDOM_VALUES_H_
#define SINTER_KERNELS_CPU_RANDOM_VALUES_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void sn_fill_uniform_f32(uint64_t seed, uint64_t first, int64_t count, double low, double range, float* to);
void sn_fill_normal_f32(uint64_t seed, uint64_t first, int64_t count, double mean, double deviation,
                        float* to);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // SINTER_KERNELS_CPU_RANDOM_VALUES_H_
