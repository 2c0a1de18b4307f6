// Concats at the end of a generated kernel: the loops that compute their parts store them in place.
//
//   if (ir::IsStoredInParts(output, ops)) ...    // A store for each operand of the concat.
#ifndef SINTER_IR_FUSION_CONCAT_PARTS_H_
#define SINTER_IR_FUSION_CONCAT_PARTS_H_

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

namespace sinter::ir {

// True if the output `value` of the group `ops` is stored in parts: it is a concat that no other op of the
// group reads, and parts of different shapes share no op but those of one element, so that each has loops of
// its own.
bool IsStoredInParts(mlir::Value value, llvm::ArrayRef<mlir::Operation*> ops);

}  // namespace sinter::ir

#endif  // SINTER_IR_FUSION_CONCAT_PARTS_H_
