// Runs one matmul on generated operands, to compare and time cuBLASLt algorithms.
//
//   MatmulTrial trial(context, matmul);
//   SINTER_RETURN_IF_ERROR(trial.Prepare());                          // Holds trial.Bytes() of memory.
//   SINTER_RETURN_IF_ERROR(trial.WarmUp(algorithms[0]));
//   SINTER_ASSIGN_OR_RETURN(double seconds, trial.Seconds(algorithms[1], /*launches=*/4));
//   SINTER_ASSIGN_OR_RETURN(std::vector<std::byte> results, trial.Results(algorithms[1]));
//
// Operands are the same in every process (trial_operands.h). Timing uses random numbers. Comparing also uses
// operands that reveal the order of sums.
#ifndef SINTER_RUNTIME_CUDA_CUBLAS_MATMUL_TRIAL_H_
#define SINTER_RUNTIME_CUDA_CUBLAS_MATMUL_TRIAL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/cuda/context/cuda_context.h"
#include "sinter/runtime/cuda/context/trial_operands.h"
#include "sinter/runtime/cuda/cublas/cublaslt_matmul.h"
#include "sinter/runtime/cuda/driver/cuda_handles.h"
#include "sinter/runtime/memory/caching_allocator.h"

namespace sinter {

class MatmulTrial {
 public:
  MatmulTrial(CudaContext& context, CublasMatmul& matmul);
  // The freed memory may be reused on any stream, so the GPU's work must be complete.
  ~MatmulTrial() { (void)cudaStreamSynchronize(context_.stream()); }
  MatmulTrial(const MatmulTrial&) = delete;
  MatmulTrial& operator=(const MatmulTrial&) = delete;

  int64_t Bytes();
  // Allocates and fills the operands. ResourceExhausted if the GPU has too little memory.
  absl::Status Prepare();
  // Keeps the GPU busy until it reaches the clock rate of a long run. This takes much less time if this
  // process warmed the GPU up a moment ago.
  absl::Status WarmUp(const cublasLtMatmulHeuristicResult_t& algorithm);
  // Returns the bytes of the compared results, for several sets of operands. Restores the operands of
  // Prepare.
  absl::StatusOr<std::vector<std::byte>> Results(const cublasLtMatmulHeuristicResult_t& algorithm);
  // Fill the operands from a seed. FillRandom uses random numbers (Prepare uses seed 1). FillCancelling uses
  // factors whose terms cancel, and zeros for the other inputs that are added to the matmul.
  absl::Status FillRandom(uint64_t seed);
  absl::Status FillCancelling(uint64_t seed);
  // Appends the bytes of up to a million results to `to`: all results, or evenly spaced pieces from the first
  // to the last.
  absl::Status AddResults(const cublasLtMatmulHeuristicResult_t& algorithm, int round,
                          std::vector<std::byte>& to);
  // Returns the seconds of one launch, averaged over `launches` launches in a row.
  absl::StatusOr<double> Seconds(const cublasLtMatmulHeuristicResult_t& algorithm, int launches);

 private:
  absl::Status Launch(const cublasLtMatmulHeuristicResult_t& algorithm, int round);
  absl::Status Download(const std::byte* from, int64_t bytes, std::vector<std::byte>& to);

  CudaContext& context_;
  CublasMatmul& matmul_;
  // Contiguous parts of memory_; null if absent.
  struct Part {
    int64_t bytes = 0;
    std::byte* ptr = nullptr;
  };
  Part a_, b_, bias_, addend_, scale_, preactivation_, scale_a_, scale_b_, result_, workspace_;
  std::array<Part*, 10> Parts() {
    return {&a_,       &b_,       &bias_,   &addend_,   &scale_, &preactivation_,
            &scale_a_, &scale_b_, &result_, &workspace_};
  }
  Allocation memory_;
  std::map<uint64_t, CancellingFactors> cancelling_;  // By seed; each takes milliseconds to make.
  CudaEvent begin_, end_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CUBLAS_MATMUL_TRIAL_H_
