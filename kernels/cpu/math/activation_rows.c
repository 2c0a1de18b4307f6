// The loops of activation.h for f32; activation_rows_f64.c includes this file for f64.
// The source files of the called functions are included here, as in random_values.c, so that the loops
// vectorize. A multiplication and an addition are fused only if a source file does so explicitly.
#include "sinter/kernels/cpu/math/activation.h"
#include "sinter/kernels/cpu/math/float_bits.h"

// The included functions are inlined and not emitted: the library already contains them.
#undef SN_EXPORT
#define SN_EXPORT extern inline __attribute__((gnu_inline, always_inline))
#ifdef SINTER_ACTIVATION_F64
#include "sinter/kernels/cpu/math/vector_math_f64.c"
#define SN_OF_TYPE(name) name##_f64
typedef double Real;
#else
#include "sinter/kernels/cpu/math/vector_math_f32.c"
#define SN_OF_TYPE(name) name##_f32
typedef float Real;
#endif

void SN_OF_TYPE(sn_activate)(int activation, Real* x, int64_t count) {
  const Real half = (Real)0.5, root_half = (Real)0.70710678118654752440;
  const Real root_2_over_pi = (Real)0.79788456080286535588, cubic = (Real)0.044715;
  switch (activation) {
    case SN_RELU:
      for (int64_t i = 0; i < count; ++i) x[i] = x[i] < 0 ? 0 : x[i];  // NaN stays NaN.
      break;
    case SN_GELU:
      for (int64_t i = 0; i < count; ++i) x[i] = x[i] * half * (1 + SN_OF_TYPE(sn_erf)(x[i] * root_half));
      break;
    case SN_GELU_TANH:
      for (int64_t i = 0; i < count; ++i) {
        Real inner = root_2_over_pi * (x[i] + cubic * x[i] * x[i] * x[i]);
        x[i] = x[i] * half * (1 + SN_OF_TYPE(sn_tanh)(inner));
      }
      break;
    case SN_SIGMOID:
      for (int64_t i = 0; i < count; ++i) x[i] = SN_OF_TYPE(sn_sigmoid)(x[i]);
      break;
    case SN_TANH:
      for (int64_t i = 0; i < count; ++i) x[i] = SN_OF_TYPE(sn_tanh)(x[i]);
      break;
    case SN_SILU:
      for (int64_t i = 0; i < count; ++i) x[i] = x[i] * SN_OF_TYPE(sn_sigmoid)(x[i]);
      break;
    default:
      break;
  }
}
