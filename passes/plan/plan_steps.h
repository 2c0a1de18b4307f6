// Queries about a plan.function: the memory of a buffer, and the reads and writes of a step.
#ifndef SINTER_PASSES_PLAN_PLAN_STEPS_H_
#define SINTER_PASSES_PLAN_PLAN_STEPS_H_

#include <optional>

#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/plan/plan_ops.h"
#include "sinter/ir/program/collective.h"

namespace sinter {

// The first buffer of a chain of views, and the view's offset in it.
struct BufferOffset {
  mlir::Value root;
  int64_t offset;
};
BufferOffset Resolve(mlir::Value buffer);

// True if both are the same memory: one buffer, or two values of one variable.
bool SameMemory(mlir::Value root_a, mlir::Value root_b);

// True if the buffers have bytes in common.
bool Overlap(mlir::Value a, mlir::Value b);

// StepsOf: calls and copies, in order.
llvm::SmallVector<mlir::Operation*> StepsOf(plan_ir::FunctionOp function);
mlir::ValueRange ReadsOf(mlir::Operation* step);
mlir::ValueRange WritesOf(mlir::Operation* step);
// True if a plan.output returns (part of) the buffer `root`.
bool IsHandedOut(mlir::Value root);

int64_t BytesOf(mlir::Value buffer);

// The collective that the step is a member of; nullopt if none.
std::optional<ir::Collective> CollectiveOf(mlir::Operation* step);

// Puts all buffers first, then the steps in the given order, then the outputs.
void ArrangeBody(plan_ir::FunctionOp function, llvm::ArrayRef<mlir::Operation*> steps);

}  // namespace sinter

#endif  // SINTER_PASSES_PLAN_PLAN_STEPS_H_
