#include <memory>
#include <utility>

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "sinter/ir/plan/plan_ops.h"
#include "sinter/passes/passes.h"

namespace sinter {
namespace {

#define GEN_PASS_REGISTRATION
#include "passes/passes.h.inc"

struct OldScheduleOptions : mlir::PassPipelineOptions<OldScheduleOptions> {
  Option<bool> report{*this, "report", llvm::cl::desc("As of sinter-order-calls"), llvm::cl::init(false)};
};

// Names that passes had in earlier versions, for pipelines that users wrote as text.
void RegisterOldNames() {
  mlir::PassPipelineRegistration<OldScheduleOptions>(
      "sinter-schedule", "Old name of sinter-order-calls",
      [](mlir::OpPassManager& passes, const OldScheduleOptions& options) {
        std::unique_ptr<mlir::Pass> pass = createOrderCalls({.report = options.report});
        const bool is_nested = passes.getOpName() == plan_ir::FunctionOp::getOperationName();
        is_nested ? passes.addPass(std::move(pass))
                  : passes.addNestedPass<plan_ir::FunctionOp>(std::move(pass));
      });
}

}  // namespace

void RegisterPasses() {
  registerSinterPasses();
  RegisterOldNames();
}

}  // namespace sinter
