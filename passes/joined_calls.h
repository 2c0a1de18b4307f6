// Concats whose operands are written where they belong, parts of one buffer, and nothing is run to join them: library calls write
// there. Of many parts those are copied that cannot be written there, since a kernel that computes an element of the concat looks
// at all of them.
//
//   if (IsJoin(op)) ...              // `fuse` leaves the concat by itself, and `lower-to-plan` makes it a buffer
#ifndef SINTER_PASSES_JOINED_CALLS_H_
#define SINTER_PASSES_JOINED_CALLS_H_

#include "sinter/ir/dialect/ops.h"

namespace sinter {

// True if the concat has more than eight parts, of 256 bytes and more: a kernel that computes it would look at too many.
bool IsWide(ir::ConcatOp op);
// True if it is along its outermost dimension but for those of size 1: its parts lie one behind the other.
bool IsOneBehindTheOther(ir::ConcatOp op);
// True of a concat that is both.
inline bool IsWideJoin(ir::ConcatOp op) { return IsWide(op) && IsOneBehindTheOther(op); }
// True of the above, and of such a concat of what library calls compute, which nobody else reads, where each part begins at a
// multiple of 256 bytes.
bool IsJoin(mlir::Operation* op);

}  // namespace sinter

#endif  // SINTER_PASSES_JOINED_CALLS_H_
