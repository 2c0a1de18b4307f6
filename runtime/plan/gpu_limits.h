// What GPU steps can hold, for those who make plans: codegen asks here, and the runtime refuses the rest.
//
//   if (CublasEpilogueSupported(fb::Activation::GeluTanh)) ...
//   SINTER_CHECK(inputs + outputs <= kMaxGpuKernelBuffers);
//
// Nothing of CUDA is included or needed.
#ifndef SINTER_RUNTIME_PLAN_GPU_LIMITS_H_
#define SINTER_RUNTIME_PLAN_GPU_LIMITS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/plan_generated.h"

namespace sinter {

// A kernel takes one struct of pointers by value. CUDA passes that many bytes of parameters to a kernel of sm_70 and up.
inline constexpr size_t kMaxGpuKernelParameterBytes = 32764;
inline constexpr size_t kMaxGpuKernelBuffers = kMaxGpuKernelParameterBytes / sizeof(void*);

// Shared memory that a block has without asking for more, and threads that a block may have on every GPU. More shared
// memory than this is asked for at Load; the most that there is depends on the GPU (sm_90: 227 KiB a block).
inline constexpr uint32_t kGpuSharedBytesWithoutAsking = 48 * 1024;
inline constexpr uint32_t kMaxGpuBlock = 1024;

// True if NaN stays NaN when a library applies the activation. cuDNN's relu makes it 0 in every type, cuBLASLt's in f16 (measured
// on an H200, cuDNN 9.19 and cuBLASLt 13; in other types no document promises it). Plans are made without such an activation in
// a library's call; those of before have it, and run as they did.
constexpr bool GpuEpilogueKeepsNan(fb::Activation activation) { return activation != fb::Activation::Relu; }

// A matmul's bias and activation within cuBLASLt. Its GELU is the form with tanh, and it has no epilogue in f64.
constexpr bool CublasEpilogueSupported(fb::Activation activation, bool has_bias = false,
                                       fb::DType dtype = fb::DType::F32) {
  const bool is_known = activation == fb::Activation::None || activation == fb::Activation::Relu ||
                        activation == fb::Activation::GeluTanh;
  const bool is_plain = activation == fb::Activation::None && !has_bias;
  return is_known && (dtype != fb::DType::F64 || is_plain);
}

// Why cuBLASLt does not do a product with the gradient of an activation, in words that complete "..., because "; empty when it
// does ("cuBLASLt Data Types Reference", cublasLtEpilogue_t: DGELU). Its auxiliary matrices, whose columns are the plan's rows,
// have a leading dimension that is a multiple of 8.
inline std::string_view CublasGradientProblem(const fb::MatmulStepT& s) {
  const bool is_narrow = s.dtype == fb::DType::BF16 || s.dtype == fb::DType::F16;
  if (!is_narrow) return "cuBLASLt does it for products of bf16 and f16";
  if (s.m == 0 || s.n == 0 || s.k == 0) return "a dimension is 0";
  if (s.activation != fb::Activation::GeluTanh) return "cuBLASLt has the gradient of gelu_tanh only";
  if (s.result_is_f32) return "cuBLASLt has what gelu_tanh is applied to in 16 bits";
  if (s.n % 8 != 0) return "cuBLASLt takes rows of a multiple of 8 elements here";
  return s.batch == 1 ? "" : "cuBLASLt does it for a single product";
}

// A product in cuBLASLt. Integers are not: a generated kernel computes them.
constexpr bool CublasTypeSupported(fb::DType dtype) {
  return dtype == fb::DType::F64 || dtype == fb::DType::F32 || dtype == fb::DType::BF16 ||
         dtype == fb::DType::F16;
}

// A forward convolution's activation after its bias, in all types that convolutions have; gradients have none.
constexpr bool CudnnEpilogueSupported(fb::Activation activation) {
  return activation == fb::Activation::None || activation == fb::Activation::Relu;
}

// Attention in cuDNN: heads of q, k and v of one width, and as many of k as of q. Any number of positions but one. The scale
// is positive: its kernels look for the largest score before they scale, and give NaN where that makes it the least.
constexpr bool CudnnAttentionSupported(fb::DType dtype, int64_t width, bool has_equal_heads,
                                       int64_t positions, double scale) {
  return (dtype == fb::DType::BF16 || dtype == fb::DType::F16) && width % 8 == 0 && width <= 128 &&
         has_equal_heads && positions > 1 && scale > 0;
}

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_GPU_LIMITS_H_
