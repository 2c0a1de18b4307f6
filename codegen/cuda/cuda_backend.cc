#include "sinter/codegen/cuda/cuda_backend.h"

#include "sinter/codegen/cuda/cuda_schedule.h"
#include "sinter/codegen/loops/call_forms.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {
namespace {

class FusedCudaBackend : public CallBackend {
 public:
  explicit FusedCudaBackend(CudaKernels& kernels) : kernels_(kernels) {}

  llvm::StringRef name() const override { return "cuda.fused"; }

  bool Computes(plan_ir::CallOp call) const override {
    return !call.libraryOp() && ir::TargetModel::Of(call).kernels == ir::KernelForm::kCuda;
  }

  absl::StatusOr<int64_t> WorkspaceBytes(plan_ir::CallOp call) override {
    SINTER_ASSIGN_OR_RETURN(const int64_t* bytes, workspace_bytes_.Of(call, [&] {
      return FusedWorkspaceBytes(call, CudaLoopTarget());
    }));
    return *bytes;
  }

  absl::Status Emit(plan_ir::CallOp call, StepWriter& writer) override {
    SINTER_ASSIGN_OR_RETURN(const Generated* known, generated_.Of(call, [&] { return Generate(call); }));
    SINTER_RETURN_IF_ERROR(CheckWorkspace(call, known->workspace_bytes));
    for (auto [i, launch] : llvm::enumerate(known->launches)) {
      SINTER_ASSIGN_OR_RETURN(StepWriter::Step step,
                              writer.StepOf(call, i, known->launches.size(), launch.inputs, launch.outputs));
      step.type = fb::StepBody::GpuKernelStep;
      step.body =
          fb::CreateGpuKernelStep(writer.builder(), launch.kernel, launch.grid, launch.block, 0).Union();
      step.flops = launch.flops, step.bytes = launch.bytes;
      writer.AddStep(step, call);
    }
    return absl::OkStatus();
  }

 private:
  struct Generated {
    int64_t workspace_bytes = 0;
    std::vector<CudaLaunch> launches;
  };

  absl::StatusOr<Generated> Generate(plan_ir::CallOp call) {
    SINTER_ASSIGN_OR_RETURN(FusedLaunches cut, SplitIntoLaunches(call, CudaLoopTarget()));
    SINTER_ASSIGN_OR_RETURN(std::vector<CudaLaunch> launches, kernels_.AddLaunches(call, cut));
    return Generated{cut.workspace_bytes, std::move(launches)};
  }

  CudaKernels& kernels_;
  ByCallForm<int64_t> workspace_bytes_;
  ByCallForm<Generated> generated_;
};

}  // namespace

std::unique_ptr<CallBackend> MakeFusedCudaBackend(CudaKernels& kernels) {
  return std::make_unique<FusedCudaBackend>(kernels);
}

}  // namespace sinter::codegen
