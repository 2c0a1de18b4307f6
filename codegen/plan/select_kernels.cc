#include "sinter/codegen/plan/select_kernels.h"

#include <string>

#include "sinter/codegen/places/user_line.h"
#include "sinter/codegen/plan/emit_plan.h"

namespace sinter::codegen {

namespace {

class SelectKernelsPass
    : public mlir::PassWrapper<SelectKernelsPass, mlir::OperationPass<plan_ir::FunctionOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SelectKernelsPass)

  llvm::StringRef getArgument() const override { return "sinter-select-kernels"; }
  llvm::StringRef getDescription() const override { return "Settle each call's kernel and its workspace"; }

  void runOnOperation() override {
    bool failed = false;
    getOperation().walk([&](plan_ir::CallOp call) {
      absl::StatusOr<int64_t> bytes = WorkspaceBytes(call);
      if (bytes.ok()) {
        call.setWorkspaceBytes(*bytes);
      } else {
        // The message begins with the user's line; the diagnostic adds the line itself, so remove it here.
        std::string message(bytes.status().message());
        const std::string line = UserLine(call.getLoc()) + ": ";
        if (message.starts_with(line)) message.erase(0, line.size());
        call.emitError() << message;
        failed = true;
      }
    });
    if (failed) signalPassFailure();
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreateSelectKernels() { return std::make_unique<SelectKernelsPass>(); }

}  // namespace sinter::codegen
