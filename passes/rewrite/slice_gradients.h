// Sums gradients of slices by placing the parts side by side.
// Each gradient is zero outside its part, so adding T of them in sequence would take T times as long.
//
//   llvm::SmallVector<ir::PadOp> parts = ...;                  // All satisfy IsPlacedPart.
//   for (Expr term : SumOfParts(b, parts)) sum = sum + term;   // One term if the parts do not overlap.
#ifndef SINTER_PASSES_REWRITE_SLICE_GRADIENTS_H_
#define SINTER_PASSES_REWRITE_SLICE_GRADIENTS_H_

#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter {

// True if the op pads its operand with zeros along one dimension only, without zeros between elements.
bool IsPlacedPart(ir::PadOp op);

// Returns tensors with the same sum as the parts, which all have one type. Parts along one dimension that do
// not overlap become one concat, with zeros in the gaps. A single part stays; merged parts are erased if
// nothing else reads them.
llvm::SmallVector<ir::Expr> SumOfParts(ir::GraphBuilder& b, llvm::ArrayRef<ir::PadOp> parts);

}  // namespace sinter

#endif  // SINTER_PASSES_REWRITE_SLICE_GRADIENTS_H_
