// cuSOLVER and cuBLAS for the steps of one GPU: handles on its stream, and kernels around their calls.
//
//   SINTER_ASSIGN_OR_RETURN(SolverSession* const session, SolverSession::Of(context));
//   SINTER_ASSIGN_OR_RETURN(const SolverHandle solver, session->Solver());
//   SINTER_RETURN_IF_ERROR(session->Call([&] { return CusolverStatus(solver.functions->Xpotrf(...)); }));
//
// A handle has memory of its own, so two calls with it must not run at once. Those of a stream follow each
// other; within Call, so do those of a capture's branches. One thread at a time.
#ifndef SINTER_RUNTIME_CUDA_CUSOLVER_SOLVER_SESSION_H_
#define SINTER_RUNTIME_CUDA_CUSOLVER_SOLVER_SESSION_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/cuda/context/cuda_context.h"
#include "sinter/runtime/cuda/cusolver/matrix_kernels.h"
#include "sinter/runtime/cuda/driver/cublas_library.h"
#include "sinter/runtime/cuda/driver/cusolver_library.h"
#include "sinter/runtime/memory/caching_allocator.h"

namespace sinter {

struct SolverHandle {
  const Cusolver* functions = nullptr;
  cusolverDnHandle_t handle = nullptr;
  cusolverDnParams_t parameters = nullptr;
  // Jacobi iterations: to the last bit, with sorted values.
  syevjInfo_t eigen_jacobi = nullptr;
  gesvdjInfo_t singular_jacobi = nullptr;
};

struct BlasHandle {
  const Cublas* functions = nullptr;
  cublasHandle_t handle = nullptr;
};

class SolverSession {
 public:
  // Returns the session of the context, which the first call makes. The context owns it.
  static absl::StatusOr<SolverSession*> Of(CudaContext& context);
  ~SolverSession();
  SolverSession(const SolverSession&) = delete;
  SolverSession& operator=(const SolverSession&) = delete;

  // FailedPrecondition: the library is not there (runtime/host/library_loader.h).
  absl::StatusOr<SolverHandle> Solver();
  absl::StatusOr<BlasHandle> Blas();
  const MatrixKernels& kernels() const { return *kernels_; }
  int index() const { return index_; }
  cudaStream_t stream() const { return stream_; }
  // Some memory of the GPU, for queries that want the address of a matrix and do not read it.
  void* any_memory() const { return any_memory_.ptr(); }

  // Returns the status of `work`, which enqueues on the stream.
  absl::Status Call(absl::FunctionRef<absl::Status()> work);

 private:
  explicit SolverSession(const CudaContext& context)
      : context_(context), index_(context.index()), stream_(context.stream()) {}
  absl::Status Make();
  absl::Status MakeSolver();
  absl::Status MakeBlas();

  // The nodes that the last call within a capture ended with.
  struct LastCall {
    cudaGraph_t graph = nullptr;
    unsigned long long capture = 0;
    std::vector<cudaGraphNode_t> nodes;
  };
  absl::Status ComeAfterLastCall();
  absl::Status NoteLastCall();

  const CudaContext& context_;
  int index_;
  cudaStream_t stream_;
  std::unique_ptr<MatrixKernels> kernels_;
  Allocation any_memory_, blas_workspace_;
  SolverHandle solver_;
  BlasHandle blas_;
  bool has_solver_ = false, has_blas_ = false;
  LastCall last_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CUSOLVER_SOLVER_SESSION_H_
