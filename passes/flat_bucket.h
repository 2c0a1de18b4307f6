// Tensors that travel together, in one piece of memory: flattening them for a collective costs nothing, because what
// computes them writes them there.
//
//   FlatBucket bucket(builder, all_reduce, device);
//   for (mlir::OpOperand& operand : all_reduce->getOpOperands()) views.push_back(bucket.add(operand, buffer));
#ifndef SINTER_PASSES_FLAT_BUCKET_H_
#define SINTER_PASSES_FLAT_BUCKET_H_

#include "mlir/IR/Builders.h"
#include "sinter/ir/plan_ops.h"

namespace sinter {

// Where each tensor of a bucket begins: at a multiple of this many bytes, which suits the vectors of any device.
inline constexpr int64_t kBucketAlignment = 256;

// Whether the memory of `buffer`, the operand's, is written and not yet read, and the tensor is read by the operand's op alone,
// be it through reshapes.
bool MayWriteElsewhere(mlir::OpOperand& operand, mlir::Value buffer);
// What wrote `buffer`, which must be all of its memory, writes `memory` from `offset` on from now on; returns that place.
// `memory` must be defined before the buffer is.
mlir::Value WriteAt(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value buffer, mlir::Value memory,
                    int64_t offset);

class FlatBucket {
 public:
  // Makes the memory for the operands of `collective`, in front of everything in the plan function at `builder`.
  FlatBucket(mlir::OpBuilder& builder, mlir::Operation* collective, ir::DeviceAttr device);

  // The next operand's place, a view of the type of `buffer`. Where nobody else reads the operand, what wrote `buffer`
  // writes here from now on; else `buffer` is copied.
  mlir::Value add(mlir::OpOperand& operand, mlir::Value buffer);

 private:
  mlir::OpBuilder& builder_;
  ir::DeviceAttr device_;
  plan_ir::AllocOp memory_;
  int64_t next_ = 0;
};

}  // namespace sinter

#endif  // SINTER_PASSES_FLAT_BUCKET_H_
