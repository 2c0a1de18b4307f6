// Sums of the gradients of slices: each is zeros but for a part, so that adding T of them one by one would take T times as long as
// putting the parts beside each other.
//
//   llvm::SmallVector<ir::PadOp> parts = ...;                  // That IsPlacedPart says of.
//   for (Expr term : SumOfParts(b, parts)) sum = sum + term;   // One, where no two overlap and all lie along one dimension.
#ifndef SINTER_PASSES_REWRITE_SLICE_GRADIENTS_H_
#define SINTER_PASSES_REWRITE_SLICE_GRADIENTS_H_

#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter {

// True if the op puts its operand among zeros along one dimension, without zeros between its elements.
bool IsPlacedPart(ir::PadOp op);

// Tensors whose sum is that of the parts, which are all of one type: of those along one dimension that do not overlap, a concat,
// with zeros where none of them lies. A part by itself stays what it is; the others are erased where nothing else reads them.
llvm::SmallVector<ir::Expr> SumOfParts(ir::GraphBuilder& b, llvm::ArrayRef<ir::PadOp> parts);

}  // namespace sinter

#endif  // SINTER_PASSES_REWRITE_SLICE_GRADIENTS_H_
