#include <string>

#include "sinter/codegen/places/user_line.h"
#include "sinter/codegen/plan/backends.h"
#include "sinter/codegen/plan/passes.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

#define GEN_PASS_DEF_SELECTKERNELS
#include "codegen/passes.h.inc"

namespace {

#define GEN_PASS_REGISTRATION
#include "codegen/passes.h.inc"

class SelectKernels : public impl::SelectKernelsBase<SelectKernels> {
 public:
  using SelectKernelsBase::SelectKernelsBase;

  void runOnOperation() override {
    Backends backends(&getContext());
    bool failed = false;
    getOperation().walk([&](plan_ir::CallOp call) {
      const absl::Status status = Select(call, backends);
      if (status.ok()) return;
      // The message begins with the user's line; the diagnostic adds the line itself, so remove it here.
      std::string message(status.message());
      const std::string line = UserLine(call.getLoc()) + ": ";
      if (message.starts_with(line)) message.erase(0, line.size());
      call.emitError() << message;
      failed = true;
    });
    if (failed) signalPassFailure();
  }

 private:
  absl::Status Select(plan_ir::CallOp call, Backends& backends) {
    SINTER_ASSIGN_OR_RETURN(CallBackend * backend, backends.Choose(call));
    SINTER_ASSIGN_OR_RETURN(int64_t bytes, backend->WorkspaceBytes(call));
    call.setBackend(backend->name());
    call.setWorkspaceBytes(bytes);
    if (report) {
      call.emitRemark() << "'" << call.getName() << "' on " << ir::DeviceOf(call).text() << ": "
                        << backend->name() << ", " << bytes << " bytes of workspace";
    }
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterPasses() { registerSinterCodegenPasses(); }

}  // namespace sinter::codegen
