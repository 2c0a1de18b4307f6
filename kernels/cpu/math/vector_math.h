// Scalar math functions that vectorize when they are inlined into a loop.
//
// Contract: no branches, tables or calls, except in rem and for large arguments (SN_FAR_F64); no errno, no
// floating-point flags, no global state. Infinities, NaN, denormals and signed zeros follow C's Annex F. The
// same C sources are compiled twice: natively (tests, host kernels), and by Clang to bitcode that codegen/cpu
// inlines into each plan. Both need fused multiply-add, so x86-64-v3 is the oldest x86 that runs them. The
// results do not depend on the vector width.
//
//   for (int64_t i = 0; i < n; ++i) y[i] = sn_exp_f32(x[i]);
//
// Error bounds are relative to the correctly rounded result, in units in the last place (of the result's
// format, also for denormal results), over ALL inputs unless the last column says otherwise. Checks of f32:
// exp to erf, sin, cos and tan on all 2^32 inputs; atan and rsqrt on every seventeenth input; the others on
// random inputs. Checks of f64 use random inputs.
//
//   function              f32 ulp  f64 ulp  inputs and remarks
//   exp, exp2, expm1         2        2
//   log, log2, log10, log1p  2        3
//   tanh, sigmoid            3        3     sigmoid(x) = 1 / (1 + exp(-x)), accurate down to denormals
//   erf                      2        2
//   sin, cos                 2        2     f64 beyond 2^50: see SN_FAR_F64
//   tan                      2        3     f64 beyond 2^50: see SN_FAR_F64
//   atan, atan2              3        3
//   pow                      1        2
//   sqrt                    exact    exact
//   rsqrt                    2        2     1 / sqrt(x), two roundings
//   floor, ceil, rint       exact    exact  rint rounds halves to even
//   rem                     exact    exact  C's fmod; a loop, the only function that does not vectorize
#ifndef SINTER_KERNELS_CPU_MATH_VECTOR_MATH_H_
#define SINTER_KERNELS_CPU_MATH_VECTOR_MATH_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

float sn_exp_f32(float x);
float sn_exp2_f32(float x);
float sn_expm1_f32(float x);
float sn_log_f32(float x);
float sn_log2_f32(float x);
float sn_log10_f32(float x);
float sn_log1p_f32(float x);
float sn_tanh_f32(float x);
float sn_sigmoid_f32(float x);
float sn_erf_f32(float x);
float sn_sin_f32(float x);
float sn_cos_f32(float x);
float sn_tan_f32(float x);
float sn_atan_f32(float x);
float sn_atan2_f32(float y, float x);
float sn_pow_f32(float x, float y);
float sn_sqrt_f32(float x);
float sn_rsqrt_f32(float x);
float sn_floor_f32(float x);
float sn_ceil_f32(float x);
float sn_rint_f32(float x);
float sn_rem_f32(float x, float y);

double sn_exp_f64(double x);
double sn_exp2_f64(double x);
double sn_expm1_f64(double x);
double sn_log_f64(double x);
double sn_log2_f64(double x);
double sn_log10_f64(double x);
double sn_log1p_f64(double x);
double sn_tanh_f64(double x);
double sn_sigmoid_f64(double x);
double sn_erf_f64(double x);
double sn_sin_f64(double x);
double sn_cos_f64(double x);
double sn_tan_f64(double x);
double sn_atan_f64(double x);
double sn_atan2_f64(double y, double x);
double sn_pow_f64(double x, double y);
double sn_sqrt_f64(double x);
double sn_rsqrt_f64(double x);
double sn_floor_f64(double x);
double sn_ceil_f64(double x);
double sn_rint_f64(double x);
double sn_rem_f64(double x, double y);

// Larger doubles need a reduction with 192 bits for sine, cosine and tangent, which does not fit in a vector
// loop. The loop tests if any argument of a vector is larger, and then calls one of these functions. They
// overwrite y[i] if |x[i]| > SN_FAR_F64 and leave other elements unchanged. They take about 30 ns for each
// such argument.
#define SN_FAR_F64 0x1p50
void sn_sin_far_f64(const double* x, double* y, int64_t count);
void sn_cos_far_f64(const double* x, double* y, int64_t count);
void sn_tan_far_f64(const double* x, double* y, int64_t count);

// 16-bit floats are passed as their bits. Conversions round once to nearest even, also from f64. Overflow
// gives infinity, NaN stays a (quiet) NaN, and denormals are kept.
uint16_t sn_bf16_from_f32(float x);
uint16_t sn_bf16_from_f64(double x);
float sn_f32_from_bf16(uint16_t bits);
uint16_t sn_f16_from_f32(float x);
uint16_t sn_f16_from_f64(double x);
float sn_f32_from_f16(uint16_t bits);

// Returns one 32-bit word of Philox 4x32-10. The counter is (index low, index high, stream, step low) and the
// key is (seed low, seed high XOR step high). So every element of every random op in every step has its own
// block of four words; `lane` (0 to 3) selects one. `stream` numbers the random ops of a program. `index` is
// the element's logical position, so the numbers do not depend on vector width, threads or sharding. If an
// element needs several words, use several lanes of one index, not several indices: the rounds are then
// shared.
uint32_t sn_philox(uint64_t seed, uint64_t step, uint32_t stream, uint64_t index, int32_t lane);

// Return a uniform number in [0, 1): 24 bits of one word, or 53 bits of two.
float sn_uniform_f32(uint32_t word);
double sn_uniform_f64(uint32_t high, uint32_t low);

// Return a standard normal number by Box and Muller (the cosine branch). f32 reaches 6.7 standard deviations,
// f64 reaches 8.6.
float sn_normal_f32(uint32_t word0, uint32_t word1);
double sn_normal_f64(uint32_t word0, uint32_t word1, uint32_t word2, uint32_t word3);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // SINTER_KERNELS_CPU_MATH_VECTOR_MATH_H_
