// Matmuls, computed by cuBLASLt.
#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/cublas/cublaslt_matmul.h"
#include "sinter/runtime/cuda/cublas/matmul_tuning.h"
#include "sinter/runtime/cuda/steps/cuda_steps.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/plan/matmul_slots.h"

namespace sinter {
namespace {

// Returns the operands of a step. InvalidArgument if one is not aligned for cuBLASLt.
absl::StatusOr<MatmulOperands> OperandsOf(const StepArgs& args, const MatmulSlots& slots) {
  uintptr_t bits = 0;
  for (int i = 0; i < slots.operands(); ++i) {
    if (i != slots.scale && i != slots.scale_a && i != slots.scale_b)
      bits |= reinterpret_cast<uintptr_t>(args.buffers[i]);
  }
  if (bits % CublasMatmul::kAlignment != 0) {
    return absl::InvalidArgumentError(absl::StrCat("an operand of a matmul does not start at a multiple of ",
                                                   CublasMatmul::kAlignment,
                                                   " bytes, which GPUs need: copy it first"));
  }
  return MatmulOperands{.a = slots.In(args.buffers, slots.a),
                        .b = slots.In(args.buffers, slots.b),
                        .bias = slots.In(args.buffers, slots.bias),
                        .addend = slots.In(args.buffers, slots.addend),
                        .scale = slots.In(args.buffers, slots.scale),
                        .preactivation = slots.In(args.buffers, slots.preactivation),
                        .scale_a = slots.In(args.buffers, slots.scale_a),
                        .scale_b = slots.In(args.buffers, slots.scale_b),
                        .result = slots.Out(args.buffers, slots.result)};
}

class CudaMatmulStep : public Step {
 public:
  CudaMatmulStep(std::unique_ptr<CublasMatmul> matmul, const cublasLtMatmulHeuristicResult_t& algorithm,
                 const MatmulSlots& slots)
      : matmul_(std::move(matmul)), algorithm_(algorithm), slots_(slots) {}

  size_t LibraryWorkspaceBytes() const override { return algorithm_.workspaceSize; }

  absl::Status Run(const StepArgs& args) override {
    SINTER_ASSIGN_OR_RETURN(const MatmulOperands operands, OperandsOf(args, slots_));
    return matmul_->Launch(algorithm_, operands, args.library_workspace);
  }

 private:
  std::unique_ptr<CublasMatmul> matmul_;
  cublasLtMatmulHeuristicResult_t algorithm_;
  MatmulSlots slots_;
};

// A matmul with k = 0 and nothing added: the result is zeros, which no supported activation changes.
class ZerosStep : public Step {
 public:
  ZerosStep(const CudaContext& context, size_t bytes, const MatmulSlots& slots)
      : index_(context.index()), stream_(context.stream()), bytes_(bytes), slots_(slots) {}

  absl::Status Run(const StepArgs& args) override {
    const CudaDeviceScope on(index_);
    return CudaStatus(cudaMemsetAsync(slots_.Out(args.buffers, slots_.result), 0, bytes_, stream_),
                      "fill memory");
  }

 private:
  int index_;
  cudaStream_t stream_;
  size_t bytes_;
  MatmulSlots slots_;
};

// A matmul with k = 0 and a bias or an addend: runs with k = 1 on zeros in the workspace.
class NoTermsStep : public Step {
 public:
  NoTermsStep(const CudaContext& context, std::unique_ptr<CublasMatmul> matmul,
              const cublasLtMatmulHeuristicResult_t& algorithm, const MatmulSlots& slots)
      : index_(context.index()),
        stream_(context.stream()),
        matmul_(std::move(matmul)),
        algorithm_(algorithm),
        slots_(slots) {
    const MatmulShape& shape = matmul_->shape();
    const int64_t longest = std::max(shape.m, shape.n);
    const int64_t bytes = shape.batch * longest * SizeOf(static_cast<DType>(shape.dtype));
    zero_bytes_ = static_cast<size_t>((bytes + 255) / 256 * 256);
  }

  size_t LibraryWorkspaceBytes() const override { return zero_bytes_ + algorithm_.workspaceSize; }

  absl::Status Run(const StepArgs& args) override {
    SINTER_ASSIGN_OR_RETURN(MatmulOperands operands, OperandsOf(args, slots_));
    const CudaDeviceScope on(index_);
    SINTER_RETURN_IF_ERROR(
        CudaStatus(cudaMemsetAsync(args.library_workspace, 0, zero_bytes_, stream_), "fill memory"));
    operands.a = operands.b = args.library_workspace;
    return matmul_->Launch(algorithm_, operands,
                           static_cast<std::byte*>(args.library_workspace) + zero_bytes_);
  }

 private:
  int index_;
  cudaStream_t stream_;
  std::unique_ptr<CublasMatmul> matmul_;
  cublasLtMatmulHeuristicResult_t algorithm_;
  MatmulSlots slots_;
  size_t zero_bytes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Step>> MakeCudaMatmulStep(CudaContext& context, const fb::MatmulStep& table) {
  if (table.batch() == 0 || table.m() == 0 || table.n() == 0) return MakeEmptyStep();
  const MatmulShape shape = {.batch = table.batch(),
                             .m = table.m(),
                             .n = table.n(),
                             .k = std::max<int64_t>(table.k(), 1),
                             .transpose_a = table.transpose_a(),
                             .transpose_b = table.transpose_b(),
                             .has_bias = table.has_bias(),
                             .dtype = table.dtype(),
                             .activation = table.activation(),
                             .math = table.math(),
                             .result_is_f32 = table.result_is_f32(),
                             .result_is_i32 = table.result_is_i32(),
                             .has_addend = table.has_addend(),
                             .has_scale = table.has_scale(),
                             .is_gradient = table.is_gradient(),
                             .scales = table.scales(),
                             .dtype_b = MatmulDTypeOfB(table),
                             .fast_sums = table.fast_sums()};
  const MatmulSlots slots(table);
  SINTER_ASSIGN_OR_RETURN(std::unique_ptr<CublasMatmul> matmul, CublasMatmul::Create(context, shape));
  if (table.k() == 0 && !table.has_bias() && !table.has_addend()) {
    const int64_t bytes = shape.batch * shape.m * shape.n * SizeOf(static_cast<DType>(shape.ResultDType()));
    return std::make_unique<ZerosStep>(context, static_cast<size_t>(bytes), slots);
  }
  if (table.k() == 0) {
    SINTER_ASSIGN_OR_RETURN(const auto algorithms, matmul->Algorithms(1));
    return std::make_unique<NoTermsStep>(context, std::move(matmul), algorithms[0], slots);
  }
  SINTER_ASSIGN_OR_RETURN(const cublasLtMatmulHeuristicResult_t algorithm, ChooseAlgorithm(context, *matmul));
  return std::make_unique<CudaMatmulStep>(std::move(matmul), algorithm, slots);
}

}  // namespace sinter
