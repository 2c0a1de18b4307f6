// One product on operands of its own, to compare and time algorithms of cuBLASLt.
//
//   MatmulTrial trial(context, product);
//   SINTER_RETURN_IF_ERROR(trial.Prepare());                          // Takes trial.Bytes() of memory until the end.
//   SINTER_RETURN_IF_ERROR(trial.WarmUp(algorithms[0]));
//   SINTER_ASSIGN_OR_RETURN(double seconds, trial.Seconds(algorithms[1], /*launches=*/4));
//   SINTER_ASSIGN_OR_RETURN(std::vector<std::byte> results, trial.Results(algorithms[1]));
//
// Operands are the same in every process (trial_operands.h): random numbers to time algorithms with; to compare them, also such as
// show the order of sums.
#ifndef SINTER_RUNTIME_CUDA_CUBLAS_MATMUL_TRIAL_H_
#define SINTER_RUNTIME_CUDA_CUBLAS_MATMUL_TRIAL_H_

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
  MatmulTrial(CudaContext& context, CublasMatmul& product);
  // The memory goes back to all streams.
  ~MatmulTrial() { (void)cudaStreamSynchronize(context_.stream()); }
  MatmulTrial(const MatmulTrial&) = delete;
  MatmulTrial& operator=(const MatmulTrial&) = delete;

  int64_t Bytes() const;
  // ResourceExhausted: there is no room.
  absl::Status Prepare();
  // Keeps the GPU busy until its clocks are those of a long run: for long, unless this process has done so a moment ago.
  absl::Status WarmUp(const cublasLtMatmulHeuristicResult_t& algorithm);
  // The bytes of as many results as are compared, of several sets of operands. Leaves the operands as Prepare does.
  absl::StatusOr<std::vector<std::byte>> Results(const cublasLtMatmulHeuristicResult_t& algorithm);
  // Other operands, from a seed: random numbers, as Prepare makes them from 1; or factors whose terms cancel, with zeros for what
  // is added to the product.
  absl::Status FillRandom(uint64_t seed);
  absl::Status FillCancelling(uint64_t seed);
  // Adds the bytes of up to a million results to `to`: all, or pieces from the first to the last.
  absl::Status AddResults(const cublasLtMatmulHeuristicResult_t& algorithm, int round,
                          std::vector<std::byte>& to);
  // Of one launch, the mean of so many in a row.
  absl::StatusOr<double> Seconds(const cublasLtMatmulHeuristicResult_t& algorithm, int launches);

 private:
  absl::Status Launch(const cublasLtMatmulHeuristicResult_t& algorithm, int round);
  absl::Status Download(const std::byte* from, int64_t bytes, std::vector<std::byte>& to);

  CudaContext& context_;
  CublasMatmul& product_;
  // One behind the other in the memory; null where there is none.
  struct Part {
    int64_t bytes = 0;
    std::byte* ptr = nullptr;
  };
  Part a_, b_, bias_, addend_, scale_, preactivation_, result_, workspace_;
  Allocation memory_;
  std::map<uint64_t, CancellingFactors> cancelling_;  // By seed: each takes milliseconds to make.
  CudaEvent begin_, end_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CUBLAS_MATMUL_TRIAL_H_
