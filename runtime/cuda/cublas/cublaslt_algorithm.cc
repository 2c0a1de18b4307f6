// Reads the attributes of cuBLASLt algorithms that a tuning file stores.
#include "sinter/runtime/cuda/cublas/cublaslt_matmul.h"

namespace sinter {
namespace {

// Reads an attribute; leaves `*value` unchanged if the algorithm does not have it.
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

}  // namespace

AlgorithmConfig CublasMatmul::ConfigOf(const cublasLtMatmulHeuristicResult_t& algorithm) const {
  AlgorithmConfig config;
  const auto get = [&](cublasLtMatmulAlgoConfigAttributes_t attribute, auto* value) {
    Get(*cublas_.functions, algorithm.algo, attribute, value);
  };
  get(CUBLASLT_ALGO_CONFIG_ID, &config.id);
  get(CUBLASLT_ALGO_CONFIG_TILE_ID, &config.tile);
  get(CUBLASLT_ALGO_CONFIG_STAGES_ID, &config.stages);
  get(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &config.split_k);
  get(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &config.reduction);
  get(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, &config.swizzle);
  get(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, &config.custom);
  get(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, &config.inner_shape);
  get(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, &config.cluster_shape);
  return config;
}

}  // namespace sinter
