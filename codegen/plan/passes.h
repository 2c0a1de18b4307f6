// The passes of codegen; passes.td describes them.
//
//   codegen::RegisterPasses();                      // For textual pipelines: sinter-opt.
//   pass_manager.addNestedPass<plan_ir::FunctionOp>(codegen::createSelectKernels());
#ifndef SINTER_CODEGEN_PLAN_PASSES_H_
#define SINTER_CODEGEN_PLAN_PASSES_H_

#include <memory>

#include "mlir/Pass/Pass.h"
#include "sinter/ir/plan/plan_ops.h"

namespace sinter::codegen {

#define GEN_PASS_DECL
#include "codegen/passes.h.inc"

// Makes every pass of codegen known to MLIR's textual pipelines.
void RegisterPasses();

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_PLAN_PASSES_H_
