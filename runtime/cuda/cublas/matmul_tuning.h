// Chooses at Load which cuBLASLt algorithm computes a matmul: the tuning file's, else the fastest measured.
//
//   SINTER_ASSIGN_OR_RETURN(cublasLtMatmulHeuristicResult_t best, ChooseAlgorithm(context, matmul));
//
// By default the choice never changes the result's bits. An algorithm is a candidate only if it splits sums
// like cuBLASLt's first choice and gives exactly the same bits, on random operands and on operands that
// reveal the order of sums (trial_operands.h). So two loads with different measurements still compute the
// same. TuningMode::kAnyBits allows all algorithms: the bits are the same in every run of a process, and
// across processes if a tuning file stores the choice.
//
// The choice for a matmul is kept for the life of the process, and in the session for its tuning file
// (session_tuning.h). cuBLASLt's first choice is used unmeasured in TuningMode::kFirstChoice, for matmuls
// that are too small to time, and if the free memory does not fit the operands to measure with.
//
// An algorithm named in a tuning file must be one that cuBLASLt proposes. So it is the measured algorithm,
// even if its stored attributes are incomplete. If cuBLASLt does not propose it, a warning is reported and
// the matmul is measured.
#ifndef SINTER_RUNTIME_CUDA_CUBLAS_MATMUL_TUNING_H_
#define SINTER_RUNTIME_CUDA_CUBLAS_MATMUL_TUNING_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/runtime/cuda/context/cuda_context.h"
#include "sinter/runtime/cuda/cublas/cublaslt_matmul.h"
#include "sinter/runtime/device/tuning.h"
#include "sinter/runtime/device/tuning_file.h"

namespace sinter {

// Returns the chosen algorithm. InvalidArgument if SINTER_GPU_TUNE or SINTER_GPU_TUNE_SAVE is malformed.
absl::StatusOr<cublasLtMatmulHeuristicResult_t> ChooseAlgorithm(CudaContext& context, CublasMatmul& matmul);

// Returns the key under which the choice is stored.
TuningKey TuningKeyOf(const CudaDeviceInfo& device, std::string_view cublaslt_version,
                      const MatmulShape& shape);

struct MatmulCandidate {
  cublasLtMatmulHeuristicResult_t algorithm;
  AlgorithmConfig config;  // Unique among the candidates.
};
// Returns the algorithms to measure: those that cuBLASLt proposes, in its order.
absl::StatusOr<std::vector<MatmulCandidate>> CandidatesOf(const CublasMatmul& matmul);

// True if both split k into the same number of parts and add the parts in the same way.
bool SplitAlike(const AlgorithmConfig& a, const AlgorithmConfig& b);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CUBLAS_MATMUL_TUNING_H_
