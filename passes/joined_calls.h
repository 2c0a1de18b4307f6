// Concats that cost nothing, because their operands are written directly into parts of one buffer.
// Library calls write there. A concat of many parts also becomes a buffer, and parts that cannot be written
// there are copied: a kernel that computes an element of the concat would test all parts.
//
//   if (IsWait(op)) ...              // `fuse` keeps the concat separate; `lower-to-plan` makes it a buffer.
#ifndef SINTER_PASSES_JOINED_CALLS_H_
#define SINTER_PASSES_JOINED_CALLS_H_

#include "sinter/ir/dialect/ops.h"

namespace sinter {

// True if the concat has more than eight parts of at least 256 bytes: too many for a kernel to test.
bool IsWide(ir::ConcatOp op);
// True if the concat is along its outermost dimension (ignoring size 1), so that its parts are contiguous.
bool IsOneBehindTheOther(ir::ConcatOp op);
// True if the concat is wide and its parts are contiguous.
inline bool IsWideJoin(ir::ConcatOp op) { return IsWide(op) && IsOneBehindTheOther(op); }
// True for a wide join. Also true for a contiguous concat of library results that nothing else reads, if each
// part begins at a multiple of 256 bytes.
bool IsWait(mlir::Operation* op);

}  // namespace sinter

#endif  // SINTER_PASSES_JOINED_CALLS_H_
