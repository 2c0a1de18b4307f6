// Fills arrays with random numbers natively: vectorized loops over the functions of vector_math.h.
//
//   float weights[1000];
//   sn_fill_normal_f32(/*seed=*/7, /*first=*/0, 1000, /*mean=*/0, /*deviation=*/0.02, weights);
//
// to[i] depends on the words of sn_philox(seed, 0, 0, first + i, lane), so any split of a tensor into ranges
// gives the same numbers. Scaling is computed in double precision and rounded once:
//   uniform: (float)(low + range * sn_uniform_f32(word 0))
//   normal:  (float)(mean + deviation * sn_normal_f32(word 0, word 1))
// The bits are those of separate calls of the functions, on every machine.
#ifndef SINTER_KERNELS_CPU_MATH_RANDOM_VALUES_H_
#define SINTER_KERNELS_CPU_MATH_RANDOM_VALUES_H_

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

#endif  // SINTER_KERNELS_CPU_MATH_RANDOM_VALUES_H_
