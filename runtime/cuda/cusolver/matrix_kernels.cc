#include "sinter/runtime/cuda/cusolver/matrix_kernels.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "sinter/runtime/cuda/driver/cuda_status.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

// Enough for every GPU. The blocks of a larger grid would only follow each other.
constexpr uint64_t kMostMatrixBlocks = 16384;

template <typename Parameters>
absl::Status StartMatrixKernel(const void* kernel, const Parameters& parameters, uint64_t blocks,
                               cudaStream_t stream) {
  if (blocks == 0) return absl::OkStatus();
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<uint32_t>(std::min(blocks, kMostMatrixBlocks)));
  config.blockDim = dim3(kernels::kMatrixThreads);
  config.stream = stream;
  void* arguments[] = {const_cast<Parameters*>(&parameters)};
  return CudaStatus(cudaLaunchKernelExC(&config, kernel, arguments), "start a kernel of matrices");
}

constexpr uint64_t CeilOf(uint64_t count, uint64_t unit) { return (count + unit - 1) / unit; }

}  // namespace

absl::StatusOr<std::unique_ptr<MatrixKernels>> MatrixKernels::Load() {
  std::unique_ptr<MatrixKernels> made(new MatrixKernels);
  SINTER_RETURN_IF_ERROR(CudaStatus(
      cudaLibraryLoadData(&made->library_, kernels::MatrixPtx(), nullptr, nullptr, 0, nullptr, nullptr, 0),
      "load the kernels of matrices"));
  for (const auto& [name, found] : {std::pair(kernels::kMatrixCheckKernel, &made->check_),
                                    std::pair(kernels::kMatrixCopyKernel, &made->copy_),
                                    std::pair(kernels::kMatrixPointersKernel, &made->pointers_),
                                    std::pair(kernels::kMatrixPermutationKernel, &made->permutation_),
                                    std::pair(kernels::kMatrixQrKernel, &made->qr_)}) {
    cudaKernel_t kernel = nullptr;
    SINTER_RETURN_IF_ERROR(
        CudaStatus(cudaLibraryGetKernel(&kernel, made->library_, name), "find a kernel of matrices"));
    *found = reinterpret_cast<const void*>(kernel);
    // Loads the kernel: a capture cannot.
    cudaFuncAttributes attributes = {};
    SINTER_RETURN_IF_ERROR(
        CudaStatus(cudaFuncGetAttributes(&attributes, *found), "load a kernel of matrices"));
  }
  return made;
}

MatrixKernels::~MatrixKernels() {
  if (library_ != nullptr) (void)cudaLibraryUnload(library_);
}

absl::Status MatrixKernels::Check(const kernels::MatrixCheckParameters& p, cudaStream_t stream) const {
  return StartMatrixKernel(check_, p, CeilOf(p.batch * p.size, kernels::kMatrixThreads), stream);
}

absl::Status MatrixKernels::Copy(const kernels::MatrixCopyParameters& p, cudaStream_t stream) const {
  const uint64_t tiles =
      p.batch * CeilOf(p.rows, kernels::kMatrixTile) * CeilOf(p.columns, kernels::kMatrixTile);
  return StartMatrixKernel(copy_, p, tiles, stream);
}

absl::Status MatrixKernels::Pointers(const kernels::MatrixPointersParameters& p, cudaStream_t stream) const {
  return StartMatrixKernel(pointers_, p, CeilOf(p.count, kernels::kMatrixThreads), stream);
}

absl::Status MatrixKernels::Permutation(const kernels::MatrixPermutationParameters& p,
                                        cudaStream_t stream) const {
  return StartMatrixKernel(permutation_, p, p.size == 0 ? 0 : p.batch, stream);
}

absl::Status MatrixKernels::Qr(const kernels::MatrixQrParameters& p, cudaStream_t stream) const {
  return StartMatrixKernel(qr_, p, p.batch, stream);
}

}  // namespace sinter
