// Algorithms of cuBLASLt by their attributes: what a tuning file keeps of them, and back.
#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/cublaslt_matmul.h"

namespace sinter {
namespace {

// The attributes of an algorithm but for its id, which is given when it is made.
template <typename Config, typename F>
void ForEachAttribute(Config& config, F&& f) {
  f(CUBLASLT_ALGO_CONFIG_TILE_ID, config.tile);
  f(CUBLASLT_ALGO_CONFIG_STAGES_ID, config.stages);
  f(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, config.split_k);
  f(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, config.reduction);
  f(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, config.swizzle);
  f(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, config.custom);
  f(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, config.inner_shape);
  f(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, config.cluster_shape);
}

// Attributes that the algorithm does not have stay as they are.
template <typename T>
void Get(const CublasLt& f, const cublasLtMatmulAlgo_t& algorithm,
         cublasLtMatmulAlgoConfigAttributes_t attribute, T* value) {
  T found = 0;
  size_t written = 0;
  if (f.MatmulAlgoConfigGetAttribute(&algorithm, attribute, &found, sizeof(found), &written) ==
          CUBLAS_STATUS_SUCCESS &&
      written == sizeof(found)) {
    *value = found;
  }
}

// An enumeration that the library keeps as a number of 32 bits.
template <typename Enum, typename Handle, typename Attribute, typename Getter>
absl::Status Ask(Getter getter, Handle handle, Attribute attribute, Enum* value) {
  int32_t found = 0;
  size_t written = 0;
  SINTER_RETURN_IF_ERROR(
      CublasStatus(getter(handle, attribute, &found, sizeof(found), &written), "read a description"));
  *value = static_cast<Enum>(found);
  return absl::OkStatus();
}

}  // namespace

AlgorithmConfig CublasMatmul::ConfigOf(const cublasLtMatmulHeuristicResult_t& algorithm) const {
  AlgorithmConfig config;
  Get(*cublas_.functions, algorithm.algo, CUBLASLT_ALGO_CONFIG_ID, &config.id);
  ForEachAttribute(config, [&](cublasLtMatmulAlgoConfigAttributes_t attribute, auto& value) {
    Get(*cublas_.functions, algorithm.algo, attribute, &value);
  });
  return config;
}

absl::StatusOr<cublasLtMatmulHeuristicResult_t> CublasMatmul::Rebuild(const AlgorithmConfig& config) const {
  const CublasLt& f = *cublas_.functions;
  const CudaDeviceScope on(context_.index());
  const auto refuse = [&](absl::string_view why) {
    return absl::FailedPreconditionError(
        absl::StrCat("algorithm ", config.id, " of cuBLASLt for ", shape_.ToString(), " ", why));
  };
  if (config.ordinal != 0) return refuse("shares its attributes with others, and is no longer proposed");
  // Other schemes round partial sums, or add them in an order that is not fixed.
  if (config.reduction != CUBLASLT_REDUCTION_SCHEME_NONE &&
      config.reduction != CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) {
    return refuse("does not add its partial sums in full precision and in a fixed order");
  }
  cublasComputeType_t compute{};
  cudaDataType_t scale{}, a{}, b{}, result{};
  SINTER_RETURN_IF_ERROR(
      Ask(f.MatmulDescGetAttribute, product_, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, &compute));
  SINTER_RETURN_IF_ERROR(Ask(f.MatmulDescGetAttribute, product_, CUBLASLT_MATMUL_DESC_SCALE_TYPE, &scale));
  SINTER_RETURN_IF_ERROR(Ask(f.MatrixLayoutGetAttribute, a_, CUBLASLT_MATRIX_LAYOUT_TYPE, &a));
  SINTER_RETURN_IF_ERROR(Ask(f.MatrixLayoutGetAttribute, b_, CUBLASLT_MATRIX_LAYOUT_TYPE, &b));
  SINTER_RETURN_IF_ERROR(Ask(f.MatrixLayoutGetAttribute, result_, CUBLASLT_MATRIX_LAYOUT_TYPE, &result));
  cublasLtMatmulHeuristicResult_t made = {};
  // cuBLASLt's first operand is b.
  if (f.MatmulAlgoInit(cublas_.handle, compute, scale, b, a, result, result, config.id, &made.algo) !=
      CUBLAS_STATUS_SUCCESS) {
    return refuse("does not exist");
  }
  bool is_set = true;
  ForEachAttribute(config, [&](cublasLtMatmulAlgoConfigAttributes_t attribute, auto value) {
    auto now = value;
    Get(f, made.algo, attribute, &now);
    if (now == value) return;
    is_set = is_set && f.MatmulAlgoConfigSetAttribute(&made.algo, attribute, &value, sizeof(value)) ==
                           CUBLAS_STATUS_SUCCESS;
  });
  cublasLtMatmulHeuristicResult_t checked = {};
  if (!is_set ||
      f.MatmulAlgoCheck(cublas_.handle, product_, b_, a_, result_, result_, &made.algo, &checked) !=
          CUBLAS_STATUS_SUCCESS ||
      checked.state != CUBLAS_STATUS_SUCCESS) {
    return refuse("cannot be set up as the tuning file says");
  }
  if (checked.workspaceSize > kMaxWorkspace) {
    return refuse(absl::StrCat("needs a workspace of ",
                               DescribeBytes(static_cast<int64_t>(checked.workspaceSize)), ", and may have ",
                               DescribeBytes(kMaxWorkspace)));
  }
  checked.algo = made.algo;
  return checked;
}

}  // namespace sinter
