// Activations that library calls apply to their results; the numbers are those of plan.fbs.
//
//   ActivateRow(SN_SILU, sums, 100);     // In place: float, double, or an unsigned integer (relu only).
//
// The functions are those of vector_math.h. NaN stays NaN, also with relu. The bits depend on neither the
// vector width nor the position in a row.
#ifndef SINTER_KERNELS_CPU_MATH_ACTIVATION_H_
#define SINTER_KERNELS_CPU_MATH_ACTIVATION_H_

#include <stdint.h>

enum SnActivation {
  SN_NO_ACTIVATION = 0,
  SN_RELU = 1,
  SN_GELU = 2,
  SN_GELU_TANH = 3,
  SN_SIGMOID = 4,
  SN_TANH = 5,
  SN_SILU = 6
};

#ifdef __cplusplus
extern "C" {
#endif

void sn_activate_f32(int activation, float* x, int64_t count);
void sn_activate_f64(int activation, double* x, int64_t count);

#ifdef __cplusplus
}  // extern "C"

#include <type_traits>

namespace sinter::kernels {

inline void ActivateRow(int activation, float* x, int64_t count) { sn_activate_f32(activation, x, count); }
inline void ActivateRow(int activation, double* x, int64_t count) { sn_activate_f64(activation, x, count); }

// Integers are computed as unsigned integers of the same or a larger width; relu tests their sign bit.
template <typename C>
void ActivateRow(int activation, C* x, int64_t count) {
  static_assert(std::is_unsigned_v<C>);
  if (activation != SN_RELU) return;
  for (int64_t i = 0; i < count; ++i) x[i] = static_cast<std::make_signed_t<C>>(x[i]) < 0 ? C{0} : x[i];
}

}  // namespace sinter::kernels
#endif  // __cplusplus

#endif  // SINTER_KERNELS_CPU_MATH_ACTIVATION_H_
