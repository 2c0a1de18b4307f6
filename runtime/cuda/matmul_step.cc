// Matrix products, by cuBLASLt.
#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/cublaslt_matmul.h"
#include "sinter/runtime/cuda/cuda_steps.h"
#include "sinter/runtime/cuda/matmul_tuning.h"
#include "sinter/runtime/dtype.h"

namespace sinter {
namespace {

absl::Status CheckAlignment(const StepArgs& args, int operands) {
  uintptr_t bits = 0;
  for (int i = 0; i < operands; ++i) bits |= reinterpret_cast<uintptr_t>(args.buffers[i]);
  if (bits % CublasMatmul::kAlignment == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("an operand of a matmul does not start at a multiple of ",
                                                 CublasMatmul::kAlignment,
                                                 " bytes, which GPUs need: copy it first"));
}

class CudaMatmulStep : public Step {
 public:
  CudaMatmulStep(std::unique_ptr<CublasMatmul> product, const cublasLtMatmulHeuristicResult_t& algorithm)
      : product_(std::move(product)), algorithm_(algorithm), has_bias_(product_->shape().has_bias) {}

  size_t LibraryWorkspaceBytes() const override { return algorithm_.workspaceSize; }

  absl::Status Run(const StepArgs& args) override {
    SINTER_RETURN_IF_ERROR(CheckAlignment(args, has_bias_ ? 4 : 3));
    return product_->Launch(algorithm_,
                            {.a = args.buffers[0],
                             .b = args.buffers[1],
                             .bias = has_bias_ ? args.buffers[2] : nullptr,
                             .result = args.buffers[has_bias_ ? 3 : 2]},
                            args.library_workspace);
  }

 private:
  std::unique_ptr<CublasMatmul> product_;
  cublasLtMatmulHeuristicResult_t algorithm_;
  bool has_bias_;
};

// A sum of no products, without bias: zeros, which no supported activation changes.
class ZerosStep : public Step {
 public:
  ZerosStep(const CudaContext& context, size_t bytes)
      : index_(context.index()), stream_(context.stream()), bytes_(bytes) {}

  absl::Status Run(const StepArgs& args) override {
    const CudaDeviceScope on(index_);
    return CudaStatus(cudaMemsetAsync(args.buffers[2], 0, bytes_, stream_), "fill memory");
  }

 private:
  int index_;
  cudaStream_t stream_;
  size_t bytes_;
};

// A sum of no products, with bias: one product, of zeros in the workspace.
class BiasStep : public Step {
 public:
  BiasStep(const CudaContext& context, std::unique_ptr<CublasMatmul> product,
           const cublasLtMatmulHeuristicResult_t& algorithm)
      : index_(context.index()),
        stream_(context.stream()),
        product_(std::move(product)),
        algorithm_(algorithm) {
    const MatmulShape& shape = product_->shape();
    const int64_t longest = std::max(shape.m, shape.n);
    const int64_t bytes = shape.batch * longest * SizeOf(static_cast<DType>(shape.dtype));
    zero_bytes_ = static_cast<size_t>((bytes + 255) / 256 * 256);
  }

  size_t LibraryWorkspaceBytes() const override { return zero_bytes_ + algorithm_.workspaceSize; }

  absl::Status Run(const StepArgs& args) override {
    SINTER_RETURN_IF_ERROR(CheckAlignment(args, 4));
    const CudaDeviceScope on(index_);
    SINTER_RETURN_IF_ERROR(
        CudaStatus(cudaMemsetAsync(args.library_workspace, 0, zero_bytes_, stream_), "fill memory"));
    return product_->Launch(algorithm_,
                            {.a = args.library_workspace,
                             .b = args.library_workspace,
                             .bias = args.buffers[2],
                             .result = args.buffers[3]},
                            static_cast<std::byte*>(args.library_workspace) + zero_bytes_);
  }

 private:
  int index_;
  cudaStream_t stream_;
  std::unique_ptr<CublasMatmul> product_;
  cublasLtMatmulHeuristicResult_t algorithm_;
  size_t zero_bytes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Step>> MakeCudaMatmulStep(CudaContext& context, const fb::MatmulStep& table) {
  if (table.batch() == 0 || table.m() == 0 || table.n() == 0) return MakeNothingStep();
  MatmulShape shape = {.batch = table.batch(),
                       .m = table.m(),
                       .n = table.n(),
                       .k = std::max<int64_t>(table.k(), 1),
                       .transpose_a = table.transpose_a(),
                       .transpose_b = table.transpose_b(),
                       .has_bias = table.has_bias(),
                       .dtype = table.dtype(),
                       .activation = table.activation(),
                       .math = table.math()};
  SINTER_ASSIGN_OR_RETURN(std::unique_ptr<CublasMatmul> product, CublasMatmul::Create(context, shape));
  if (table.k() == 0 && !table.has_bias()) {
    return std::make_unique<ZerosStep>(context, static_cast<size_t>(shape.batch * shape.m * shape.n *
                                                                    SizeOf(static_cast<DType>(shape.dtype))));
  }
  if (table.k() == 0) {
    SINTER_ASSIGN_OR_RETURN(const auto algorithms, product->Algorithms(1));
    return std::make_unique<BiasStep>(context, std::move(product), algorithms[0]);
  }
  SINTER_ASSIGN_OR_RETURN(const cublasLtMatmulHeuristicResult_t algorithm,
                          ChooseAlgorithm(context, *product));
  return std::make_unique<CudaMatmulStep>(std::move(product), algorithm);
}

}  // namespace sinter
