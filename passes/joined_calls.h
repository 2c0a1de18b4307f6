// Concats whose operands are written where they belong: the library calls that compute them write parts of one buffer, and
// nothing is run to join them.
//
//   if (IsJoinOfCalls(op)) ...       // `fuse` leaves the concat by itself, and `lower-to-plan` makes it a buffer
#ifndef SINTER_PASSES_JOINED_CALLS_H_
#define SINTER_PASSES_JOINED_CALLS_H_

#include "mlir/IR/Operation.h"

namespace sinter {

// Whether `op` is a concat along its outermost dimension of what library calls compute, which nobody else reads, where each
// part begins at a multiple of 256 bytes.
bool IsJoinOfCalls(mlir::Operation* op);

}  // namespace sinter

#endif  // SINTER_PASSES_JOINED_CALLS_H_
