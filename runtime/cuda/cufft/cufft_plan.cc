#include "sinter/runtime/cuda/cufft/cufft_plan.h"

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/driver/cuda_handles.h"
#include "sinter/runtime/cuda/driver/cuda_status.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

cufftType TypeOfTransform(const TransformShape& shape) {
  switch (shape.kind) {
    case TransformKind::kComplex:
      return shape.is_f64 ? CUFFT_Z2Z : CUFFT_C2C;
    case TransformKind::kFromReal:
      return shape.is_f64 ? CUFFT_D2Z : CUFFT_R2C;
    case TransformKind::kToReal:
      return shape.is_f64 ? CUFFT_Z2D : CUFFT_C2R;
  }
  SINTER_CHECK(false) << "kind of transform " << static_cast<int>(shape.kind);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CufftPlan>> CufftPlan::Create(const CudaContext& context,
                                                             const TransformShape& shape) {
  const CudaDeviceScope on(context.index());
  SINTER_RETURN_IF_ERROR(on.status());
  SINTER_ASSIGN_OR_RETURN(const Cufft* const functions, LoadCufft());
  std::unique_ptr<CufftPlan> plan(new CufftPlan(context, shape, functions));
  SINTER_RETURN_IF_ERROR(plan->Make(context.stream()));
  return plan;
}

absl::Status CufftPlan::Make(cudaStream_t stream) {
  SINTER_RETURN_IF_ERROR(CufftStatus(functions_->Create(&plan_), "make a plan"));
  SINTER_RETURN_IF_ERROR(
      CufftStatus(functions_->SetAutoAllocation(plan_, 0), "leave its workspace to the caller"));
  // Numbers from the start of one transform to that of the next.
  long long n = shape_.n;
  long long from = shape_.kind == TransformKind::kToReal ? shape_.half() : shape_.n;
  long long to = shape_.kind == TransformKind::kFromReal ? shape_.half() : shape_.n;
  SINTER_RETURN_IF_ERROR(
      CufftStatus(functions_->MakePlanMany64(plan_, 1, &n, &from, 1, from, &to, 1, to,
                                             TypeOfTransform(shape_), shape_.batch, &workspace_bytes_),
                  absl::StrCat("plan ", shape_.batch, " transforms of ", shape_.n, " numbers of ",
                               shape_.is_f64 ? "f64" : "f32")));
  return CufftStatus(functions_->SetStream(plan_, stream), "use a stream");
}

CufftPlan::~CufftPlan() {
  if (plan_ == CUFFT_PLAN_NULL) return;
  const CudaDeviceScope on(index_);
  (void)functions_->Destroy(plan_);
}

absl::Status CufftPlan::Launch(void* x, void* y, void* workspace) {
  const CudaDeviceScope on(index_);
  // Names even a workspace of 0 bytes once, because automatic allocation is off.
  if (workspace_ != workspace) {
    SINTER_RETURN_IF_ERROR(CufftStatus(functions_->SetWorkArea(plan_, workspace), "use a workspace"));
    workspace_ = workspace;
  }
  return CufftStatus(Execute(x, y), "transform");
}

cufftResult CufftPlan::Execute(void* x, void* y) const {
  const int sign = shape_.inverse ? CUFFT_INVERSE : CUFFT_FORWARD;
  switch (TypeOfTransform(shape_)) {
    case CUFFT_C2C:
      return functions_->ExecC2C(plan_, static_cast<cufftComplex*>(x), static_cast<cufftComplex*>(y), sign);
    case CUFFT_Z2Z:
      return functions_->ExecZ2Z(plan_, static_cast<cufftDoubleComplex*>(x),
                                 static_cast<cufftDoubleComplex*>(y), sign);
    case CUFFT_R2C:
      return functions_->ExecR2C(plan_, static_cast<cufftReal*>(x), static_cast<cufftComplex*>(y));
    case CUFFT_D2Z:
      return functions_->ExecD2Z(plan_, static_cast<cufftDoubleReal*>(x),
                                 static_cast<cufftDoubleComplex*>(y));
    case CUFFT_C2R:
      return functions_->ExecC2R(plan_, static_cast<cufftComplex*>(x), static_cast<cufftReal*>(y));
    case CUFFT_Z2D:
      return functions_->ExecZ2D(plan_, static_cast<cufftDoubleComplex*>(x),
                                 static_cast<cufftDoubleReal*>(y));
  }
  SINTER_CHECK(false) << "type of transform " << static_cast<int>(TypeOfTransform(shape_));
}

}  // namespace sinter
