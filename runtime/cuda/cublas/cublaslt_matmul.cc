#include "sinter/runtime/cuda/cublas/cublaslt_matmul.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/plan/gpu_limits.h"

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
    case fb::DType::I8:
      return CUDA_R_8I;
    case fb::DType::I32:
      return CUDA_R_32I;
    case fb::DType::F8E4M3:
      return CUDA_R_8F_E4M3;
    case fb::DType::F8E5M2:
      return CUDA_R_8F_E5M2;
    default:
      return CUDA_R_32F;
  }
}

cublasComputeType_t ComputeType(const MatmulShape& shape) {
  if (shape.dtype == fb::DType::F64) return CUBLAS_COMPUTE_64F;
  if (shape.dtype == fb::DType::I8) return CUBLAS_COMPUTE_32I;
  if (shape.dtype != fb::DType::F32 || shape.math == fb::MathMode::Ieee) return CUBLAS_COMPUTE_32F;
  return shape.math == fb::MathMode::Tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F_EMULATED_16BFX9;
}

// CUBLASLT_EPILOGUE_BIAS is a bit, but combining it with CUBLASLT_EPILOGUE_DEFAULT is not valid.
cublasLtEpilogue_t Epilogue(const MatmulShape& shape) {
  if (shape.is_gradient) return CUBLASLT_EPILOGUE_DGELU;
  switch (shape.activation) {
    case fb::Activation::Relu:
      return shape.has_bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case fb::Activation::GeluTanh:
      return shape.has_bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    default:
      return shape.has_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  }
}

// Explains why cuBLASLt cannot compute a gradient, or a matmul of i8 or 8-bit floats. Empty for other
// matmuls.
std::string_view LayoutProblem(const MatmulShape& shape) {
  fb::MatmulStepT s;
  s.batch = shape.batch, s.m = shape.m, s.n = shape.n, s.k = shape.k;
  s.transpose_a = shape.transpose_a, s.transpose_b = shape.transpose_b;
  s.dtype = shape.dtype, s.result_is_f32 = shape.result_is_f32, s.result_is_i32 = shape.result_is_i32;
  s.activation = shape.activation, s.has_bias = shape.has_bias;
  s.dtype_b = shape.dtype_b;
  if (shape.is_scaled()) return CublasFloat8Problem(s);
  if (shape.dtype == fb::DType::I8) return CublasIntegersProblem(s);
  return shape.is_gradient ? CublasGradientProblem(s) : "";
}

absl::Status CheckShape(const MatmulShape& shape) {
  if (!CublasTypeSupported(shape.dtype) && shape.dtype != fb::DType::I8 && !shape.is_scaled()) {
    return absl::UnimplementedError(absl::StrCat("a matmul of ", fb::EnumNameDType(shape.dtype),
                                                 " is not done by cuBLASLt, which is for f64, f32, bf16, f16 "
                                                 "and i8: let the compiler generate its kernel"));
  }
  if (!CublasEpilogueSupported(shape.activation, shape.has_bias, shape.dtype)) {
    return absl::UnimplementedError(absl::StrCat("a matmul of ", fb::EnumNameDType(shape.dtype),
                                                 shape.has_bias ? " with bias" : "", " and activation ",
                                                 fb::EnumNameActivation(shape.activation),
                                                 " is not done by cuBLASLt: leave them out of the matmul, "
                                                 "for a kernel of their own (CublasEpilogueSupported in "
                                                 "runtime/plan/gpu_limits.h)"));
  }
  if (const std::string_view problem = LayoutProblem(shape); !problem.empty()) {
    return absl::UnimplementedError(absl::StrCat("the product ", shape.ToString(),
                                                 " is not done by cuBLASLt in one call, because ",
                                                 std::string(problem), ": compile the graph again"));
  }
  if (shape.math == fb::MathMode::Bf16x3 && shape.dtype != fb::DType::F32) {
    return absl::UnimplementedError(absl::StrCat("math bf16x3 is for matmuls of f32, not of ",
                                                 fb::EnumNameDType(shape.dtype), ": use ieee"));
  }
  if (shape.batch > std::numeric_limits<int32_t>::max()) {
    return absl::UnimplementedError(absl::StrCat("cuBLASLt counts matmuls in 32 bits, not ", shape.batch,
                                                 ": give several matmuls a part each"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string MatmulShape::ToString() const {
  std::string text =
      absl::StrCat(std::string(DTypeName(static_cast<DType>(dtype))), " ", fb::EnumNameMathMode(math), " ",
                   batch, "x", m, "x", n, "x", k, " (batch, m, n, k)", transpose_a ? ", a transposed" : "",
                   transpose_b ? ", b transposed" : "", has_bias ? ", bias" : "");
  if (activation != fb::Activation::None) {
    absl::StrAppend(&text, ", ", is_gradient ? "gradient of " : "", fb::EnumNameActivation(activation));
  }
  absl::StrAppend(&text, has_addend ? ", addend" : "", has_scale ? ", scale" : "",
                  result_is_f32   ? ", result of f32"
                  : result_is_i32 ? ", result of i32"
                                  : "");
  if (!is_scaled()) return text;
  absl::StrAppend(&text, ", b ", std::string(DTypeName(static_cast<DType>(dtype_b))),
                  scales == fb::MatmulScales::Rows ? ", scales of rows" : ", scales",
                  fast_sums ? ", fast sums" : "");
  return text;
}

absl::StatusOr<std::unique_ptr<CublasMatmul>> CublasMatmul::Create(CudaContext& context,
                                                                   const MatmulShape& shape) {
  SINTER_RETURN_IF_ERROR(CheckShape(shape));
  SINTER_ASSIGN_OR_RETURN(const CublasHandle cublas, context.Cublas());
  std::unique_ptr<CublasMatmul> matmul(new CublasMatmul(context, cublas, shape));
  SINTER_RETURN_IF_ERROR(matmul->MakeDescriptors());
  if (shape.has_scale) SINTER_RETURN_IF_ERROR(matmul->MakeFactors());
  return matmul;
}

CublasMatmul::~CublasMatmul() {
  for (cublasLtMatrixLayout_t layout : {a_, b_, result_}) {
    if (layout != nullptr) (void)cublas_.functions->MatrixLayoutDestroy(layout);
  }
  if (matmul_ != nullptr) (void)cublas_.functions->MatmulDescDestroy(matmul_);
}

absl::Status CublasMatmul::MakeLayout(fb::DType dtype, int64_t rows, int64_t columns,
                                      cublasLtMatrixLayout_t* layout) const {
  const CublasLt& f = *cublas_.functions;
  SINTER_RETURN_IF_ERROR(
      CublasStatus(f.MatrixLayoutCreate(layout, CublasType(dtype), static_cast<uint64_t>(rows),
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

// With a scale in GPU memory, cuBLASLt requires the addend's factor in GPU memory too.
absl::Status CublasMatmul::MakeFactors() {
  const double f64[2] = {1, 0};
  const float f32[2] = {1, 0};
  const bool is_f64 = shape_.dtype == fb::DType::F64;
  SINTER_ASSIGN_OR_RETURN(factors_, context_.allocator().Allocate(sizeof(f64), "the factors of a matmul"));
  const CudaDeviceScope on(context_.index());
  SINTER_RETURN_IF_ERROR(CudaStatus(
      cudaMemcpyAsync(factors_.ptr(), is_f64 ? static_cast<const void*>(f64) : f32,
                      is_f64 ? sizeof(f64) : sizeof(f32), cudaMemcpyHostToDevice, context_.stream()),
      "upload"));
  return CudaStatus(cudaStreamSynchronize(context_.stream()), "upload");
}

// Nothing reads these pointers before Launch sets them; the heuristic uses only their alignment.
absl::Status CublasMatmul::DescribeEpilogue() {
  const void* const aligned = reinterpret_cast<const void*>(kAlignment);
  SINTER_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_EPILOGUE, Epilogue(shape_)));
  if (shape_.has_bias) {
    SINTER_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, aligned));
    SINTER_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CublasType(shape_.ResultDType())));
  }
  if (!shape_.is_gradient) return absl::OkStatus();
  SINTER_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aligned));
  return Set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, shape_.n);
}

// As for the epilogue, Launch sets the pointers. cuBLASLt's first operand is b. Scales of rows are vectors of
// as many numbers as its result has rows and columns, from compute capability 9.0 on.
absl::Status CublasMatmul::DescribeScales() {
  if (!shape_.is_scaled()) return absl::OkStatus();
  const void* const aligned = reinterpret_cast<const void*>(kAlignment);
  SINTER_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, aligned));
  SINTER_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, aligned));
  SINTER_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<int8_t>(shape_.fast_sums)));
  if (shape_.scales != fb::MatmulScales::Rows) return absl::OkStatus();
  const auto mode = static_cast<int32_t>(CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
  SINTER_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, mode));
  return Set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, mode);
}

absl::Status CublasMatmul::MakeDescriptors() {
  const CublasLt& f = *cublas_.functions;
  const cudaDataType_t scale = shape_.dtype == fb::DType::F64  ? CUDA_R_64F
                               : shape_.dtype == fb::DType::I8 ? CUDA_R_32I
                                                               : CUDA_R_32F;
  SINTER_RETURN_IF_ERROR(
      CublasStatus(f.MatmulDescCreate(&matmul_, ComputeType(shape_), scale), "describe a matmul"));
  // cuBLASLt's first operand is b and its second is a.
  const cublasOperation_t first = shape_.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t second = shape_.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  SINTER_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_TRANSA, first));
  SINTER_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_TRANSB, second));
  SINTER_RETURN_IF_ERROR(DescribeEpilogue());
  SINTER_RETURN_IF_ERROR(DescribeScales());
  if (shape_.has_scale) {
    SINTER_RETURN_IF_ERROR(
        Set(CUBLASLT_MATMUL_DESC_POINTER_MODE, static_cast<int32_t>(CUBLASLT_POINTER_MODE_DEVICE)));
  }
  const int64_t m = shape_.m, n = shape_.n, k = shape_.k;
  SINTER_RETURN_IF_ERROR(
      MakeLayout(shape_.DTypeOfB(), shape_.transpose_b ? k : n, shape_.transpose_b ? n : k, &b_));
  SINTER_RETURN_IF_ERROR(
      MakeLayout(shape_.dtype, shape_.transpose_a ? m : k, shape_.transpose_a ? k : m, &a_));
  return MakeLayout(shape_.ResultDType(), n, m, &result_);
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
  const cublasStatus_t status = f.MatmulAlgoGetHeuristic(cublas_.handle, matmul_, b_, a_, result_, result_,
                                                         preference, count, results.data(), &found);
  if (status != CUBLAS_STATUS_NOT_SUPPORTED) {
    SINTER_RETURN_IF_ERROR(CublasStatus(status, absl::StrCat("find an algorithm for ", shape_.ToString())));
  }
  results.resize(status == CUBLAS_STATUS_SUCCESS ? static_cast<size_t>(found) : 0);
  std::erase_if(results, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
  if (!results.empty()) return results;
  const bool is_emulated = shape_.math == fb::MathMode::Bf16x3;
  return absl::UnimplementedError(absl::StrCat(
      "cuBLASLt has no algorithm for ", shape_.ToString(), " on ", context_.info().name,
      is_emulated ? ", of compute capability " : "",
      is_emulated ? absl::StrCat(context_.info().major, ".", context_.info().minor,
                                 ": matmuls in bf16x3 need 10.0 or newer; use ieee or tf32")
                  : "",
      shape_.is_scaled()
          ? absl::StrCat(", of compute capability ", context_.info().major, ".", context_.info().minor,
                         ": 8-bit floats need 8.9 or newer, and scales of ",
                         "rows 9.0; compile without GraphOptions::float8")
          : ""));
}

absl::Status CublasMatmul::Launch(const cublasLtMatmulHeuristicResult_t& algorithm,
                                  const MatmulOperands& operands, void* workspace) {
  const CublasLt& f = *cublas_.functions;
  const CudaDeviceScope on(context_.index());
  if (shape_.has_bias) SINTER_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias));
  if (shape_.is_gradient) {
    SINTER_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, operands.preactivation));
  }
  if (shape_.is_scaled()) {
    SINTER_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, operands.scale_b));
    SINTER_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, operands.scale_a));
  }
  // alpha and beta in the compute type. alpha: 1 or the scale. beta: 1, or 0 if there is no addend.
  const float factors_f32[2] = {1, 0};
  const double factors_f64[2] = {1, 0};
  const int32_t factors_i32[2] = {1, 0};
  const bool is_f64 = shape_.dtype == fb::DType::F64;
  const void* factors = is_f64 ? static_cast<const void*>(factors_f64) : factors_f32;
  if (shape_.dtype == fb::DType::I8) factors = factors_i32;
  if (shape_.has_scale) factors = factors_.ptr();
  const size_t zero = is_f64 ? sizeof(double) : sizeof(float);  // As large as an i32.
  const void* const alpha = shape_.has_scale ? operands.scale : factors;
  const void* const beta = static_cast<const std::byte*>(factors) + (shape_.has_addend ? 0 : zero);
  const void* const addend = shape_.has_addend ? operands.addend : operands.result;
  return CublasStatus(f.Matmul(cublas_.handle, matmul_, alpha, operands.b, b_, operands.a, a_, beta, addend,
                               result_, operands.result, result_, &algorithm.algo, workspace,
                               algorithm.workspaceSize, context_.stream()),
                      "launch a matmul");
}

}  // namespace sinter
