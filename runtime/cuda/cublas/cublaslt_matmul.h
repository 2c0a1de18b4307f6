// One matrix product of a plan as cuBLASLt wants it: descriptors made once, then launched with any of its algorithms.
//
//   SINTER_ASSIGN_OR_RETURN(auto product, CublasMatmul::Create(context, {.batch = 1, .m = 8, .n = 4, .k = 2}));
//   SINTER_ASSIGN_OR_RETURN(auto algorithms, product->Algorithms(8));
//   product->Launch(algorithms[0], {.a = a, .b = b, .result = c}, workspace);
//
// Plans are row-major and cuBLASLt is column-major. A row-major matrix read by columns is its transpose, so what is
// computed is result^T = op(b)^T op(a)^T: the same bytes, and the bias, one number a column of the plan's result, lies
// along cuBLASLt's rows, the only way in which it adds one.
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

// As in fb::MatmulStep; sizes of at least 1.
struct MatmulShape {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  bool transpose_a = false, transpose_b = false, has_bias = false;
  fb::DType dtype = fb::DType::F32;
  fb::Activation activation = fb::Activation::None;
  fb::MathMode math = fb::MathMode::Ieee;
  bool result_is_f32 = false, has_addend = false, has_scale = false, is_gradient = false;

  // Of the result, and of bias, addend and preactivation.
  fb::DType ResultDType() const { return result_is_f32 ? fb::DType::F32 : dtype; }
  double Flops() const { return 2.0 * static_cast<double>(batch * m) * static_cast<double>(n * k); }
  // "f32 ieee 2x8x4x2 (batch, m, n, k), a transposed, bias, relu": one text for each different product.
  std::string ToString() const;
};

// Null: there is none.
struct MatmulOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* bias = nullptr;
  const void* addend = nullptr;  // May be the result.
  const void* scale = nullptr;   // Of f32, of f64 for f64.
  const void* preactivation = nullptr;
  void* result = nullptr;
};

class CublasMatmul {
 public:
  // What all operands but the scale must start at a multiple of.
  static constexpr size_t kAlignment = 16;
  // The most that an algorithm may use.
  static constexpr size_t kMaxWorkspace = size_t{32} << 20;

  // Unimplemented: integers, an activation or a gradient of one that cuBLASLt does not know (runtime/plan/gpu_limits.h), bf16x3 of
  // what is not f32.
  static absl::StatusOr<std::unique_ptr<CublasMatmul>> Create(CudaContext& context, const MatmulShape& shape);
  ~CublasMatmul();
  CublasMatmul(const CublasMatmul&) = delete;
  CublasMatmul& operator=(const CublasMatmul&) = delete;

  const MatmulShape& shape() const { return shape_; }

  // At least one and at most `count`, those first that cuBLASLt expects to be quickest. Of these that sum parts of k
  // apart, only those that keep partial sums in full precision and add them in a fixed order: same operands, same bits.
  // Unimplemented: there is none, as for bf16x3 before compute capability 10.0.
  absl::StatusOr<std::vector<cublasLtMatmulHeuristicResult_t>> Algorithms(int count) const;

  // The attributes of an algorithm; those that it does not have keep their defaults. The ordinal is 0.
  AlgorithmConfig ConfigOf(const cublasLtMatmulHeuristicResult_t& algorithm) const;

  // Enqueues. `workspace`: algorithm.workspaceSize bytes.
  absl::Status Launch(const cublasLtMatmulHeuristicResult_t& algorithm, const MatmulOperands& operands,
                      void* workspace);

 private:
  CublasMatmul(CudaContext& context, CublasHandle cublas, const MatmulShape& shape)
      : context_(context), cublas_(cublas), shape_(shape) {}
  absl::Status MakeDescriptors();
  absl::Status MakeFactors();
  absl::Status DescribeEpilogue();
  absl::Status MakeLayout(fb::DType dtype, int64_t rows, int64_t columns,
                          cublasLtMatrixLayout_t* layout) const;
  absl::Status Set(cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    return CublasStatus(cublas_.functions->MatmulDescSetAttribute(product_, attribute, &value, sizeof(value)),
                        "describe a product");
  }

  CudaContext& context_;
  CublasHandle cublas_;
  MatmulShape shape_;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, result_ = nullptr;
  Allocation factors_;  // 1 and 0 on the GPU, where the scale is.
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CUBLAS_CUBLASLT_MATMUL_H_
