// Orthogonal factors: small matrices by a kernel, others by cuSOLVER.
#include <algorithm>

#include "sinter/runtime/cuda/driver/cuda_status.h"
#include "sinter/runtime/cuda/steps/library_calls.h"
#include "sinter/runtime/cuda/steps/matrix_steps.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

// One block factors each matrix. cuSOLVER takes 0.6 ms for one matrix of 128 rows, and has no routine for
// batches.
class SmallQrStep : public MatrixStep {
 public:
  SmallQrStep(SolverSession& session, const MatrixShape& shape, int64_t sides)
      : MatrixStep(session, shape), sides_(sides) {}

  absl::Status Load() override {
    work_ = AddElements(shape().batch * shape().rows * shape().columns);
    return absl::OkStatus();
  }

 private:
  absl::Status Enqueue(const StepArgs& args) override {
    return session().kernels().Qr({.a = args.buffers[0],
                                   .work = At<void>(args, work_),
                                   .q = args.buffers[1],
                                   .r = args.buffers[2],
                                   .batch = static_cast<uint64_t>(shape().batch),
                                   .rows = static_cast<uint64_t>(shape().rows),
                                   .columns = static_cast<uint64_t>(shape().columns),
                                   .sides = static_cast<uint64_t>(sides_),
                                   .is_f64 = shape().is_f64 ? 1u : 0u},
                                  stream());
  }

  const int64_t sides_;
  Part work_;
};

// The matrices of a batch follow each other, in one workspace, which has a matrix in columns.
template <typename T>
class QrStep : public MatrixStep {
 public:
  QrStep(SolverSession& session, const MatrixShape& shape, int64_t sides)
      : MatrixStep(session, shape), sides_(sides), reflections_(std::min(shape.rows, shape.columns)) {}

  CaptureLimit capture_limit() const override { return CaptureLimit::kNotInConditions; }

  absl::Status Load() override {
    SINTER_ASSIGN_OR_RETURN(solver_, session().Solver());
    const int64_t m = shape().rows, n = shape().columns;
    const Cusolver& f = *solver_.functions;
    const void* const any = session().any_memory();
    copy_ = AddElements(m * std::max(n, sides_));
    tau_ = AddElements(reflections_);
    info_ = AddPart(sizeof(int));
    size_t device = 0, host = 0;
    SINTER_RETURN_IF_ERROR(
        CusolverStatus(f.XgeqrfBufferSize(solver_.handle, solver_.parameters, m, n, kCudaType<T>, any, m,
                                          kCudaType<T>, any, kCudaType<T>, &device, &host),
                       "plan reflections"));
    reflection_work_ = AddPart(device);
    on_host_.resize(host);
    int elements = 0;
    SINTER_RETURN_IF_ERROR(CusolverStatus(
        TypedOf<T>(f.SorgqrBufferSize, f.DorgqrBufferSize)(
            solver_.handle, static_cast<int>(m), static_cast<int>(sides_), static_cast<int>(reflections_),
            static_cast<const T*>(any), static_cast<int>(m), static_cast<const T*>(any), &elements),
        "plan an orthogonal matrix"));
    elements_ = elements;
    return AddWork(elements, &product_work_);
  }

 private:
  absl::Status Enqueue(const StepArgs& args) override {
    for (int64_t i = 0; i < shape().batch; ++i) SINTER_RETURN_IF_ERROR(FactorMatrix(args, i));
    return absl::OkStatus();
  }

  absl::Status FactorMatrix(const StepArgs& args, int64_t i) {
    const int64_t m = shape().rows, n = shape().columns;
    const Cusolver& f = *solver_.functions;
    T* const copy = At<T>(args, copy_);
    T* const tau = At<T>(args, tau_);
    int* const info = At<int>(args, info_);
    SINTER_RETURN_IF_ERROR(Transpose(static_cast<const T*>(args.buffers[0]) + i * m * n, n, copy, n, m));
    SINTER_RETURN_IF_ERROR(
        CusolverStatus(f.Xgeqrf(solver_.handle, solver_.parameters, m, n, kCudaType<T>, copy, m, kCudaType<T>,
                                tau, kCudaType<T>, At<void>(args, reflection_work_), reflection_work_.bytes,
                                on_host_.data(), on_host_.size(), info),
                       "find reflections"));
    SINTER_RETURN_IF_ERROR(Transpose(copy, m, static_cast<T*>(args.buffers[2]) + i * sides_ * n, sides_, n,
                                     kernels::MatrixPart::kUpper));
    if (sides_ > n) {
      SINTER_RETURN_IF_ERROR(Clear(copy + m * n, static_cast<size_t>(m * (sides_ - n)) * sizeof(T)));
    }
    SINTER_RETURN_IF_ERROR(CusolverStatus(
        TypedOf<T>(f.Sorgqr, f.Dorgqr)(solver_.handle, static_cast<int>(m), static_cast<int>(sides_),
                                       static_cast<int>(reflections_), copy, static_cast<int>(m), tau,
                                       At<T>(args, product_work_), elements_, info),
        "multiply reflections"));
    return Transpose(copy, m, static_cast<T*>(args.buffers[1]) + i * m * sides_, m, sides_);
  }

  // Writes [rows, columns] of columns that are `leading` elements apart.
  absl::Status Transpose(const T* from, int64_t leading, T* to, int64_t rows, int64_t columns,
                         kernels::MatrixPart part = kernels::MatrixPart::kAll) const {
    return Copy({.from = from,
                 .to = to,
                 .batch = 1,
                 .rows = static_cast<uint64_t>(rows),
                 .columns = static_cast<uint64_t>(columns),
                 .leading = static_cast<uint64_t>(leading),
                 .is_transposed = 1,
                 .part = part});
  }

  const int64_t sides_, reflections_;
  SolverHandle solver_;
  Part copy_, tau_, info_, reflection_work_, product_work_;
  int elements_ = 0;  // Size of product_work_.
  std::vector<std::byte> on_host_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Step>> MakeCudaQrStep(CudaContext& context, std::string_view,
                                                     std::span<const int64_t> p) {
  const MatrixShape shape = {
      .is_f64 = p[0] == static_cast<int64_t>(DType::kF64), .batch = p[1], .rows = p[2], .columns = p[3]};
  const int64_t sides = p[4] != 0 ? shape.rows : std::min(shape.rows, shape.columns);
  if (shape.batch == 0 || sides == 0) return MakeEmptyStep();
  const auto most = static_cast<int64_t>(kernels::kMostQrKernelSize);
  // Without columns, q is the identity.
  if (shape.columns == 0 || (shape.rows <= most && shape.columns <= most)) {
    return MakeMatrixStep<SmallQrStep>(context, shape, sides);
  }
  return shape.is_f64 ? MakeMatrixStep<QrStep<double>>(context, shape, sides)
                      : MakeMatrixStep<QrStep<float>>(context, shape, sides);
}

}  // namespace sinter
