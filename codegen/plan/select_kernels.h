// The pass between lower-to-plan and plan-memory that settles what each call needs beside its buffers.
//
//   pass_manager.addNestedPass<plan_ir::FunctionOp>(codegen::CreateSelectKernels());
#ifndef SINTER_CODEGEN_PLAN_SELECT_KERNELS_H_
#define SINTER_CODEGEN_PLAN_SELECT_KERNELS_H_

#include <memory>

#include "mlir/Pass/Pass.h"

namespace sinter::codegen {

// "sinter-select-kernels": sets workspace_bytes of every plan.call; an error for a call that no kernel computes.
std::unique_ptr<mlir::Pass> CreateSelectKernels();

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_PLAN_SELECT_KERNELS_H_
