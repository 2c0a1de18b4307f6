#include "sinter/codegen/steps/library_backend.h"

#include "sinter/codegen/steps/lowering.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {
namespace {

class LibraryBackend : public CallBackend {
 public:
  llvm::StringRef name() const override { return "library"; }

  bool Computes(plan_ir::CallOp call) const override {
    mlir::Operation* op = call.libraryOp();
    return op && LibraryLowerings::Default().Has(op);
  }

  absl::StatusOr<int64_t> WorkspaceBytes(plan_ir::CallOp call) override {
    return LibraryLowerings::Default().WorkspaceBytes(call.libraryOp());
  }

  absl::Status Emit(plan_ir::CallOp call, StepWriter& writer) override {
    SINTER_ASSIGN_OR_RETURN(LibraryStep library,
                            LibraryLowerings::Default().Lower(call.libraryOp(), writer.builder()));
    SINTER_RETURN_IF_ERROR(CheckWorkspace(call, library.workspace_bytes));
    writer.plan().content |= library.content;
    SINTER_ASSIGN_OR_RETURN(StepWriter::Step step, writer.StepOfLibraryOp(call));
    step.type = library.type, step.body = library.body, step.flops = library.flops;
    writer.AddStep(step, call);
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<CallBackend> MakeLibraryBackend() { return std::make_unique<LibraryBackend>(); }

}  // namespace sinter::codegen
