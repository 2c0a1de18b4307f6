// Tensors that travel together, in one piece of memory: flattening them for a collective costs nothing, because what
// computes them writes them there.
//
//   FlatBucket bucket(builder, all_reduce, device);
//   for (mlir::OpOperand& operand : all_reduce->getOpOperands()) views.push_back(bucket.add(operand, buffer));
//   FlatBucket sums(builder, all_reduce, device);                  // Where other readers want what was given.
//   for (mlir::Value view : views) results.push_back(sums.next(loc, view.getType()));
#ifndef SINTER_PASSES_PLAN_FLAT_BUCKET_H_
#define SINTER_PASSES_PLAN_FLAT_BUCKET_H_

#include "mlir/IR/Builders.h"
#include "sinter/ir/plan/plan_ops.h"

namespace sinter {

// Whether the memory of `buffer`, the operand's, is written and not yet read, and the tensor is read by the operand's op alone,
// be it through reshapes.
bool MayWriteElsewhere(mlir::OpOperand& operand, mlir::Value buffer);
// True if `buffer` is memory of its own that steps write: it may as well be a part of other memory that only they write.
bool MayMove(mlir::Value buffer);
// What wrote `buffer`, which must be all of its memory, writes `memory` from `offset` on from now on; returns that place.
// `memory` must be defined before the buffer is.
mlir::Value WriteAt(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value buffer, mlir::Value memory,
                    int64_t offset);

class FlatBucket {
 public:
  // Makes the memory for the operands of `collective`, in front of everything in the plan function at `builder`.
  FlatBucket(mlir::OpBuilder& builder, mlir::Operation* collective, ir::DeviceAttr device);

  // The next operand's place, a view of the type of `buffer`. What wrote `buffer` writes here from now on where nobody else
  // reads the operand or, with `is_kept`, where others may read it here: the collective writes elsewhere. Else `buffer` is
  // copied.
  mlir::Value add(mlir::OpOperand& operand, mlir::Value buffer, bool is_kept);
  // The next place, of a type of buffer.
  mlir::Value next(mlir::Location loc, mlir::Type type);

 private:
  int64_t take(mlir::Type type);  // Where it begins.

  mlir::OpBuilder& builder_;
  ir::DeviceAttr device_;
  plan_ir::AllocOp memory_;
  int64_t next_ = 0;
};

}  // namespace sinter

#endif  // SINTER_PASSES_PLAN_FLAT_BUCKET_H_
