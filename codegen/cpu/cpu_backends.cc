#include "sinter/codegen/cpu/cpu_backends.h"

#include <algorithm>

#include "sinter/codegen/loops/call_forms.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {
namespace {

// The least elements worth a thread: some microseconds for a body of a few operations. The body's cost is
// unknown.
constexpr int64_t kUserKernelGrain = 4096;

bool RunsLlvm(plan_ir::CallOp call) { return ir::TargetModel::Of(call).kernels == ir::KernelForm::kLlvm; }

class FusedCpuBackend : public CallBackend {
 public:
  explicit FusedCpuBackend(CpuCode& code) : code_(code) {}

  llvm::StringRef name() const override { return "cpu.fused"; }

  bool Computes(plan_ir::CallOp call) const override { return !call.libraryOp() && RunsLlvm(call); }

  absl::StatusOr<int64_t> WorkspaceBytes(plan_ir::CallOp call) override {
    SINTER_ASSIGN_OR_RETURN(const int64_t* bytes, workspace_bytes_.Of(call, [&] {
      return FusedWorkspaceBytes(call, CpuLoopTarget());
    }));
    return *bytes;
  }

  absl::Status Emit(plan_ir::CallOp call, StepWriter& writer) override {
    SINTER_ASSIGN_OR_RETURN(const Generated* known, generated_.Of(call, [&] { return Generate(call); }));
    SINTER_RETURN_IF_ERROR(CheckWorkspace(call, known->workspace_bytes));
    for (auto [i, launch] : llvm::enumerate(known->launches)) {
      auto symbol = writer.builder().CreateString(launch.symbol);
      auto body =
          fb::CreateKernelStep(writer.builder(), symbol, launch.units, launch.grain, launch.scratch_bytes);
      SINTER_ASSIGN_OR_RETURN(StepWriter::Step step,
                              writer.StepOf(call, i, known->launches.size(), launch.inputs, launch.outputs));
      step.type = fb::StepBody::KernelStep;
      step.body = body.Union();
      step.flops = launch.flops, step.bytes = launch.bytes;
      writer.AddStep(step, call);
    }
    return absl::OkStatus();
  }

 private:
  struct Generated {
    int64_t workspace_bytes = 0;
    std::vector<KernelLaunch> launches;
  };

  absl::StatusOr<Generated> Generate(plan_ir::CallOp call) {
    SINTER_ASSIGN_OR_RETURN(FusedLaunches cut, SplitIntoLaunches(call, CpuLoopTarget()));
    return Generated{cut.workspace_bytes, code_.fused().AddLaunches(call, cut)};
  }

  CpuCode& code_;
  ByCallForm<int64_t> workspace_bytes_;
  ByCallForm<Generated> generated_;
};

class UserCpuBackend : public CallBackend {
 public:
  explicit UserCpuBackend(CpuCode& code) : code_(code) {}

  llvm::StringRef name() const override { return "cpu.user"; }

  bool Computes(plan_ir::CallOp call) const override {
    return llvm::isa_and_present<ir::ElementwiseKernelOp>(call.libraryOp()) && RunsLlvm(call);
  }

  absl::StatusOr<int64_t> WorkspaceBytes(plan_ir::CallOp) override { return 0; }

  absl::Status Emit(plan_ir::CallOp call, StepWriter& writer) override {
    auto kernel = llvm::cast<ir::ElementwiseKernelOp>(call.libraryOp());
    auto symbol = writer.builder().CreateString(code_.user().Add(kernel));
    const int64_t n = kernel.getN();
    auto body = fb::CreateKernelStep(writer.builder(), symbol, n, std::clamp<int64_t>(n, 1, kUserKernelGrain),
                                     /*scratch_bytes=*/0);
    SINTER_ASSIGN_OR_RETURN(StepWriter::Step step, writer.StepOfLibraryOp(call));
    step.type = fb::StepBody::KernelStep;
    step.body = body.Union();
    writer.AddStep(step, call);
    return absl::OkStatus();
  }

 private:
  CpuCode& code_;
};

}  // namespace

std::unique_ptr<CallBackend> MakeFusedCpuBackend(CpuCode& code) {
  return std::make_unique<FusedCpuBackend>(code);
}
std::unique_ptr<CallBackend> MakeUserCpuBackend(CpuCode& code) {
  return std::make_unique<UserCpuBackend>(code);
}

}  // namespace sinter::codegen
