// Function pointers of cuSOLVER, loaded on first use: factors of dense matrices.
//
//   SINTER_ASSIGN_OR_RETURN(const Cusolver* cusolver, LoadCusolver());
//   SINTER_RETURN_IF_ERROR(CusolverStatus(cusolver->Create(&handle), "make a handle"));
//
// The library opens cuBLAS, cuBLASLt, cuSPARSE and nvJitLink itself, from its own folder.
#ifndef SINTER_RUNTIME_CUDA_DRIVER_CUSOLVER_LIBRARY_H_
#define SINTER_RUNTIME_CUDA_DRIVER_CUSOLVER_LIBRARY_H_

#include <cusolverDn.h>

#include "absl/status/statusor.h"

namespace sinter {

struct Cusolver {
  decltype(&cusolverGetProperty) GetProperty;
  decltype(&cusolverDnCreate) Create;
  decltype(&cusolverDnDestroy) Destroy;
  decltype(&cusolverDnSetStream) SetStream;
  decltype(&cusolverDnSetDeterministicMode) SetDeterministicMode;
  decltype(&cusolverDnCreateParams) CreateParams;
  decltype(&cusolverDnDestroyParams) DestroyParams;
  decltype(&cusolverDnCreateSyevjInfo) CreateSyevjInfo;
  decltype(&cusolverDnDestroySyevjInfo) DestroySyevjInfo;
  decltype(&cusolverDnCreateGesvdjInfo) CreateGesvdjInfo;
  decltype(&cusolverDnDestroyGesvdjInfo) DestroyGesvdjInfo;
  decltype(&cusolverDnXpotrf_bufferSize) XpotrfBufferSize;
  decltype(&cusolverDnXpotrf) Xpotrf;
  decltype(&cusolverDnSpotrfBatched) SpotrfBatched;
  decltype(&cusolverDnDpotrfBatched) DpotrfBatched;
  decltype(&cusolverDnXgetrf_bufferSize) XgetrfBufferSize;
  decltype(&cusolverDnXgetrf) Xgetrf;
  decltype(&cusolverDnXgeqrf_bufferSize) XgeqrfBufferSize;
  decltype(&cusolverDnXgeqrf) Xgeqrf;
  decltype(&cusolverDnSorgqr_bufferSize) SorgqrBufferSize;
  decltype(&cusolverDnDorgqr_bufferSize) DorgqrBufferSize;
  decltype(&cusolverDnSorgqr) Sorgqr;
  decltype(&cusolverDnDorgqr) Dorgqr;
  decltype(&cusolverDnSsyevjBatched_bufferSize) SsyevjBatchedBufferSize;
  decltype(&cusolverDnDsyevjBatched_bufferSize) DsyevjBatchedBufferSize;
  decltype(&cusolverDnSsyevjBatched) SsyevjBatched;
  decltype(&cusolverDnDsyevjBatched) DsyevjBatched;
  decltype(&cusolverDnXsyevBatched_bufferSize) XsyevBatchedBufferSize;
  decltype(&cusolverDnXsyevBatched) XsyevBatched;
  decltype(&cusolverDnXsyevd_bufferSize) XsyevdBufferSize;
  decltype(&cusolverDnXsyevd) Xsyevd;
  decltype(&cusolverDnSgesvdjBatched_bufferSize) SgesvdjBatchedBufferSize;
  decltype(&cusolverDnDgesvdjBatched_bufferSize) DgesvdjBatchedBufferSize;
  decltype(&cusolverDnSgesvdjBatched) SgesvdjBatched;
  decltype(&cusolverDnDgesvdjBatched) DgesvdjBatched;
  decltype(&cusolverDnSgesvdj_bufferSize) SgesvdjBufferSize;
  decltype(&cusolverDnDgesvdj_bufferSize) DgesvdjBufferSize;
  decltype(&cusolverDnSgesvdj) Sgesvdj;
  decltype(&cusolverDnDgesvdj) Dgesvdj;
};

// Returns the same pointer for the life of the process. FailedPrecondition as in library_loader.h; a failed
// load is retried on the next call.
absl::StatusOr<const Cusolver*> LoadCusolver();

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_DRIVER_CUSOLVER_LIBRARY_H_
