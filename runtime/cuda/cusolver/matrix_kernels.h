// The kernels around cuSOLVER's and cuBLAS's calls (kernels/cuda/matrix/matrix_kernel.h), loaded for one GPU.
//
//   SINTER_ASSIGN_OR_RETURN(const std::unique_ptr<MatrixKernels> kernels, MatrixKernels::Load());
//   SINTER_RETURN_IF_ERROR(kernels->Copy({.from = x, .to = y, .batch = 4, ...}, stream));
//
// A call only launches, on the current GPU, which is that of Load; it can be captured, also in the body of a
// conditional node. Work without elements launches nothing.
#ifndef SINTER_RUNTIME_CUDA_CUSOLVER_MATRIX_KERNELS_H_
#define SINTER_RUNTIME_CUDA_CUSOLVER_MATRIX_KERNELS_H_

#include <cuda_runtime_api.h>

#include <memory>

#include "absl/status/statusor.h"
#include "sinter/kernels/cuda/matrix/matrix_kernel.h"

namespace sinter {

class MatrixKernels {
 public:
  static absl::StatusOr<std::unique_ptr<MatrixKernels>> Load();
  ~MatrixKernels();
  MatrixKernels(const MatrixKernels&) = delete;
  MatrixKernels& operator=(const MatrixKernels&) = delete;

  absl::Status Check(const kernels::MatrixCheckParameters& parameters, cudaStream_t stream) const;
  absl::Status Copy(const kernels::MatrixCopyParameters& parameters, cudaStream_t stream) const;
  absl::Status Pointers(const kernels::MatrixPointersParameters& parameters, cudaStream_t stream) const;
  absl::Status Permutation(const kernels::MatrixPermutationParameters& parameters, cudaStream_t stream) const;
  absl::Status Qr(const kernels::MatrixQrParameters& parameters, cudaStream_t stream) const;

 private:
  MatrixKernels() = default;

  cudaLibrary_t library_ = nullptr;
  const void *check_ = nullptr, *copy_ = nullptr, *pointers_ = nullptr, *permutation_ = nullptr,
             *qr_ = nullptr;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CUSOLVER_MATRIX_KERNELS_H_
