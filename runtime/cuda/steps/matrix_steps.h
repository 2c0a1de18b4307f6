// Factors of matrices, and triangular systems, on a GPU: what their steps have in common.
//
//   class LuStep : public MatrixStep { ... absl::Status Enqueue(const StepArgs& args) override; };
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<Step> step, MakeMatrixStep<LuStep>(context, shape));
//
// Parameters and operands are those of the kernels in kernels/cpu/catalog/matrices.cc. Sinter's matrices are
// row-major, and cuSOLVER's and cuBLAS's are column-major: the same memory is there a transposed matrix, and
// a lower triangle an upper one. A step makes its calls within SolverSession::Call.
//
// Sizes decide which routine computes a step. The limits are times on an H200 with cuSOLVER 12.0.4.
#ifndef SINTER_RUNTIME_CUDA_STEPS_MATRIX_STEPS_H_
#define SINTER_RUNTIME_CUDA_STEPS_MATRIX_STEPS_H_

#include <library_types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/runtime/cuda/cusolver/solver_session.h"
#include "sinter/runtime/device/step.h"

namespace sinter {

struct MatrixShape {
  bool is_f64 = false;
  int64_t batch = 1, rows = 1, columns = 1;  // At least 1.

  size_t element_bytes() const { return is_f64 ? sizeof(double) : sizeof(float); }
};

class MatrixStep : public Step {
 public:
  MatrixStep(SolverSession& session, const MatrixShape& shape) : session_(session), shape_(shape) {}

  // Opens handles and asks for workspaces. Called once, before everything else.
  virtual absl::Status Load() = 0;
  size_t LibraryWorkspaceBytes() const override { return workspace_bytes_; }
  absl::Status Run(const StepArgs& args) override;

 protected:
  // A part of the library workspace.
  struct Part {
    size_t offset = 0, bytes = 0;
  };
  Part AddPart(size_t bytes);
  Part AddElements(int64_t elements) { return AddPart(static_cast<size_t>(elements) * bytes_of_element()); }
  // cuSOLVER counts some workspaces in elements, as int.
  absl::Status AddWork(int elements, Part* part);

  template <typename T>
  static T* At(const StepArgs& args, const Part& part) {
    return reinterpret_cast<T*>(static_cast<std::byte*>(args.library_workspace) + part.offset);
  }

  virtual absl::Status Enqueue(const StepArgs& args) = 0;

  size_t bytes_of_element() const { return shape_.element_bytes(); }
  SolverSession& session() const { return session_; }
  const MatrixShape& shape() const { return shape_; }
  cudaStream_t stream() const { return session_.stream(); }

  // Launches of MatrixKernels.
  absl::Status Copy(kernels::MatrixCopyParameters parameters) const;
  // Fills `bad`: of matrices `from` of the step's shape, or of their lower triangles.
  absl::Status Check(const void* from, uint32_t* bad, bool only_lower) const;
  struct Matrices {
    const void* first = nullptr;  // Null: none.
    size_t bytes = 0;             // From one to the next.
    void* list = nullptr;
  };
  absl::Status ListMatrices(const Matrices& a, const Matrices& b) const;
  absl::Status CopyBytes(void* to, const void* from, size_t bytes) const;
  absl::Status Clear(void* to, size_t bytes) const;

 private:
  SolverSession& session_;
  const MatrixShape shape_;
  size_t workspace_bytes_ = 0;
};

// Returns the function that is for the element type.
template <typename T, typename Single, typename Double>
auto TypedOf(Single single, Double of_double) {
  if constexpr (std::is_same_v<T, double>) {
    return of_double;
  } else {
    return single;
  }
}

template <typename T>
inline constexpr cudaDataType kCudaType = std::is_same_v<T, double> ? CUDA_R_64F : CUDA_R_32F;

template <typename StepOfType, typename... Arguments>
absl::StatusOr<std::unique_ptr<Step>> MakeMatrixStep(CudaContext& context, const MatrixShape& shape,
                                                     Arguments&&... arguments) {
  SINTER_ASSIGN_OR_RETURN(SolverSession* const session, SolverSession::Of(context));
  auto step = std::make_unique<StepOfType>(*session, shape, std::forward<Arguments>(arguments)...);
  if (absl::Status status = step->Load(); !status.ok()) return status;
  return step;
}

// Makers, as in library_calls.h. Dimensions are at most kMostGpuMatrixSize (runtime/plan/gpu_limits.h).
absl::StatusOr<std::unique_ptr<Step>> MakeCudaCholeskyStep(CudaContext& context, std::string_view kernel,
                                                           std::span<const int64_t> parameters);
absl::StatusOr<std::unique_ptr<Step>> MakeCudaTriangularSolveStep(CudaContext& context,
                                                                  std::string_view kernel,
                                                                  std::span<const int64_t> parameters);
absl::StatusOr<std::unique_ptr<Step>> MakeCudaLuStep(CudaContext& context, std::string_view kernel,
                                                     std::span<const int64_t> parameters);
absl::StatusOr<std::unique_ptr<Step>> MakeCudaQrStep(CudaContext& context, std::string_view kernel,
                                                     std::span<const int64_t> parameters);
absl::StatusOr<std::unique_ptr<Step>> MakeCudaEighStep(CudaContext& context, std::string_view kernel,
                                                       std::span<const int64_t> parameters);
absl::StatusOr<std::unique_ptr<Step>> MakeCudaSvdStep(CudaContext& context, std::string_view kernel,
                                                      std::span<const int64_t> parameters);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_STEPS_MATRIX_STEPS_H_
