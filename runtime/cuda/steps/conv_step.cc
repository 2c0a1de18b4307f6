// Convolutions and their gradients, computed by cuDNN, with bias and relu in the same kernel.
#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/cudnn/conv_tuning.h"
#include "sinter/runtime/cuda/cudnn/cudnn_convolution.h"
#include "sinter/runtime/cuda/cudnn/cudnn_session.h"
#include "sinter/runtime/cuda/steps/cuda_steps.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/round_up.h"
#include "sinter/runtime/plan/gpu_limits.h"

namespace sinter {
namespace {

size_t BytesOf(const CudnnTensor& tensor, fb::DType dtype) {
  return static_cast<size_t>(tensor.elements() * SizeOf(static_cast<DType>(dtype)));
}

absl::Status CheckAlignment(const StepArgs& args, int operands) {
  uintptr_t bits = 0;
  for (int i = 0; i < operands; ++i) bits |= reinterpret_cast<uintptr_t>(args.buffers[i]);
  if (bits % kCudnnAlignment == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("an operand of a convolution does not start at a multiple of ", kCudnnAlignment,
                   " bytes, which GPUs need: copy it first"));
}

// cuDNN has engines for bias and for bias with relu, but none for relu alone. A relu without bias uses a zero
// bias in the workspace.
class CudaConvStep : public Step {
 public:
  // `zero_bias_bytes`: bytes of the zero bias in the workspace; 0 if the plan has a bias or needs none.
  CudaConvStep(const CudaContext& context, std::unique_ptr<CudnnPlan> plan, bool has_bias,
               size_t zero_bias_bytes)
      : plan_(std::move(plan)),
        device_(context.index()),
        stream_(context.stream()),
        has_bias_(has_bias),
        zero_bias_bytes_(RoundUp(zero_bias_bytes, kCudnnWorkspaceAlignment)) {}

  size_t LibraryWorkspaceBytes() const override { return zero_bias_bytes_ + plan_->workspace_bytes(); }

  absl::Status Run(const StepArgs& args) override {
    SINTER_RETURN_IF_ERROR(CheckAlignment(args, has_bias_ ? 4 : 3));
    const CudaDeviceScope on(device_);
    void* const* const b = args.buffers;
    void* const zeros = args.library_workspace;
    void* const workspace = static_cast<std::byte*>(args.library_workspace) + zero_bias_bytes_;
    if (zero_bias_bytes_ > 0) {
      SINTER_RETURN_IF_ERROR(CudaStatus(cudaMemsetAsync(zeros, 0, zero_bias_bytes_, stream_), "fill memory"));
      return plan_->Execute({{kFirst, b[0]}, {kSecond, b[1]}, {kBias, zeros}, {kResult, b[2]}}, workspace);
    }
    if (!has_bias_) return plan_->Execute({{kFirst, b[0]}, {kSecond, b[1]}, {kResult, b[2]}}, workspace);
    return plan_->Execute({{kFirst, b[0]}, {kSecond, b[1]}, {kBias, b[2]}, {kResult, b[3]}}, workspace);
  }

 private:
  std::unique_ptr<CudnnPlan> plan_;
  int device_;
  cudaStream_t stream_;
  bool has_bias_;
  size_t zero_bias_bytes_;
};

// A convolution with an empty operand: the result is zeros. With a bias, cuDNN convolves zeros in the
// workspace, with one channel, so that it adds the bias.
class EmptyConvStep : public Step {
 public:
  EmptyConvStep(const CudaContext& context, const ConvShape& shape)
      : device_(context.index()),
        stream_(context.stream()),
        result_bytes_(BytesOf(shape.result(), shape.dtype)) {}

  absl::Status MakeBiasPlan(const CudnnHandle& cudnn, ConvShape shape, const ConvEpilogue& epilogue) {
    const int64_t outputs = shape.y.sizes[1];
    shape.x = PackedTensor({shape.y.sizes[0], 1, shape.y.sizes[2], shape.y.sizes[3]}, shape.channels_last);
    shape.weights = PackedTensor({outputs, 1, 1, 1}, /*channels_last=*/false);
    shape.strides = shape.dilations = {1, 1};
    shape.padding_before = shape.padding_after = {0, 0};
    const size_t bytes = BytesOf(shape.x.elements() > outputs ? shape.x : shape.weights, shape.dtype);
    zero_bytes_ = RoundUp(bytes, kCudnnWorkspaceAlignment);
    SINTER_ASSIGN_OR_RETURN(plan_, MakeConvolutionPlan(cudnn, shape, epilogue));
    return absl::OkStatus();
  }

  size_t LibraryWorkspaceBytes() const override {
    return plan_ == nullptr ? 0 : zero_bytes_ + plan_->workspace_bytes();
  }

  absl::Status Run(const StepArgs& args) override {
    const CudaDeviceScope on(device_);
    void* const zeros = plan_ == nullptr ? args.buffers[2] : args.library_workspace;
    SINTER_RETURN_IF_ERROR(CudaStatus(
        cudaMemsetAsync(zeros, 0, plan_ == nullptr ? result_bytes_ : zero_bytes_, stream_), "fill memory"));
    if (plan_ == nullptr) return absl::OkStatus();
    SINTER_RETURN_IF_ERROR(CheckAlignment(args, 4));
    return plan_->Execute(
        {{kFirst, zeros}, {kSecond, zeros}, {kBias, args.buffers[2]}, {kResult, args.buffers[3]}},
        static_cast<std::byte*>(args.library_workspace) + zero_bytes_);
  }

 private:
  int device_;
  cudaStream_t stream_;
  size_t result_bytes_;
  std::unique_ptr<CudnnPlan> plan_;
  size_t zero_bytes_ = 0;
};

absl::Status CheckTable(const fb::ConvStep& table) {
  if (table.layout() == fb::ImageLayout::Nchw16n) {
    return absl::UnimplementedError(
        "a convolution of images in layout nchw16n, which is for CPUs, cannot run on a GPU: compile the "
        "graph "
        "again for this device");
  }
  if (table.kind() == fb::ConvKind::Forward && !CudnnEpilogueSupported(table.activation())) {
    const char* const activation = fb::EnumNameActivation(table.activation());
    return absl::UnimplementedError(
        absl::StrCat("a convolution with activation ", activation,
                     " is not done by cuDNN: leave it out of the convolution, for a kernel of its own "
                     "(CudnnEpilogueSupported in runtime/plan/gpu_limits.h)"));
  }
  if (!CublasTypeSupported(table.dtype())) {
    return absl::UnimplementedError(absl::StrCat("a convolution of ", fb::EnumNameDType(table.dtype()),
                                                 " is not done by cuDNN: convert to f32 before it"));
  }
  if (table.math() == fb::MathMode::Bf16x3) {
    return absl::UnimplementedError("cuDNN has no convolutions with math bf16x3: use ieee or tf32");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Step>> MakeCudaConvStep(CudaContext& context, const fb::ConvStep& table) {
  SINTER_RETURN_IF_ERROR(CheckTable(table));
  const ConvShape shape = ConvShapeOf(table);
  if (shape.result().elements() == 0) return MakeEmptyStep();
  const bool is_forward = table.kind() == fb::ConvKind::Forward;
  const ConvEpilogue epilogue = {.bias = is_forward && table.has_bias(),
                                 .relu = is_forward && table.activation() == fb::Activation::Relu};
  if (shape.first().elements() == 0 || shape.second().elements() == 0) {
    auto step = std::make_unique<EmptyConvStep>(context, shape);
    if (!epilogue.bias) return step;
    SINTER_ASSIGN_OR_RETURN(const CudnnHandle cudnn, context.cudnn()->OnStream());
    SINTER_RETURN_IF_ERROR(step->MakeBiasPlan(cudnn, shape, epilogue));
    return step;
  }
  SINTER_ASSIGN_OR_RETURN(const CudnnHandle cudnn, context.cudnn()->OnStream());
  const ConvEpilogue done = {.bias = epilogue.bias || epilogue.relu, .relu = epilogue.relu};
  SINTER_ASSIGN_OR_RETURN(std::unique_ptr<CudnnPlan> plan,
                          ChooseConvolutionPlan(context, cudnn, shape, done));
  const int64_t made_up = done.bias && !epilogue.bias ? shape.y.sizes[1] : 0;
  return std::make_unique<CudaConvStep>(
      context, std::move(plan), epilogue.bias,
      static_cast<size_t>(made_up * SizeOf(static_cast<DType>(shape.dtype))));
}

}  // namespace sinter
