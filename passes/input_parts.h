// Parts of a function's inputs that lie in one piece. Where several devices share an input, such a part is a view of it and
// never an index map inside a kernel: then the plan says which bytes each device reads, and it is given no others.
//
//   if (auto start = ContiguousStart(slice)) ...   // The operand's elements from there on, one after the other.
//   if (IsInputPart(op)) ...                       // Such a slice of what the caller gives.
#ifndef SINTER_PASSES_INPUT_PARTS_H_
#define SINTER_PASSES_INPUT_PARTS_H_

#include <cstdint>
#include <optional>

#include "mlir/IR/Operation.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter {

// The element of the operand at which the slice begins, when its elements lie next to each other there.
std::optional<int64_t> ContiguousStart(ir::SliceOp slice);

// Whether `op` is a contiguous slice of an input, in any shape, that the caller gives to several devices.
bool IsInputPart(mlir::Operation* op);

}  // namespace sinter

#endif  // SINTER_PASSES_INPUT_PARTS_H_
