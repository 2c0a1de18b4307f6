// Triangular factors and systems: Cholesky and LU by cuSOLVER and cuBLAS, triangular systems by cuBLAS.
#include <algorithm>

#include "sinter/runtime/cuda/driver/cuda_status.h"
#include "sinter/runtime/cuda/steps/library_calls.h"
#include "sinter/runtime/cuda/steps/matrix_steps.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

// Routines for batches are faster for matrices up to here: 1.8 ms instead of 3.3 for four factors of 1,024.
constexpr int64_t kMostBatchedSize = 1024;
// cuBLAS factors each matrix of a batch by one block. So it needs a batch to be faster: 0.28 ms instead of
// 12 for 64 of 128 rows, but 48 ms instead of 7 for 4 of 1,024.
constexpr int64_t kLuRowsAMatrix = 40;

MatrixShape SquareShape(std::span<const int64_t> parameters) {
  return {.is_f64 = parameters[0] == static_cast<int64_t>(DType::kF64),
          .batch = parameters[1],
          .rows = parameters[2],
          .columns = parameters[2]};
}

// The lower triangle of rows is the upper one of columns: U^T U = A in columns is L L^T = A in rows.
template <typename T>
class CholeskyStep : public MatrixStep {
 public:
  using MatrixStep::MatrixStep;

  CaptureLimit capture_limit() const override { return CaptureLimit::kNotInConditions; }

  absl::Status Load() override {
    SINTER_ASSIGN_OR_RETURN(solver_, session().Solver());
    const MatrixShape& s = shape();
    info_ = AddPart(static_cast<size_t>(s.batch) * sizeof(int));
    is_batched_ = s.batch > 1 && s.rows <= kMostBatchedSize;
    if (is_batched_) {
      list_ = AddPart(static_cast<size_t>(s.batch) * sizeof(void*));
      return absl::OkStatus();
    }
    size_t device = 0, host = 0;
    SINTER_RETURN_IF_ERROR(CusolverStatus(
        solver_.functions->XpotrfBufferSize(solver_.handle, solver_.parameters, CUBLAS_FILL_MODE_UPPER,
                                            s.rows, kCudaType<T>, session().any_memory(), s.rows,
                                            kCudaType<T>, &device, &host),
        "plan a Cholesky factor"));
    work_ = AddPart(device);
    on_host_.resize(host);
    return absl::OkStatus();
  }

 private:
  absl::Status Enqueue(const StepArgs& args) override {
    const MatrixShape& s = shape();
    const int64_t size = s.rows * s.rows;
    T* const l = static_cast<T*>(args.buffers[1]);
    int* const info = At<int>(args, info_);
    SINTER_RETURN_IF_ERROR(CopyBytes(l, args.buffers[0], static_cast<size_t>(s.batch * size) * sizeof(T)));
    SINTER_RETURN_IF_ERROR(is_batched_ ? FactorTogether(args, l, info) : FactorOneByOne(args, l, info));
    // A NaN reaches all later elements of the diagonal.
    return Copy({.from = l,
                 .to = l,
                 .info = info,
                 .batch = static_cast<uint64_t>(s.batch),
                 .rows = static_cast<uint64_t>(s.rows),
                 .columns = static_cast<uint64_t>(s.rows),
                 .stride = static_cast<uint64_t>(size),
                 .leading = static_cast<uint64_t>(s.rows),
                 .part = kernels::MatrixPart::kLower,
                 .checks_last = 1});
  }

  absl::Status FactorTogether(const StepArgs& args, T* l, int* info) const {
    const MatrixShape& s = shape();
    const int n = static_cast<int>(s.rows);
    T** const list = At<T*>(args, list_);
    SINTER_RETURN_IF_ERROR(ListMatrices({l, static_cast<size_t>(s.rows * s.rows) * sizeof(T), list}, {}));
    const Cusolver& f = *solver_.functions;
    return CusolverStatus(
        TypedOf<T>(f.SpotrfBatched, f.DpotrfBatched)(solver_.handle, CUBLAS_FILL_MODE_UPPER, n, list, n, info,
                                                     static_cast<int>(s.batch)),
        "find Cholesky factors");
  }

  absl::Status FactorOneByOne(const StepArgs& args, T* l, int* info) {
    const int64_t n = shape().rows;
    for (int64_t i = 0; i < shape().batch; ++i) {
      SINTER_RETURN_IF_ERROR(CusolverStatus(
          solver_.functions->Xpotrf(solver_.handle, solver_.parameters, CUBLAS_FILL_MODE_UPPER, n,
                                    kCudaType<T>, l + i * n * n, n, kCudaType<T>, At<void>(args, work_),
                                    work_.bytes, on_host_.data(), on_host_.size(), info + i),
          "find a Cholesky factor"));
    }
    return absl::OkStatus();
  }

  SolverHandle solver_;
  bool is_batched_ = false;
  Part info_, list_, work_;
  std::vector<std::byte> on_host_;
};

struct TriangleFlags {
  bool upper, transpose, unit_diagonal, right;
};

// The matrices are M = A^T in columns, and X^T and B^T. So A X = B is X^T M = B^T, X A = B is M X^T = B^T,
// and a transposed A is a transposed M.
template <typename T>
class TriangularSolveStep : public MatrixStep {
 public:
  // `shape` is that of b as columns sees it: `columns` is the number of sides.
  TriangularSolveStep(SolverSession& session, const MatrixShape& shape, const TriangleFlags& flags)
      : MatrixStep(session, shape), flags_(flags) {}

  absl::Status Load() override {
    SINTER_ASSIGN_OR_RETURN(blas_, session().Blas());
    is_batched_ = shape().batch > 1 && shape().rows <= kMostBatchedSize;
    if (!is_batched_) return absl::OkStatus();
    a_list_ = AddPart(static_cast<size_t>(shape().batch) * sizeof(void*));
    x_list_ = AddPart(static_cast<size_t>(shape().batch) * sizeof(void*));
    return absl::OkStatus();
  }

 private:
  absl::Status Enqueue(const StepArgs& args) override {
    const MatrixShape& s = shape();
    const int64_t n = s.rows, sides = s.columns;
    const T* const a = static_cast<const T*>(args.buffers[0]);
    T* const x = static_cast<T*>(args.buffers[2]);
    const size_t bytes_of_a = static_cast<size_t>(n * n) * sizeof(T);
    const size_t bytes_of_x = static_cast<size_t>(n * sides) * sizeof(T);
    SINTER_RETURN_IF_ERROR(CopyBytes(x, args.buffers[1], static_cast<size_t>(s.batch) * bytes_of_x));
    const cublasSideMode_t side = flags_.right ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT;
    const cublasFillMode_t triangle = flags_.upper ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
    const cublasOperation_t operation = flags_.transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasDiagType_t diagonal = flags_.unit_diagonal ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
    const int64_t rows = flags_.right ? n : sides, columns = flags_.right ? sides : n;
    const T one = 1;
    const Cublas& f = *blas_.functions;
    if (is_batched_) {
      T** const a_list = At<T*>(args, a_list_);
      T** const x_list = At<T*>(args, x_list_);
      SINTER_RETURN_IF_ERROR(ListMatrices({a, bytes_of_a, a_list}, {x, bytes_of_x, x_list}));
      return CublasStatus(
          TypedOf<T>(f.StrsmBatched, f.DtrsmBatched)(blas_.handle, side, triangle, operation, diagonal, rows,
                                                     columns, &one, a_list, n, x_list, rows, s.batch),
          "solve triangular systems", "cuBLAS");
    }
    for (int64_t i = 0; i < s.batch; ++i) {
      SINTER_RETURN_IF_ERROR(
          CublasStatus(TypedOf<T>(f.Strsm, f.Dtrsm)(blas_.handle, side, triangle, operation, diagonal, rows,
                                                    columns, &one, a + i * n * n, n, x + i * n * sides, rows),
                       "solve a triangular system", "cuBLAS"));
    }
    return absl::OkStatus();
  }

  const TriangleFlags flags_;
  BlasHandle blas_;
  bool is_batched_ = false;
  Part a_list_, x_list_;
};

// The factors of a transposed matrix are others. So a copy of the operand is transposed, and its factors are
// transposed back. `Pivot` is the type of the library's interchanges.
template <typename T>
class LuStep : public MatrixStep {
 public:
  using MatrixStep::MatrixStep;

  CaptureLimit capture_limit() const override {
    return is_batched_ ? CaptureLimit::kAnywhere : CaptureLimit::kNotInConditions;
  }

  absl::Status Load() override {
    const MatrixShape& s = shape();
    is_batched_ = s.batch > 1 && s.rows <= kMostBatchedSize && s.rows <= kLuRowsAMatrix * s.batch;
    copy_ = AddElements(s.batch * s.rows * s.rows);
    pivots_ = AddPart(static_cast<size_t>(s.batch * s.rows) * (is_batched_ ? sizeof(int) : sizeof(int64_t)));
    info_ = AddPart(static_cast<size_t>(s.batch) * sizeof(int));
    if (is_batched_) {
      SINTER_ASSIGN_OR_RETURN(blas_, session().Blas());
      list_ = AddPart(static_cast<size_t>(s.batch) * sizeof(void*));
      return absl::OkStatus();
    }
    SINTER_ASSIGN_OR_RETURN(solver_, session().Solver());
    size_t device = 0, host = 0;
    SINTER_RETURN_IF_ERROR(CusolverStatus(
        solver_.functions->XgetrfBufferSize(solver_.handle, solver_.parameters, s.rows, s.rows, kCudaType<T>,
                                            session().any_memory(), s.rows, kCudaType<T>, &device, &host),
        "plan LU factors"));
    work_ = AddPart(device);
    on_host_.resize(host);
    return absl::OkStatus();
  }

 private:
  absl::Status Enqueue(const StepArgs& args) override {
    T* const copy = At<T>(args, copy_);
    SINTER_RETURN_IF_ERROR(Transpose(args.buffers[0], copy));
    SINTER_RETURN_IF_ERROR(is_batched_ ? FactorTogether(args, copy) : FactorOneByOne(args, copy));
    SINTER_RETURN_IF_ERROR(
        session().kernels().Permutation({.pivots = At<void>(args, pivots_),
                                         .permutation = static_cast<int32_t*>(args.buffers[2]),
                                         .batch = static_cast<uint64_t>(shape().batch),
                                         .size = static_cast<uint64_t>(shape().rows),
                                         .is_i64 = is_batched_ ? 0u : 1u},
                                        stream()));
    return Transpose(copy, args.buffers[1]);
  }

  absl::Status Transpose(const void* from, void* to) const {
    const auto n = static_cast<uint64_t>(shape().rows);
    return Copy({.from = from,
                 .to = to,
                 .batch = static_cast<uint64_t>(shape().batch),
                 .rows = n,
                 .columns = n,
                 .stride = n * n,
                 .leading = n,
                 .is_transposed = 1});
  }

  absl::Status FactorTogether(const StepArgs& args, T* copy) const {
    const MatrixShape& s = shape();
    const int n = static_cast<int>(s.rows);
    T** const list = At<T*>(args, list_);
    SINTER_RETURN_IF_ERROR(ListMatrices({copy, static_cast<size_t>(s.rows * s.rows) * sizeof(T), list}, {}));
    const Cublas& f = *blas_.functions;
    return CublasStatus(
        TypedOf<T>(f.SgetrfBatched, f.DgetrfBatched)(blas_.handle, n, list, n, At<int>(args, pivots_),
                                                     At<int>(args, info_), static_cast<int>(s.batch)),
        "find LU factors", "cuBLAS");
  }

  absl::Status FactorOneByOne(const StepArgs& args, T* copy) {
    const int64_t n = shape().rows;
    for (int64_t i = 0; i < shape().batch; ++i) {
      SINTER_RETURN_IF_ERROR(CusolverStatus(
          solver_.functions->Xgetrf(solver_.handle, solver_.parameters, n, n, kCudaType<T>, copy + i * n * n,
                                    n, At<int64_t>(args, pivots_) + i * n, kCudaType<T>,
                                    At<void>(args, work_), work_.bytes, on_host_.data(), on_host_.size(),
                                    At<int>(args, info_) + i),
          "find LU factors"));
    }
    return absl::OkStatus();
  }

  SolverHandle solver_;
  BlasHandle blas_;
  bool is_batched_ = false;
  Part copy_, pivots_, info_, list_, work_;
  std::vector<std::byte> on_host_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Step>> MakeCudaCholeskyStep(CudaContext& context, std::string_view,
                                                           std::span<const int64_t> parameters) {
  const MatrixShape shape = SquareShape(parameters);
  if (shape.batch == 0 || shape.rows == 0) return MakeEmptyStep();
  return shape.is_f64 ? MakeMatrixStep<CholeskyStep<double>>(context, shape)
                      : MakeMatrixStep<CholeskyStep<float>>(context, shape);
}

absl::StatusOr<std::unique_ptr<Step>> MakeCudaTriangularSolveStep(CudaContext& context, std::string_view,
                                                                  std::span<const int64_t> p) {
  MatrixShape shape = SquareShape(p);
  shape.columns = p[3];
  if (shape.batch == 0 || shape.rows == 0 || shape.columns == 0) return MakeEmptyStep();
  const TriangleFlags flags = {p[4] != 0, p[5] != 0, p[6] != 0, p[7] != 0};
  return shape.is_f64 ? MakeMatrixStep<TriangularSolveStep<double>>(context, shape, flags)
                      : MakeMatrixStep<TriangularSolveStep<float>>(context, shape, flags);
}

absl::StatusOr<std::unique_ptr<Step>> MakeCudaLuStep(CudaContext& context, std::string_view,
                                                     std::span<const int64_t> parameters) {
  const MatrixShape shape = SquareShape(parameters);
  if (shape.batch == 0 || shape.rows == 0) return MakeEmptyStep();
  return shape.is_f64 ? MakeMatrixStep<LuStep<double>>(context, shape)
                      : MakeMatrixStep<LuStep<float>>(context, shape);
}

}  // namespace sinter
