// FlatBucket: tensors that travel together in one piece of memory, without copies where possible.
// Flattening tensors for a collective costs nothing if their producers write into the bucket.
//
//   FlatBucket bucket(builder, all_reduce, device);
//   for (mlir::OpOperand& operand : all_reduce->getOpOperands()) bucket.add(operand, buffer);
//   FlatBucket sums(builder, all_reduce, device);   // A second bucket if others read the operands.
//   for (mlir::Value view : views) results.push_back(sums.next(loc, view.getType()));
#ifndef SINTER_PASSES_PLAN_FLAT_BUCKET_H_
#define SINTER_PASSES_PLAN_FLAT_BUCKET_H_

#include "mlir/IR/Builders.h"
#include "sinter/ir/plan/plan_ops.h"

namespace sinter {

// True if the memory of `buffer` (the operand's) has been written but not read yet, and only the operand's op
// reads the tensor, directly or through reshapes.
bool MayWriteElsewhere(mlir::OpOperand& operand, mlir::Value buffer);
// True if `buffer` has its own memory, which steps write. It may then become a part of other memory that only
// they write.
bool MayMove(mlir::Value buffer);
// Redirects the producer of `buffer`, which must be all of its memory, to `memory` at `offset`. Returns that
// view. `memory` must be defined before the buffer.
mlir::Value WriteAt(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value buffer, mlir::Value memory,
                    int64_t offset);

class FlatBucket {
 public:
  // Allocates the memory for the operands of `collective`, at the start of the plan function at `builder`.
  FlatBucket(mlir::OpBuilder& builder, mlir::Operation* collective, ir::DeviceAttr device);

  // Returns a view of the type of `buffer`, at the next operand's position. If nothing else reads the
  // operand, its producer writes here directly. With `is_kept`, other readers are allowed too: they read it
  // here, as the collective writes elsewhere. Otherwise `buffer` is copied.
  mlir::Value add(mlir::OpOperand& operand, mlir::Value buffer, bool is_kept);
  // Returns a view of buffer type `type` at the next position.
  mlir::Value next(mlir::Location loc, mlir::Type type);

 private:
  int64_t take(mlir::Type type);  // Reserves the bytes of `type` and returns their offset.

  mlir::OpBuilder& builder_;
  ir::DeviceAttr device_;
  plan_ir::AllocOp memory_;
  int64_t next_ = 0;
};

}  // namespace sinter

#endif  // SINTER_PASSES_PLAN_FLAT_BUCKET_H_
