// A matmul of a plan in cuBLASLt: the descriptors are made once and launched with any of its algorithms.
//
//   const MatmulShape shape = {.batch = 1, .m = 8, .n = 4, .k = 2};
//   SINTER_ASSIGN_OR_RETURN(auto matmul, CublasMatmul::Create(context, shape));
//   SINTER_ASSIGN_OR_RETURN(auto algorithms, matmul->Algorithms(8));
//   matmul->Launch(algorithms[0], {.a = a, .b = b, .result = c}, workspace);
//
// Plans are row-major and cuBLASLt is column-major. A row-major matrix read as column-major is its transpose,
// so cuBLASLt computes result^T = op(b)^T op(a)^T on the same bytes. The bias has one number for each column
// of the plan's result. These columns are cuBLASLt's rows, the only dimension along which cuBLASLt adds a
// bias.
#ifndef SINTER_RUNTIME_CUDA_CUBLAS_CUBLASLT_MATMUL_H_
#define SINTER_RUNTIME_CUDA_CUBLAS_CUBLASLT_MATMUL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/cuda/context/cuda_context.h"
#include "sinter/runtime/cuda/driver/cuda_status.h"
#include "sinter/runtime/device/tuning_file.h"
#include "sinter/runtime/memory/caching_allocator.h"

namespace sinter {

// The parameters of fb::MatmulStep; sizes are at least 1.
struct MatmulShape {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  bool transpose_a = false, transpose_b = false, has_bias = false;
  fb::DType dtype = fb::DType::F32;
  fb::Activation activation = fb::Activation::None;
  fb::MathMode math = fb::MathMode::Ieee;
  bool result_is_f32 = false, result_is_i32 = false, has_addend = false, has_scale = false,
       is_gradient = false;
  // For 8-bit floats: `dtype` is a's.
  fb::MatmulScales scales = fb::MatmulScales::None;
  fb::DType dtype_b = fb::DType::F32;
  bool fast_sums = false;

  bool is_scaled() const { return scales != fb::MatmulScales::None; }
  fb::DType DTypeOfB() const { return is_scaled() ? dtype_b : dtype; }
  // The type of the result, bias, addend and preactivation.
  fb::DType ResultDType() const {
    if (result_is_f32) return fb::DType::F32;
    return is_scaled() ? fb::DType::BF16 : result_is_i32 ? fb::DType::I32 : dtype;
  }
  double Flops() const { return 2.0 * static_cast<double>(batch * m) * static_cast<double>(n * k); }
  // Returns a text that is unique for each distinct matmul, such as "f32 ieee 2x8x4x2 (batch, m, n, k), a
  // transposed, bias, relu".
  std::string ToString() const;
};

// Null pointers for absent operands.
struct MatmulOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* bias = nullptr;
  const void* addend = nullptr;  // May equal `result`.
  const void* scale = nullptr;   // f32, or f64 if the matmul is f64.
  const void* preactivation = nullptr;
  const void* scale_a = nullptr;  // f32: one number, or one for each row of the result.
  const void* scale_b = nullptr;  // f32: one number, or one for each column of the result.
  void* result = nullptr;
};

class CublasMatmul {
 public:
  // Required alignment of all operands except scales.
  static constexpr size_t kAlignment = 16;
  // Maximum workspace of an algorithm, in bytes.
  static constexpr size_t kMaxWorkspace = size_t{32} << 20;

  // Unimplemented for integers, for activations and activation gradients that cuBLASLt does not support
  // (runtime/plan/gpu_limits.h), and for bf16x3 with a type other than f32.
  static absl::StatusOr<std::unique_ptr<CublasMatmul>> Create(CudaContext& context, const MatmulShape& shape);
  ~CublasMatmul();
  CublasMatmul(const CublasMatmul&) = delete;
  CublasMatmul& operator=(const CublasMatmul&) = delete;

  const MatmulShape& shape() const { return shape_; }

  // Returns 1 to `count` algorithms, the fastest first by cuBLASLt's estimate. Split-k algorithms are
  // included only if they keep partial sums in full precision and add them in a fixed order: the same
  // operands give the same bits. Unimplemented if no algorithm exists, such as for bf16x3 before compute
  // capability 10.0.
  absl::StatusOr<std::vector<cublasLtMatmulHeuristicResult_t>> Algorithms(int count) const;

  // Returns the attributes of an algorithm. Attributes that the algorithm does not have keep their defaults.
  // The ordinal is 0.
  AlgorithmConfig ConfigOf(const cublasLtMatmulHeuristicResult_t& algorithm) const;

  // Enqueues the matmul. `workspace` has algorithm.workspaceSize bytes.
  absl::Status Launch(const cublasLtMatmulHeuristicResult_t& algorithm, const MatmulOperands& operands,
                      void* workspace);

 private:
  CublasMatmul(CudaContext& context, CublasHandle cublas, const MatmulShape& shape)
      : context_(context), cublas_(cublas), shape_(shape) {}
  absl::Status MakeDescriptors();
  absl::Status MakeFactors();
  absl::Status DescribeEpilogue();
  absl::Status DescribeScales();
  absl::Status MakeLayout(fb::DType dtype, int64_t rows, int64_t columns,
                          cublasLtMatrixLayout_t* layout) const;
  absl::Status Set(cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    return CublasStatus(cublas_.functions->MatmulDescSetAttribute(matmul_, attribute, &value, sizeof(value)),
                        "describe a matmul");
  }

  CudaContext& context_;
  CublasHandle cublas_;
  MatmulShape shape_;
  cublasLtMatmulDesc_t matmul_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, result_ = nullptr;
  Allocation factors_;  // 1 and 0 in GPU memory; used if the matmul has a scale.
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CUBLAS_CUBLASLT_MATMUL_H_
