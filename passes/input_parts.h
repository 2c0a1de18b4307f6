// Contiguous parts of a function's inputs, which devices that share an input read as views.
// Such a part is never an index map inside a kernel: the plan then says which bytes each device reads, and
// the device gets only those.
//
//   if (auto start = ContiguousStart(slice)) ...   // The operand's elements from `start`, contiguous.
//   if (IsInputPart(op)) ...                       // Such a slice of an input.
#ifndef SINTER_PASSES_INPUT_PARTS_H_
#define SINTER_PASSES_INPUT_PARTS_H_

#include <cstdint>
#include <optional>

#include "mlir/IR/Operation.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter {

// Returns the index of the operand's element at which the slice begins; nullopt if its elements are not
// contiguous.
std::optional<int64_t> ContiguousStart(ir::SliceOp slice);

// True if `op` is a contiguous slice, in any shape, of an input that several devices read.
bool IsInputPart(mlir::Operation* op);

}  // namespace sinter

#endif  // SINTER_PASSES_INPUT_PARTS_H_
