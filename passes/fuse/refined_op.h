// Builds an op of loops whose dimensions are split into factors: LoopDims of passes/fuse/loop_dims.h.
//
//   Value refined = BuildRefined(builder, op, operands, dims);
#ifndef SINTER_PASSES_FUSE_REFINED_OP_H_
#define SINTER_PASSES_FUSE_REFINED_OP_H_

#include "mlir/IR/Builders.h"
#include "sinter/passes/fuse/loop_dims.h"

namespace sinter {

// Returns the result with the factors that `dims` gives it. `operands` have their factors already. Requires
// LoopDims::isRefinable, and no reshape.
mlir::Value BuildRefined(mlir::OpBuilder& builder, mlir::Operation* op, llvm::ArrayRef<mlir::Value> operands,
                         const LoopDims& dims);

// Returns the elements of `value` in this shape: the value itself, or a reshape of it or of the value that it
// reshapes.
mlir::Value ViewOf(mlir::OpBuilder& builder, mlir::Value value, llvm::ArrayRef<int64_t> shape);

}  // namespace sinter

#endif  // SINTER_PASSES_FUSE_REFINED_OP_H_
