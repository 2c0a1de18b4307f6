#include "sinter/runtime/cuda/cublaslt_matmul.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/dtype.h"
#include "sinter/runtime/gpu_limits.h"

namespace sinter {
namespace {

cudaDataType_t CublasType(fb::DType dtype) {
  switch (dtype) {
    case fb::DType::F64:
      return CUDA_R_64F;
    case fb::DType::BF16:
      return CUDA_R_16BF;
    case fb::DType::F16:
      return CUDA_R_16F;
    default:
      return CUDA_R_32F;
  }
}

cublasComputeType_t ComputeType(const MatmulShape& shape) {
  if (shape.dtype == fb::DType::F64) return CUBLAS_COMPUTE_64F;
  if (shape.dtype != fb::DType::F32 || shape.math == fb::MathMode::Ieee) return CUBLAS_COMPUTE_32F;
  return shape.math == fb::MathMode::Tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F_EMULATED_16BFX9;
}

cublasLtEpilogue_t Epilogue(const MatmulShape& shape) {
  int epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  if (shape.activation == fb::Activation::Relu) epilogue = CUBLASLT_EPILOGUE_RELU;
  if (shape.activation == fb::Activation::GeluTanh) epilogue = CUBLASLT_EPILOGUE_GELU;
  // CUBLASLT_EPILOGUE_BIAS is a bit, but not one to add to "default".
  if (!shape.has_bias) return static_cast<cublasLtEpilogue_t>(epilogue);
  if (epilogue == CUBLASLT_EPILOGUE_DEFAULT) return CUBLASLT_EPILOGUE_BIAS;
  return static_cast<cublasLtEpilogue_t>(epilogue | CUBLASLT_EPILOGUE_BIAS);
}

absl::Status CheckShape(const MatmulShape& shape) {
  if (!CublasTypeSupported(shape.dtype)) {
    return absl::UnimplementedError(absl::StrCat("a product of ", fb::EnumNameDType(shape.dtype),
                                                 " is not done by cuBLASLt, which is for f64, f32, bf16 and "
                                                 "f16: let the compiler generate its kernel"));
  }
  if (!CublasEpilogueSupported(shape.activation, shape.has_bias, shape.dtype)) {
    return absl::UnimplementedError(absl::StrCat("a product of ", fb::EnumNameDType(shape.dtype),
                                                 shape.has_bias ? " with bias" : "", " and activation ",
                                                 fb::EnumNameActivation(shape.activation),
                                                 " is not done by cuBLASLt: leave them out of the matmul, "
                                                 "for a kernel of their own (CublasEpilogueSupported in "
                                                 "runtime/gpu_limits.h)"));
  }
  if (shape.math == fb::MathMode::Bf16x3 && shape.dtype != fb::DType::F32) {
    return absl::UnimplementedError(absl::StrCat("math bf16x3 is for products of f32, not of ",
                                                 fb::EnumNameDType(shape.dtype), ": use ieee"));
  }
  if (shape.batch > std::numeric_limits<int32_t>::max()) {
    return absl::UnimplementedError(absl::StrCat("cuBLASLt counts products in 32 bits, not ", shape.batch,
                                                 ": give several matmuls a part each"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string MatmulShape::ToString() const {
  return absl::StrCat(std::string(DTypeName(static_cast<DType>(dtype))), " ", fb::EnumNameMathMode(math), " ",
                      batch, "x", m, "x", n, "x", k, " (batch, m, n, k)", transpose_a ? ", a transposed" : "",
                      transpose_b ? ", b transposed" : "", has_bias ? ", bias" : "",
                      activation == fb::Activation::None ? "" : ", ",
                      activation == fb::Activation::None ? "" : fb::EnumNameActivation(activation));
}

absl::StatusOr<std::unique_ptr<CublasMatmul>> CublasMatmul::Create(CudaContext& context,
                                                                   const MatmulShape& shape) {
  SINTER_RETURN_IF_ERROR(CheckShape(shape));
  SINTER_ASSIGN_OR_RETURN(const CublasHandle cublas, context.Cublas());
  std::unique_ptr<CublasMatmul> product(new CublasMatmul(context, cublas, shape));
  SINTER_RETURN_IF_ERROR(product->MakeDescriptors());
  return product;
}

CublasMatmul::~CublasMatmul() {
  for (cublasLtMatrixLayout_t layout : {a_, b_, result_}) {
    if (layout != nullptr) (void)cublas_.functions->MatrixLayoutDestroy(layout);
  }
  if (product_ != nullptr) (void)cublas_.functions->MatmulDescDestroy(product_);
}

absl::Status CublasMatmul::MakeLayout(int64_t rows, int64_t columns, cublasLtMatrixLayout_t* layout) const {
  const CublasLt& f = *cublas_.functions;
  SINTER_RETURN_IF_ERROR(
      CublasStatus(f.MatrixLayoutCreate(layout, CublasType(shape_.dtype), static_cast<uint64_t>(rows),
                                        static_cast<uint64_t>(columns), rows),
                   "describe a matrix"));
  if (shape_.batch == 1) return absl::OkStatus();
  const int32_t count = static_cast<int32_t>(shape_.batch);
  const int64_t stride = rows * columns;
  SINTER_RETURN_IF_ERROR(CublasStatus(
      f.MatrixLayoutSetAttribute(*layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)),
      "set a batch"));
  return CublasStatus(f.MatrixLayoutSetAttribute(*layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                 &stride, sizeof(stride)),
                      "set a batch's stride");
}

absl::Status CublasMatmul::MakeDescriptors() {
  const CublasLt& f = *cublas_.functions;
  const cudaDataType_t scale = shape_.dtype == fb::DType::F64 ? CUDA_R_64F : CUDA_R_32F;
  SINTER_RETURN_IF_ERROR(
      CublasStatus(f.MatmulDescCreate(&product_, ComputeType(shape_), scale), "describe a product"));
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    return CublasStatus(f.MatmulDescSetAttribute(product_, attribute, &value, sizeof(value)),
                        "describe a product");
  };
  // cuBLASLt's first operand is b, its second a.
  const cublasOperation_t first = shape_.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t second = shape_.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  SINTER_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_TRANSA, first));
  SINTER_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_TRANSB, second));
  SINTER_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_EPILOGUE, Epilogue(shape_)));
  if (shape_.has_bias) {
    // No one reads it before Launch sets it; the heuristic takes its alignment from it.
    SINTER_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, reinterpret_cast<const void*>(kAlignment)));
    SINTER_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CublasType(shape_.dtype)));
  }
  SINTER_RETURN_IF_ERROR(shape_.transpose_b ? MakeLayout(shape_.k, shape_.n, &b_)
                                            : MakeLayout(shape_.n, shape_.k, &b_));
  SINTER_RETURN_IF_ERROR(shape_.transpose_a ? MakeLayout(shape_.m, shape_.k, &a_)
                                            : MakeLayout(shape_.k, shape_.m, &a_));
  return MakeLayout(shape_.n, shape_.m, &result_);
}

absl::StatusOr<std::vector<cublasLtMatmulHeuristicResult_t>> CublasMatmul::Algorithms(int count) const {
  const CublasLt& f = *cublas_.functions;
  const CudaDeviceScope on(context_.index());
  cublasLtMatmulPreference_t preference = nullptr;
  SINTER_RETURN_IF_ERROR(CublasStatus(f.MatmulPreferenceCreate(&preference), "make a preference"));
  const struct Deleter {
    const CublasLt& f;
    cublasLtMatmulPreference_t preference;
    ~Deleter() { (void)f.MatmulPreferenceDestroy(preference); }
  } deleter{f, preference};
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    return CublasStatus(f.MatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)),
                        "set a preference");
  };
  SINTER_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(kMaxWorkspace)));
  SINTER_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                             static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)));
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    SINTER_RETURN_IF_ERROR(set(attribute, static_cast<uint32_t>(kAlignment)));
  }
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<size_t>(count));
  int found = 0;
  const cublasStatus_t status = f.MatmulAlgoGetHeuristic(cublas_.handle, product_, b_, a_, result_, result_,
                                                         preference, count, results.data(), &found);
  if (status != CUBLAS_STATUS_NOT_SUPPORTED) {
    SINTER_RETURN_IF_ERROR(CublasStatus(status, absl::StrCat("find an algorithm for ", shape_.ToString())));
  }
  results.resize(status == CUBLAS_STATUS_SUCCESS ? static_cast<size_t>(found) : 0);
  std::erase_if(results, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
  if (!results.empty()) return results;
  const bool is_emulated = shape_.math == fb::MathMode::Bf16x3;
  return absl::UnimplementedError(
      absl::StrCat("cuBLASLt has no algorithm for ", shape_.ToString(), " on ", context_.info().name,
                   is_emulated ? ", of compute capability " : "",
                   is_emulated ? absl::StrCat(context_.info().major, ".", context_.info().minor,
                                              ": products in bf16x3 need 10.0 or newer; use ieee or tf32")
                               : ""));
}

absl::Status CublasMatmul::Launch(const cublasLtMatmulHeuristicResult_t& algorithm,
                                  const MatmulOperands& operands, void* workspace) {
  const CublasLt& f = *cublas_.functions;
  const CudaDeviceScope on(context_.index());
  if (shape_.has_bias) {
    SINTER_RETURN_IF_ERROR(CublasStatus(f.MatmulDescSetAttribute(product_, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                                                 &operands.bias, sizeof(operands.bias)),
                                        "set a bias"));
  }
  // Alpha is 1 and beta 0, of the type that is computed in.
  const float factors_f32[2] = {1, 0};
  const double factors_f64[2] = {1, 0};
  const bool is_f64 = shape_.dtype == fb::DType::F64;
  const void* const alpha = is_f64 ? static_cast<const void*>(&factors_f64[0]) : &factors_f32[0];
  const void* const beta = is_f64 ? static_cast<const void*>(&factors_f64[1]) : &factors_f32[1];
  return CublasStatus(f.Matmul(cublas_.handle, product_, alpha, operands.b, b_, operands.a, a_, beta,
                               operands.result, result_, operands.result, result_, &algorithm.algo, workspace,
                               algorithm.workspaceSize, context_.stream()),
                      "launch a product");
}

}  // namespace sinter
