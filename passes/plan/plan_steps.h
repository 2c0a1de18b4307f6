// Questions about a plan.function: which memory a buffer is, and what a step reads and writes.
#ifndef SINTER_PASSES_PLAN_PLAN_STEPS_H_
#define SINTER_PASSES_PLAN_PLAN_STEPS_H_

#include <optional>

#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/plan/plan_ops.h"
#include "sinter/ir/program/collective.h"

namespace sinter {

// The buffer that a chain of views starts from, and where in it the view begins.
struct BufferPlace {
  mlir::Value root;
  int64_t offset;
};
BufferPlace Resolve(mlir::Value buffer);

// Whether both are the same memory: one buffer, or two values of one variable.
bool SameMemory(mlir::Value root_a, mlir::Value root_b);

// Calls and copies, in order.
llvm::SmallVector<mlir::Operation*> StepsOf(plan_ir::FunctionOp function);
mlir::ValueRange ReadsOf(mlir::Operation* step);
mlir::ValueRange WritesOf(mlir::Operation* step);
// Whether a plan.output hands out (part of) the buffer `root`.
bool IsHandedOut(mlir::Value root);

int64_t BytesOf(mlir::Value buffer);

// The collective that the step is a member of, if it is one.
std::optional<ir::Collective> CollectiveOf(mlir::Operation* step);

// Puts all buffers first, then the steps in the order given, then the outputs.
void ArrangeBody(plan_ir::FunctionOp function, llvm::ArrayRef<mlir::Operation*> steps);

}  // namespace sinter

#endif  // SINTER_PASSES_PLAN_PLAN_STEPS_H_
