// The activations that library calls apply to their results, by the numbers of runtime/plan.fbs.
//
//   C y = Activate(kSilu, x);     // C: float, double, or an integer, for which there is relu only.
#ifndef SINTER_KERNELS_CPU_ACTIVATION_H_
#define SINTER_KERNELS_CPU_ACTIVATION_H_

#include <type_traits>

#include "sinter/kernels/cpu/vector_math.h"

namespace sinter::kernels {

enum Activation {
  kNoActivation = 0,
  kRelu = 1,
  kGelu = 2,
  kGeluTanh = 3,
  kSigmoid = 4,
  kTanh = 5,
  kSilu = 6
};

template <typename C>
C Activate(int activation, C x) {
  if constexpr (!std::is_floating_point_v<C>) {
    using Signed = std::make_signed_t<C>;
    return activation == kRelu && static_cast<Signed>(x) < 0 ? C{0} : x;
  } else {
    const auto tanh = [](C v) {
      if constexpr (sizeof(C) == 4)
        return sn_tanh_f32(v);
      else
        return sn_tanh_f64(v);
    };
    const auto sigmoid = [](C v) {
      if constexpr (sizeof(C) == 4)
        return sn_sigmoid_f32(v);
      else
        return sn_sigmoid_f64(v);
    };
    const auto erf = [](C v) {
      if constexpr (sizeof(C) == 4)
        return sn_erf_f32(v);
      else
        return sn_erf_f64(v);
    };
    switch (activation) {
      case kRelu:
        return x < 0 ? C{0} : x;  // NaN stays.
      case kGelu:
        return x * C(0.5) * (1 + erf(x * C(0.70710678118654752440)));
      case kGeluTanh:
        return x * C(0.5) * (1 + tanh(C(0.79788456080286535588) * (x + C(0.044715) * x * x * x)));
      case kSigmoid:
        return sigmoid(x);
      case kTanh:
        return tanh(x);
      case kSilu:
        return x * sigmoid(x);
      default:
        return x;
    }
  }
}

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_ACTIVATION_H_
