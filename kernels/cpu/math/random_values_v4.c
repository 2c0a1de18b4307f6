// The loops of random_values.c for x86-64-v4. Contraction is off, so the bits are the same.
#define SINTER_RANDOM_VALUES_V4 1
#define sn_fill_uniform_f32 sn_fill_uniform_f32_v4
#define sn_fill_normal_f32 sn_fill_normal_f32_v4
#include "sinter/kernels/cpu/math/random_values.c"
