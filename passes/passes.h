// The compiler's passes over the `sinter` and `plan` dialects; passes.td describes them in pipeline order.
//
//   sinter::RegisterPasses();                              // For textual pipelines: sinter-opt.
//   pass_manager.addNestedPass<mlir::func::FuncOp>(sinter::createDifferentiate());
//   sinter::AssignLayoutsOptions options;
//   options.layout = "nchw";
//   pass_manager.addNestedPass<mlir::func::FuncOp>(sinter::createAssignLayouts(options));
#ifndef SINTER_PASSES_PASSES_H_
#define SINTER_PASSES_PASSES_H_

#include <memory>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "sinter/ir/plan/plan_ops.h"

namespace sinter {

#define GEN_PASS_DECL
#include "passes/passes.h.inc"

// The attribute of a module in which the pass `rematerialise`, if no plan fits, leaves the bytes of the
// smallest one.
inline constexpr llvm::StringLiteral kLeastBytesAttr = "plan.least_bytes";

// Registers every pass for MLIR's textual pipelines.
void RegisterPasses();

}  // namespace sinter

#endif  // SINTER_PASSES_PASSES_H_
