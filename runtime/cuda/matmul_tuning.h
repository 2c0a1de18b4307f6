// Measures which of cuBLASLt's algorithms is quickest for a product, at Load.
//
//   SINTER_ASSIGN_OR_RETURN(cublasLtMatmulHeuristicResult_t best, ChooseAlgorithm(context, product));
//
// Never at the price of bits: an algorithm is considered only if it gives the very bits of cuBLASLt's first choice on
// random operands, so that two loads that measure differently still compute the same. Within 2 % the earlier one wins.
// The choice for a product is kept for the life of the process.
//
// SINTER_GPU_TUNE=2 measures among all algorithms: within a process the same bits run after run, but another process, or
// another machine, may choose otherwise. SINTER_GPU_TUNE=0 takes cuBLASLt's first choice, as products do that are too small
// to time or whose operands have no room beside what is in use.
#ifndef SINTER_RUNTIME_CUDA_MATMUL_TUNING_H_
#define SINTER_RUNTIME_CUDA_MATMUL_TUNING_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/runtime/cuda/cublaslt_matmul.h"
#include "sinter/runtime/cuda/cuda_context.h"

namespace sinter {

// InvalidArgument: SINTER_GPU_TUNE is neither unset, 0, 1 nor 2.
absl::StatusOr<cublasLtMatmulHeuristicResult_t> ChooseAlgorithm(CudaContext& context, CublasMatmul& product);

// Which of `count` candidates to take, the first being right: candidate i counts if same_bits(i); it replaces the best so
// far if it takes less than 98 % of its time.
absl::StatusOr<size_t> ChooseQuickest(size_t count,
                                      const std::function<absl::StatusOr<bool>(size_t)>& same_bits,
                                      const std::function<absl::StatusOr<double>(size_t)>& seconds);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_MATMUL_TUNING_H_
