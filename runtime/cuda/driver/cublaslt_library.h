// Function pointers of cuBLASLt, loaded on first use.
//
//   SINTER_ASSIGN_OR_RETURN(const CublasLt* cublas, LoadCublasLt());
//   SINTER_RETURN_IF_ERROR(CublasStatus(cublas->Create(&handle), "make a handle"));
#ifndef SINTER_RUNTIME_CUDA_DRIVER_CUBLASLT_LIBRARY_H_
#define SINTER_RUNTIME_CUDA_DRIVER_CUBLASLT_LIBRARY_H_

#include <cublasLt.h>

#include <string>

#include "absl/status/statusor.h"

namespace sinter {

struct CublasLt {
  decltype(&cublasLtGetVersion) GetVersion;
  decltype(&cublasLtCreate) Create;
  decltype(&cublasLtDestroy) Destroy;
  decltype(&cublasLtMatmul) Matmul;
  decltype(&cublasLtMatmulDescCreate) MatmulDescCreate;
  decltype(&cublasLtMatmulDescDestroy) MatmulDescDestroy;
  decltype(&cublasLtMatmulDescSetAttribute) MatmulDescSetAttribute;
  decltype(&cublasLtMatrixLayoutCreate) MatrixLayoutCreate;
  decltype(&cublasLtMatrixLayoutDestroy) MatrixLayoutDestroy;
  decltype(&cublasLtMatrixLayoutSetAttribute) MatrixLayoutSetAttribute;
  decltype(&cublasLtMatmulPreferenceCreate) MatmulPreferenceCreate;
  decltype(&cublasLtMatmulPreferenceDestroy) MatmulPreferenceDestroy;
  decltype(&cublasLtMatmulPreferenceSetAttribute) MatmulPreferenceSetAttribute;
  decltype(&cublasLtMatmulAlgoGetHeuristic) MatmulAlgoGetHeuristic;
  decltype(&cublasLtMatmulAlgoConfigGetAttribute) MatmulAlgoConfigGetAttribute;
};

// Returns the version of the loaded library, such as "13.1.0".
std::string VersionOf(const CublasLt& cublas);

// Returns the same pointer for the life of the process. FailedPrecondition as in library_loader.h; a failed
// load is retried on the next call.
absl::StatusOr<const CublasLt*> LoadCublasLt();

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_DRIVER_CUBLASLT_LIBRARY_H_
