// Chooses which of cuBLASLt's algorithms computes a product, at Load: as the tuning file says, else by measuring.
//
//   SINTER_ASSIGN_OR_RETURN(cublasLtMatmulHeuristicResult_t best, ChooseAlgorithm(context, product));
//
// By default never at the price of bits: an algorithm is considered only if it splits sums as cuBLASLt's first choice does, and
// gives its very bits on random operands and on such as show the order of sums (trial_operands.h), so that two loads that
// measure differently still compute the same. In TuningMode::kAnyBits all are considered: within a process the same bits run
// after run, and in others too if a tuning file keeps the choice.
//
// The choice for a product is kept for the life of the process, and by the session for its file (runtime/device/session_tuning.h).
// cuBLASLt's first choice is taken unmeasured in TuningMode::kFirstChoice, for products that are too small to time, and where
// operands to measure with have no room beside what is in use.
//
// An algorithm of a file is looked for among those that cuBLASLt proposes, so that it is the one that was measured whatever
// its attributes leave unsaid. One that is none of them is reported, and the product measured.
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

// InvalidArgument: SINTER_GPU_TUNE or SINTER_GPU_TUNE_SAVE cannot be read.
absl::StatusOr<cublasLtMatmulHeuristicResult_t> ChooseAlgorithm(CudaContext& context, CublasMatmul& product);

// What the choice is kept under.
ProductKey ProductKeyOf(const CudaDeviceInfo& device, std::string_view cublaslt_version,
                        const MatmulShape& shape);

struct MatmulCandidate {
  cublasLtMatmulHeuristicResult_t algorithm;
  AlgorithmConfig config;  // Each another one.
};
// Those that are measured: what cuBLASLt proposes, its first choice first.
absl::StatusOr<std::vector<MatmulCandidate>> CandidatesOf(const CublasMatmul& product);

// True if both sum k in as many parts, and add these up in the same way.
bool SplitAlike(const AlgorithmConfig& a, const AlgorithmConfig& b);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CUBLAS_MATMUL_TUNING_H_
