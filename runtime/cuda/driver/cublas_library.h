// Function pointers of cuBLAS, loaded on first use: triangular systems, and LU factors of batches.
//
//   SINTER_ASSIGN_OR_RETURN(const Cublas* cublas, LoadCublas());
//   SINTER_RETURN_IF_ERROR(CublasStatus(cublas->Create(&handle), "make a handle", "cuBLAS"));
//
// Matmuls are cuBLASLt's (cublaslt_library.h).
#ifndef SINTER_RUNTIME_CUDA_DRIVER_CUBLAS_LIBRARY_H_
#define SINTER_RUNTIME_CUDA_DRIVER_CUBLAS_LIBRARY_H_

#include <cublas_v2.h>

#include "absl/status/statusor.h"

namespace sinter {

struct Cublas {
  decltype(&cublasGetProperty) GetProperty;
  decltype(&cublasCreate_v2) Create;
  decltype(&cublasDestroy_v2) Destroy;
  decltype(&cublasSetStream_v2) SetStream;
  decltype(&cublasSetWorkspace_v2) SetWorkspace;
  decltype(&cublasStrsm_v2_64) Strsm;
  decltype(&cublasDtrsm_v2_64) Dtrsm;
  decltype(&cublasStrsmBatched_64) StrsmBatched;
  decltype(&cublasDtrsmBatched_64) DtrsmBatched;
  decltype(&cublasSgetrfBatched) SgetrfBatched;
  decltype(&cublasDgetrfBatched) DgetrfBatched;
};

// Returns the same pointer for the life of the process. FailedPrecondition as in library_loader.h; a failed
// load is retried on the next call.
absl::StatusOr<const Cublas*> LoadCublas();

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_DRIVER_CUBLAS_LIBRARY_H_
