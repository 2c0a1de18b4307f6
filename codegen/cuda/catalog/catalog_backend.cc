#include "sinter/codegen/cuda/catalog/catalog_backend.h"

#include "sinter/codegen/cuda/catalog/cuda_catalog.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {
namespace {

class CudaCatalogBackend : public CallBackend {
 public:
  explicit CudaCatalogBackend(CudaKernels& kernels) : kernels_(kernels) {}

  llvm::StringRef name() const override { return "cuda.catalog"; }

  bool Computes(plan_ir::CallOp call) const override {
    mlir::Operation* op = call.libraryOp();
    return op && ir::TargetModel::Of(call).kernels == ir::KernelForm::kCuda && CudaCatalog::Default().Has(op);
  }

  absl::StatusOr<int64_t> WorkspaceBytes(plan_ir::CallOp call) override {
    SINTER_ASSIGN_OR_RETURN(CudaCatalogCall catalog, CudaCatalog::Default().Lower(call.libraryOp()));
    return catalog.workspace_bytes;
  }

  absl::Status Emit(plan_ir::CallOp call, StepWriter& writer) override {
    SINTER_ASSIGN_OR_RETURN(CudaCatalogCall catalog, CudaCatalog::Default().Lower(call.libraryOp()));
    SINTER_RETURN_IF_ERROR(CheckWorkspace(call, catalog.workspace_bytes));
    for (auto [i, launch] : llvm::enumerate(catalog.launches)) {
      if (launch.grid == 0) continue;
      SINTER_ASSIGN_OR_RETURN(StepWriter::Step step, writer.StepOf(call, i, catalog.launches.size(),
                                                                   SlotsOfCall(call, launch.inputs),
                                                                   SlotsOfCall(call, launch.outputs)));
      const uint32_t kernel = kernels_.AddSource(launch.source());
      step.type = fb::StepBody::GpuKernelStep;
      step.body =
          fb::CreateGpuKernelStep(writer.builder(), kernel, launch.grid, launch.block, launch.shared_bytes)
              .Union();
      step.flops = i == 0 ? catalog.flops : 0;
      for (const Slot& slot : launch.inputs) step.bytes += plan_ir::TensorBytes(slot.type);
      for (const Slot& slot : launch.outputs) step.bytes += plan_ir::TensorBytes(slot.type);
      writer.AddStep(step, call);
    }
    return absl::OkStatus();
  }

 private:
  // The catalogue's slots count the op's operands and results; the call's slots count its buffers.
  static std::vector<Slot> SlotsOfCall(plan_ir::CallOp call, std::vector<Slot> slots) {
    for (Slot& slot : slots) {
      if (slot.kind != Slot::Kind::kIn) continue;
      slot.index = llvm::cast<mlir::BlockArgument>(call.libraryOp()->getOperand(slot.index)).getArgNumber();
    }
    return slots;
  }

  CudaKernels& kernels_;
};

}  // namespace

std::unique_ptr<CallBackend> MakeCudaCatalogBackend(CudaKernels& kernels) {
  return std::make_unique<CudaCatalogBackend>(kernels);
}

}  // namespace sinter::codegen
