// Fourier transforms, computed by cuFFT (kernels/cpu/catalog/fourier.cc begins with their parameters).
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/cufft/cufft_plan.h"
#include "sinter/runtime/cuda/driver/cuda_handles.h"
#include "sinter/runtime/cuda/driver/cuda_status.h"
#include "sinter/runtime/cuda/steps/library_calls.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/round_up.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

// Alignment of the parts of a workspace.
constexpr size_t kCufftAlignment = 256;

// InvalidArgument if an operand is not aligned to the type of complex numbers.
absl::Status CheckFourierAlignment(const StepArgs& args, size_t alignment) {
  const uintptr_t bits =
      reinterpret_cast<uintptr_t>(args.buffers[0]) | reinterpret_cast<uintptr_t>(args.buffers[1]);
  if (bits % alignment == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("an operand of a Fourier transform does not start at a multiple of ", alignment,
                   " bytes, which GPUs need: copy it first"));
}

class CudaFourierStep : public Step {
 public:
  explicit CudaFourierStep(std::unique_ptr<CufftPlan> plan) : plan_(std::move(plan)) {}

  size_t LibraryWorkspaceBytes() const override { return plan_->workspace_bytes(); }

  absl::Status Run(const StepArgs& args) override {
    SINTER_RETURN_IF_ERROR(CheckFourierAlignment(args, 2 * plan_->shape().real_bytes()));
    return plan_->Launch(args.buffers[0], args.buffers[1], args.library_workspace);
  }

 private:
  std::unique_ptr<CufftPlan> plan_;
};

// cuFFT overwrites the operand of a transform to real numbers, and may read the imaginary parts of numbers 0
// and n / 2, which do not count. So it transforms a copy in the workspace, where they are 0.
class CudaToRealStep : public Step {
 public:
  CudaToRealStep(const CudaContext& context, std::unique_ptr<CufftPlan> plan)
      : index_(context.index()), stream_(context.stream()), plan_(std::move(plan)) {
    const TransformShape& shape = plan_->shape();
    row_bytes_ = static_cast<size_t>(shape.half()) * 2 * shape.real_bytes();
    copy_bytes_ = RoundUp(static_cast<size_t>(shape.batch) * row_bytes_, kCufftAlignment);
  }

  size_t LibraryWorkspaceBytes() const override { return copy_bytes_ + plan_->workspace_bytes(); }

  absl::Status Run(const StepArgs& args) override {
    const TransformShape& shape = plan_->shape();
    SINTER_RETURN_IF_ERROR(CheckFourierAlignment(args, 2 * shape.real_bytes()));
    const CudaDeviceScope on(index_);
    std::byte* const copy = static_cast<std::byte*>(args.library_workspace);
    SINTER_RETURN_IF_ERROR(
        CudaStatus(cudaMemcpyAsync(copy, args.buffers[0], static_cast<size_t>(shape.batch) * row_bytes_,
                                   cudaMemcpyDeviceToDevice, stream_),
                   "copy an operand"));
    SINTER_RETURN_IF_ERROR(ClearImaginary(copy, 0));
    if (shape.n % 2 == 0) SINTER_RETURN_IF_ERROR(ClearImaginary(copy, shape.n / 2));
    return plan_->Launch(copy, args.buffers[1], copy + copy_bytes_);
  }

 private:
  // Fills the imaginary part of this number of every transform with 0.
  absl::Status ClearImaginary(std::byte* copy, int64_t number) {
    const size_t bytes = plan_->shape().real_bytes();
    return CudaStatus(cudaMemset2DAsync(copy + (2 * static_cast<size_t>(number) + 1) * bytes, row_bytes_, 0,
                                        bytes, static_cast<size_t>(plan_->shape().batch), stream_),
                      "fill memory");
  }

  int index_;
  cudaStream_t stream_;
  std::unique_ptr<CufftPlan> plan_;
  size_t row_bytes_ = 0, copy_bytes_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Step>> MakeCudaFourierStep(CudaContext& context, std::string_view kernel,
                                                          std::span<const int64_t> parameters) {
  const TransformShape shape = {.kind = kernel == "fft"    ? TransformKind::kComplex
                                        : kernel == "rfft" ? TransformKind::kFromReal
                                                           : TransformKind::kToReal,
                                .is_f64 = parameters[0] == static_cast<int64_t>(DType::kF64),
                                .inverse = kernel == "fft" && parameters[3] != 0,
                                .batch = parameters[1],
                                .n = parameters[2]};
  if (shape.batch == 0) return MakeEmptyStep();
  SINTER_ASSIGN_OR_RETURN(std::unique_ptr<CufftPlan> plan, CufftPlan::Create(context, shape));
  if (shape.kind == TransformKind::kToReal) return std::make_unique<CudaToRealStep>(context, std::move(plan));
  return std::make_unique<CudaFourierStep>(std::move(plan));
}

}  // namespace sinter
