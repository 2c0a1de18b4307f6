// Eigenvalues and singular values, by cuSOLVER. Matrices with elements that are not finite are replaced by
// others before, because an iteration may not end with them, and their results by NaN.
#include <algorithm>
#include <utility>

#include "sinter/runtime/cuda/driver/cuda_status.h"
#include "sinter/runtime/cuda/steps/library_calls.h"
#include "sinter/runtime/cuda/steps/matrix_steps.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

// Jacobi iterations of a batch, in one kernel: 0.23 ms for 512 matrices of 32 rows, where XsyevBatched takes
// 0.36, and 180 MB of workspace.
constexpr int64_t kMostEighJacobi = 32;
// XsyevBatched cannot be captured for more: here 512 could be, and 1,024 could not. For one matrix of 1,024
// rows it takes 18 ms where Xsyevd takes 10.
constexpr int64_t kMostEighBatched = 512;
// XsyevBatched takes the matrices of a batch in groups, whose workspace is at most so large.
constexpr size_t kMostGroupBytes = size_t{256} << 20;
// gesvdjBatched takes no larger ones.
constexpr int64_t kMostSvdBatched = 32;

// The triangle of a matrix in columns that is the lower one of rows.
constexpr cublasFillMode_t kLowerOfRows = CUBLAS_FILL_MODE_UPPER;

// The step of eigenvalues or of singular values.
class SpectrumStep : public MatrixStep {
 public:
  using MatrixStep::MatrixStep;

 protected:
  absl::Status LoadCommon() {
    SINTER_ASSIGN_OR_RETURN(solver_, session().Solver());
    bad_ = AddPart(static_cast<size_t>(shape().batch) * sizeof(uint32_t));
    info_ = AddPart(static_cast<size_t>(shape().batch) * sizeof(int));
    return absl::OkStatus();
  }

  const SolverHandle& solver() const { return solver_; }
  uint32_t* bad(const StepArgs& args) const { return At<uint32_t>(args, bad_); }
  int* info(const StepArgs& args) const { return At<int>(args, info_); }

  // Writes results of `count` matrices from number `first` on.
  struct Results {
    const void* from = nullptr;
    void* to = nullptr;
    int64_t rows = 0, columns = 0, leading = 0, stride = 0;
    bool is_transposed = false;
    int64_t first = 0, count = 0;
  };
  absl::Status Give(const StepArgs& args, const Results& r) const {
    return Copy({.from = r.from,
                 .to = r.to,
                 .bad = bad(args) + r.first,
                 .info = info(args) + r.first,
                 .batch = static_cast<uint64_t>(r.count),
                 .rows = static_cast<uint64_t>(r.rows),
                 .columns = static_cast<uint64_t>(r.columns),
                 .stride = static_cast<uint64_t>(r.stride),
                 .leading = static_cast<uint64_t>(r.leading),
                 .is_transposed = r.is_transposed ? 1u : 0u});
  }
  // The values of all matrices, `count` of each.
  absl::Status GiveValues(const StepArgs& args, void* values, int64_t count) const {
    return Give(args, {.from = values,
                       .to = values,
                       .rows = 1,
                       .columns = count,
                       .leading = count,
                       .stride = count,
                       .count = shape().batch});
  }

 private:
  SolverHandle solver_;
  Part bad_, info_;
};

// Eigenvectors, the columns of a matrix in columns, are rows in memory.
template <typename T>
class EighStep : public SpectrumStep {
 public:
  using SpectrumStep::SpectrumStep;

  CaptureLimit capture_limit() const override {
    return shape().rows <= kMostEighBatched ? CaptureLimit::kNotInConditions : CaptureLimit::kNowhere;
  }

  absl::Status Load() override {
    SINTER_RETURN_IF_ERROR(LoadCommon());
    copy_ = AddElements(shape().batch * size());
    if (rows() <= kMostEighJacobi) return LoadJacobi();
    return rows() <= kMostEighBatched ? LoadGroups() : LoadOneByOne();
  }

 private:
  int64_t rows() const { return shape().rows; }
  int64_t size() const { return shape().rows * shape().rows; }

  absl::Status LoadJacobi() {
    const Cusolver& f = *solver().functions;
    const T* const any = static_cast<const T*>(session().any_memory());
    const int n = static_cast<int>(rows());
    SINTER_RETURN_IF_ERROR(
        CusolverStatus(TypedOf<T>(f.SsyevjBatchedBufferSize, f.DsyevjBatchedBufferSize)(
                           solver().handle, CUSOLVER_EIG_MODE_VECTOR, kLowerOfRows, n, any, n, any,
                           &elements_, solver().eigen_jacobi, static_cast<int>(shape().batch)),
                       "plan eigenvectors"));
    return AddWork(elements_, &work_);
  }

  absl::Status BytesOfGroup(int64_t group, size_t* device, size_t* host) const {
    return CusolverStatus(solver().functions->XsyevBatchedBufferSize(
                              solver().handle, solver().parameters, CUSOLVER_EIG_MODE_VECTOR, kLowerOfRows,
                              rows(), kCudaType<T>, session().any_memory(), rows(), kCudaType<T>,
                              session().any_memory(), kCudaType<T>, device, host, group),
                          "plan eigenvectors");
  }

  absl::Status LoadGroups() {
    size_t device = 0, host = 0;
    for (group_ = shape().batch;; group_ = (group_ + 1) / 2) {
      SINTER_RETURN_IF_ERROR(BytesOfGroup(group_, &device, &host));
      if (device <= kMostGroupBytes || group_ == 1) break;
    }
    // The last group may be smaller.
    if (const int64_t rest = shape().batch % group_; rest != 0) {
      size_t device_of_rest = 0, host_of_rest = 0;
      SINTER_RETURN_IF_ERROR(BytesOfGroup(rest, &device_of_rest, &host_of_rest));
      device = std::max(device, device_of_rest);
      host = std::max(host, host_of_rest);
    }
    work_ = AddPart(device);
    on_host_.resize(host);
    return absl::OkStatus();
  }

  absl::Status LoadOneByOne() {
    size_t device = 0, host = 0;
    SINTER_RETURN_IF_ERROR(CusolverStatus(
        solver().functions->XsyevdBufferSize(solver().handle, solver().parameters, CUSOLVER_EIG_MODE_VECTOR,
                                             kLowerOfRows, rows(), kCudaType<T>, session().any_memory(),
                                             rows(), kCudaType<T>, session().any_memory(), kCudaType<T>,
                                             &device, &host),
        "plan eigenvectors"));
    work_ = AddPart(device);
    on_host_.resize(host);
    return absl::OkStatus();
  }

  absl::Status Enqueue(const StepArgs& args) override {
    T* const copy = At<T>(args, copy_);
    T* const values = static_cast<T*>(args.buffers[1]);
    SINTER_RETURN_IF_ERROR(Check(args.buffers[0], bad(args), /*only_lower=*/true));
    SINTER_RETURN_IF_ERROR(Copy({.from = args.buffers[0],
                                 .to = copy,
                                 .bad = bad(args),
                                 .batch = static_cast<uint64_t>(shape().batch),
                                 .rows = static_cast<uint64_t>(rows()),
                                 .columns = static_cast<uint64_t>(rows()),
                                 .stride = static_cast<uint64_t>(size()),
                                 .leading = static_cast<uint64_t>(rows()),
                                 .part = kernels::MatrixPart::kLower,
                                 .repairs = 1}));
    if (rows() <= kMostEighJacobi) {
      SINTER_RETURN_IF_ERROR(FindByJacobi(args, copy, values));
    } else if (rows() <= kMostEighBatched) {
      SINTER_RETURN_IF_ERROR(FindInGroups(args, copy, values));
    } else {
      SINTER_RETURN_IF_ERROR(FindOneByOne(args, copy, values));
    }
    SINTER_RETURN_IF_ERROR(GiveValues(args, values, rows()));
    return Give(args, {.from = copy,
                       .to = args.buffers[2],
                       .rows = rows(),
                       .columns = rows(),
                       .leading = rows(),
                       .stride = size(),
                       .is_transposed = true,
                       .count = shape().batch});
  }

  absl::Status FindByJacobi(const StepArgs& args, T* copy, T* values) const {
    const Cusolver& f = *solver().functions;
    const int n = static_cast<int>(rows());
    return CusolverStatus(
        TypedOf<T>(f.SsyevjBatched, f.DsyevjBatched)(
            solver().handle, CUSOLVER_EIG_MODE_VECTOR, kLowerOfRows, n, copy, n, values, At<T>(args, work_),
            elements_, info(args), solver().eigen_jacobi, static_cast<int>(shape().batch)),
        "find eigenvectors");
  }

  absl::Status FindInGroups(const StepArgs& args, T* copy, T* values) {
    for (int64_t first = 0; first < shape().batch; first += group_) {
      SINTER_RETURN_IF_ERROR(CusolverStatus(
          solver().functions->XsyevBatched(
              solver().handle, solver().parameters, CUSOLVER_EIG_MODE_VECTOR, kLowerOfRows, rows(),
              kCudaType<T>, copy + first * size(), rows(), kCudaType<T>, values + first * rows(),
              kCudaType<T>, At<void>(args, work_), work_.bytes, on_host_.data(), on_host_.size(),
              info(args) + first, std::min(group_, shape().batch - first)),
          "find eigenvectors"));
    }
    return absl::OkStatus();
  }

  absl::Status FindOneByOne(const StepArgs& args, T* copy, T* values) {
    for (int64_t i = 0; i < shape().batch; ++i) {
      SINTER_RETURN_IF_ERROR(CusolverStatus(
          solver().functions->Xsyevd(solver().handle, solver().parameters, CUSOLVER_EIG_MODE_VECTOR,
                                     kLowerOfRows, rows(), kCudaType<T>, copy + i * size(), rows(),
                                     kCudaType<T>, values + i * rows(), kCudaType<T>, At<void>(args, work_),
                                     work_.bytes, on_host_.data(), on_host_.size(), info(args) + i),
          "find eigenvectors"));
    }
    return absl::OkStatus();
  }

  Part copy_, work_;
  int elements_ = 0;   // Size of work_, for Jacobi iterations.
  int64_t group_ = 1;  // Matrices of a call of XsyevBatched.
  std::vector<std::byte> on_host_;
};

// In columns, the library gets a matrix `long_` x `short_`, which is not wide: the operand's memory if that
// has no more rows than columns, and a transposed copy otherwise. Of its U, `long_` x `short_`, and its V,
// `short_` x `short_`, one is u and the other v of the operand.
template <typename T>
class SvdStep : public SpectrumStep {
 public:
  SvdStep(SolverSession& session, const MatrixShape& shape)
      : SpectrumStep(session, shape),
        long_(std::max(shape.rows, shape.columns)),
        short_(std::min(shape.rows, shape.columns)),
        is_tall_(shape.rows > shape.columns),
        is_batched_(long_ <= kMostSvdBatched) {}

  CaptureLimit capture_limit() const override {
    return is_batched_ ? CaptureLimit::kNotInConditions : CaptureLimit::kNowhere;
  }

  absl::Status Load() override {
    SINTER_RETURN_IF_ERROR(LoadCommon());
    const int64_t together = is_batched_ ? shape().batch : 1;
    copy_ = AddElements(together * long_ * short_);
    u_ = AddElements(together * size_of_u());
    v_ = AddElements(together * short_ * short_);
    if (is_batched_) return LoadBatched();
    return LoadOneByOne();
  }

 private:
  // gesvdjBatched finds all columns of U.
  int64_t size_of_u() const { return long_ * (is_batched_ ? long_ : short_); }
  int rows() const { return static_cast<int>(long_); }
  int columns() const { return static_cast<int>(short_); }

  absl::Status LoadBatched() {
    const Cusolver& f = *solver().functions;
    const T* const any = static_cast<const T*>(session().any_memory());
    SINTER_RETURN_IF_ERROR(CusolverStatus(
        TypedOf<T>(f.SgesvdjBatchedBufferSize, f.DgesvdjBatchedBufferSize)(
            solver().handle, CUSOLVER_EIG_MODE_VECTOR, rows(), columns(), any, rows(), any, any, rows(), any,
            columns(), &elements_, solver().singular_jacobi, static_cast<int>(shape().batch)),
        "plan singular vectors"));
    return AddWork(elements_, &work_);
  }

  // gesvdp would take 11 ms where gesvdj takes 18, for 512 rows, but its vectors are wrong for matrices of
  // low rank: those of 300 x 300 ones gave elements of 3.6 in f32.
  absl::Status LoadOneByOne() {
    const Cusolver& f = *solver().functions;
    const T* const any = static_cast<const T*>(session().any_memory());
    SINTER_RETURN_IF_ERROR(
        CusolverStatus(TypedOf<T>(f.SgesvdjBufferSize, f.DgesvdjBufferSize)(
                           solver().handle, CUSOLVER_EIG_MODE_VECTOR, /*econ=*/1, rows(), columns(), any,
                           rows(), any, any, rows(), any, columns(), &elements_, solver().singular_jacobi),
                       "plan singular vectors"));
    return AddWork(elements_, &work_);
  }

  absl::Status Enqueue(const StepArgs& args) override {
    SINTER_RETURN_IF_ERROR(Check(args.buffers[0], bad(args), /*only_lower=*/false));
    const int64_t together = is_batched_ ? shape().batch : 1;
    for (int64_t first = 0; first < shape().batch; first += together) {
      SINTER_RETURN_IF_ERROR(CopyOperands(args, first, together));
      T* const values = static_cast<T*>(args.buffers[2]) + first * short_;
      if (is_batched_) {
        SINTER_RETURN_IF_ERROR(FindTogether(args, values));
      } else {
        SINTER_RETURN_IF_ERROR(FindOne(args, values, info(args) + first));
      }
      SINTER_RETURN_IF_ERROR(GiveVectors(args, first, together));
    }
    return GiveValues(args, args.buffers[2], short_);
  }

  absl::Status CopyOperands(const StepArgs& args, int64_t first, int64_t count) const {
    const int64_t size = long_ * short_;
    return Copy({.from = static_cast<const T*>(args.buffers[0]) + first * size,
                 .to = At<T>(args, copy_),
                 .bad = bad(args) + first,
                 .batch = static_cast<uint64_t>(count),
                 .rows = static_cast<uint64_t>(short_),
                 .columns = static_cast<uint64_t>(long_),
                 .stride = static_cast<uint64_t>(size),
                 .leading = static_cast<uint64_t>(shape().columns),
                 .is_transposed = is_tall_ ? 1u : 0u,
                 .repairs = 1});
  }

  absl::Status FindTogether(const StepArgs& args, T* values) const {
    const Cusolver& f = *solver().functions;
    return CusolverStatus(
        TypedOf<T>(f.SgesvdjBatched, f.DgesvdjBatched)(
            solver().handle, CUSOLVER_EIG_MODE_VECTOR, rows(), columns(), At<T>(args, copy_), rows(), values,
            At<T>(args, u_), rows(), At<T>(args, v_), columns(), At<T>(args, work_), elements_, info(args),
            solver().singular_jacobi, static_cast<int>(shape().batch)),
        "find singular vectors");
  }

  absl::Status FindOne(const StepArgs& args, T* values, int* info) const {
    const Cusolver& f = *solver().functions;
    return CusolverStatus(TypedOf<T>(f.Sgesvdj, f.Dgesvdj)(
                              solver().handle, CUSOLVER_EIG_MODE_VECTOR, /*econ=*/1, rows(), columns(),
                              At<T>(args, copy_), rows(), values, At<T>(args, u_), rows(), At<T>(args, v_),
                              columns(), At<T>(args, work_), elements_, info, solver().singular_jacobi),
                          "find singular vectors");
  }

  absl::Status GiveVectors(const StepArgs& args, int64_t first, int64_t count) const {
    Results of_u = {.from = At<T>(args, u_), .leading = long_, .stride = size_of_u()};
    Results of_v = {.from = At<T>(args, v_), .leading = short_, .stride = short_ * short_};
    if (!is_tall_) std::swap(of_u, of_v);
    T* const u = static_cast<T*>(args.buffers[1]) + first * shape().rows * short_;
    T* const vt = static_cast<T*>(args.buffers[3]) + first * short_ * shape().columns;
    of_u.to = u, of_u.rows = shape().rows, of_u.columns = short_, of_u.is_transposed = true;
    of_v.to = vt, of_v.rows = short_, of_v.columns = shape().columns;
    for (Results* const results : {&of_u, &of_v}) {
      results->first = first, results->count = count;
      SINTER_RETURN_IF_ERROR(Give(args, *results));
    }
    return absl::OkStatus();
  }

  const int64_t long_, short_;
  const bool is_tall_, is_batched_;
  Part copy_, u_, v_, work_;
  int elements_ = 0;  // Size of work_.
};

MatrixShape ShapeOfSpectrum(std::span<const int64_t> parameters, int64_t rows, int64_t columns) {
  return {.is_f64 = parameters[0] == static_cast<int64_t>(DType::kF64),
          .batch = parameters[1],
          .rows = rows,
          .columns = columns};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Step>> MakeCudaEighStep(CudaContext& context, std::string_view,
                                                       std::span<const int64_t> p) {
  const MatrixShape shape = ShapeOfSpectrum(p, p[2], p[2]);
  if (shape.batch == 0 || shape.rows == 0) return MakeEmptyStep();
  return shape.is_f64 ? MakeMatrixStep<EighStep<double>>(context, shape)
                      : MakeMatrixStep<EighStep<float>>(context, shape);
}

absl::StatusOr<std::unique_ptr<Step>> MakeCudaSvdStep(CudaContext& context, std::string_view,
                                                      std::span<const int64_t> p) {
  const MatrixShape shape = ShapeOfSpectrum(p, p[2], p[3]);
  if (shape.batch == 0 || shape.rows == 0 || shape.columns == 0) return MakeEmptyStep();
  return shape.is_f64 ? MakeMatrixStep<SvdStep<double>>(context, shape)
                      : MakeMatrixStep<SvdStep<float>>(context, shape);
}

}  // namespace sinter
