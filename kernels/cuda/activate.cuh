// The activations of matmuls, on one element.
//
// Constants: kActivation, a number of ir/library/linear_ops.td.
__device__ __forceinline__ float Exp(float x) { return expf(x); }
__device__ __forceinline__ double Exp(double x) { return exp(x); }
__device__ __forceinline__ float Tanh(float x) { return tanhf(x); }
__device__ __forceinline__ double Tanh(double x) { return tanh(x); }
__device__ __forceinline__ float Erf(float x) { return erff(x); }
__device__ __forceinline__ double Erf(double x) { return erf(x); }

template <typename C>
__device__ __forceinline__ C Activate(C x) {
  if constexpr (kActivation == 0) {
    return x;
  } else {
    switch (kActivation) {
      case 1:
        return x < 0 ? C(0) : x;  // NaN stays NaN.
      case 2:
        return x * C(0.5) * (C(1) + Erf(x * C(0.70710678118654752440)));
      case 3:
        return x * C(0.5) * (C(1) + Tanh(C(0.79788456080286535588) * (x + C(0.044715) * x * x * x)));
      case 4:
        return C(1) / (C(1) + Exp(-x));
      case 5:
        return Tanh(x);
      default:
        return x / (C(1) + Exp(-x));
    }
  }
}
