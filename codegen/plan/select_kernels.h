// The pass between lower-to-plan and plan-memory that determines each call's kernel and workspace.
//
//   pass_manager.addNestedPass<plan_ir::FunctionOp>(codegen::CreateSelectKernels());
#ifndef SINTER_CODEGEN_PLAN_SELECT_KERNELS_H_
#define SINTER_CODEGEN_PLAN_SELECT_KERNELS_H_

#include <memory>

#include "mlir/Pass/Pass.h"

namespace sinter::codegen {

// "sinter-select-kernels": sets workspace_bytes of every plan.call. A call that no kernel computes is an
// error.
std::unique_ptr<mlir::Pass> CreateSelectKernels();

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_PLAN_SELECT_KERNELS_H_
