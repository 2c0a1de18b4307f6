// Limits of GPU steps: the verifier and the steps' makers refuse steps beyond them.
//
// The compiler knows the libraries' limits as reasons (ir/target/cuda_libraries.h);
// tests/codegen/gpu_limits_test.cc holds both together.
//
//   if (CublasEpilogueSupported(fb::Activation::GeluTanh)) ...
//   SINTER_CHECK(inputs + outputs <= kMaxGpuKernelBuffers);
//
// Needs no CUDA headers.
#ifndef SINTER_RUNTIME_PLAN_GPU_LIMITS_H_
#define SINTER_RUNTIME_PLAN_GPU_LIMITS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "runtime/plan_generated.h"

namespace sinter {

// A kernel takes one struct of pointers by value. This is CUDA's limit of parameter bytes for sm_70 and
// later.
inline constexpr size_t kMaxGpuKernelParameterBytes = 32764;
inline constexpr size_t kMaxGpuKernelBuffers = kMaxGpuKernelParameterBytes / sizeof(void*);

// Shared memory of a block without a special request, and the maximum number of threads per block on every
// GPU. Load requests larger shared memory; the maximum depends on the GPU (sm_90: 227 KiB per block).
inline constexpr uint32_t kGpuSharedBytesWithoutAsking = 48 * 1024;
inline constexpr uint32_t kMaxGpuBlock = 1024;

// True if cuBLASLt can fuse the bias and activation into a matmul. Its GELU is the tanh form. It has no
// epilogue in f64. New plans have no relu here, which may turn NaN into 0; older plans may have one, and run
// unchanged.
constexpr bool CublasEpilogueSupported(fb::Activation activation, bool has_bias = false,
                                       fb::DType dtype = fb::DType::F32) {
  const bool is_known = activation == fb::Activation::None || activation == fb::Activation::Relu ||
                        activation == fb::Activation::GeluTanh;
  const bool is_plain = activation == fb::Activation::None && !has_bias;
  return is_known && (dtype != fb::DType::F64 || is_plain);
}

// Explains why cuBLASLt cannot compute a matmul with an activation's gradient, in words that complete "...,
// because ". Empty if cuBLASLt can ("cuBLASLt Data Types Reference", cublasLtEpilogue_t: DGELU). The leading
// dimension of its auxiliary matrices, whose columns are the plan's rows, must be a multiple of 8.
inline std::string_view CublasGradientProblem(const fb::MatmulStepT& s) {
  const bool is_low_precision = s.dtype == fb::DType::BF16 || s.dtype == fb::DType::F16;
  if (!is_low_precision) return "cuBLASLt does it for matmuls of bf16 and f16";
  if (s.m == 0 || s.n == 0 || s.k == 0) return "a dimension is 0";
  if (s.activation != fb::Activation::GeluTanh) return "cuBLASLt has the gradient of gelu_tanh only";
  if (s.result_is_f32) return "cuBLASLt has what gelu_tanh is applied to in 16 bits";
  if (s.n % 8 != 0) return "cuBLASLt takes rows of a multiple of 8 elements here";
  return s.batch == 1 ? "" : "cuBLASLt does it for a single matmul";
}

// True if cuBLASLt computes matmuls of floats of this type.
constexpr bool CublasTypeSupported(fb::DType dtype) {
  return dtype == fb::DType::F64 || dtype == fb::DType::F32 || dtype == fb::DType::BF16 ||
         dtype == fb::DType::F16;
}

// Explains why cuBLASLt cannot compute a matmul of integers, in words that complete "..., because ". Empty if
// cuBLASLt can. Generated kernels compute the others.
inline std::string_view CublasIntegersProblem(const fb::MatmulStepT& s) {
  if (s.dtype != fb::DType::I8 || !s.result_is_i32)
    return "cuBLASLt multiplies integers of 8 bits, to 32 bits";
  if (s.has_bias || s.activation != fb::Activation::None) return "cuBLASLt has no epilogues for integers";
  if (s.transpose_a || !s.transpose_b) return "cuBLASLt takes rows of i8 along k";
  if (s.batch == 0 || s.m == 0 || s.n == 0 || s.k == 0) return "a dimension is 0";
  return s.n % 4 == 0 && s.k % 4 == 0 ? "" : "cuBLASLt takes rows of a multiple of 4 elements of i8";
}

// Explains why cuBLASLt cannot compute a matmul of 8-bit floats, in words that complete "..., because ".
// Empty if cuBLASLt can.
inline std::string_view CublasFloat8Problem(const fb::MatmulStepT& s) {
  if (s.dtype == fb::DType::F8E5M2 && s.dtype_b == fb::DType::F8E5M2)
    return "cuBLASLt takes one operand of f8e5m2 at most";
  if (s.batch != 1) return "cuBLASLt does it for a single matmul";
  if (s.transpose_a || !s.transpose_b) return "cuBLASLt takes rows of 8-bit floats along k";
  if (s.m == 0 || s.n == 0 || s.k == 0) return "a dimension is 0";
  return s.n % 16 == 0 && s.k % 16 == 0 ? "" : "cuBLASLt takes rows of a multiple of 16 elements of 8 bits";
}

// True if cuDNN can fuse the activation into a forward convolution after its bias, in all types of
// convolutions. Gradients have no activation.
constexpr bool CudnnEpilogueSupported(fb::Activation activation) {
  return activation == fb::Activation::None || activation == fb::Activation::Relu;
}

// True if cuDNN can compute the attention: q, k and v have heads of one width (a multiple of 8, at most 256),
// and there is more than one position. Gradients of heads wider than 128 are computed by GPUs of compute
// capability 9.x alone. The scale must be positive: cuDNN takes the largest score before scaling, and returns
// NaN if scaling makes that score the smallest.
constexpr bool CudnnAttentionSupported(fb::DType dtype, int64_t width, int64_t positions, double scale) {
  return (dtype == fb::DType::BF16 || dtype == fb::DType::F16) && width % 8 == 0 && width <= 256 &&
         positions > 1 && scale > 0;
}

// The kernels of the catalogue (kernels/cpu/catalog/catalog.h) that a library computes on GPUs, in steps of
// the same name and parameters: cuFFT, cuSOLVER and cuBLAS (runtime/cuda/steps/library_calls.h). The others
// are generated kernels there, or nothing computes them.
inline constexpr std::string_view kGpuLibraryKernels[] = {
    "fft", "rfft", "irfft", "cholesky", "triangular_solve", "qr", "eigh", "svd", "lu"};
constexpr bool GpuLibraryComputes(std::string_view kernel) {
  return std::ranges::find(kGpuLibraryKernels, kernel) != std::end(kGpuLibraryKernels);
}

// The most rows, columns and matrices that cuSOLVER and cuBLAS take.
inline constexpr int64_t kMostGpuMatrixSize = std::numeric_limits<int32_t>::max();

// Explains why a library cannot compute a kernel of kGpuLibraryKernels with these parameters, in words that
// complete "..., because ". Empty if it can. The parameters are as many as the kernel has.
inline std::string GpuLibraryProblem(std::string_view kernel, std::span<const int64_t> parameters) {
  if (kernel.ends_with("fft")) return "";
  // An element type and a batch; the sizes of its matrices, and flags.
  for (const int64_t size : parameters.subspan(1)) {
    if (size <= kMostGpuMatrixSize) continue;
    return "cuSOLVER and cuBLAS take at most " + std::to_string(kMostGpuMatrixSize) +
           " rows, columns and matrices, not " + std::to_string(size);
  }
  return "";
}

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_GPU_LIMITS_H_
