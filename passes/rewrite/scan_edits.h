// Changes of loops that need a loop of other types in the place of the one that there is.
//
//   ir::ScanOp loop = AddCarry(scan, start, [&](mlir::OpBuilder& b, mlir::Value carry) { return ...; });
//   loop.lasts().back();                                  // What the last trip gave.
//   DropResults(loop, is_gone);
//
//   ir::ScanOp loop = GuardTrips(loop);                   // A while as a scan of branches.
//
// The loop that is replaced is erased. Values of its body stay valid.
#ifndef SINTER_PASSES_REWRITE_SCAN_EDITS_H_
#define SINTER_PASSES_REWRITE_SCAN_EDITS_H_

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter {

// Adds a carry, the last one. `next` builds what the body gives for the next trip from what the trip gets,
// at the end of the body.
ir::ScanOp AddCarry(ir::ScanOp scan, mlir::Value start,
                    llvm::function_ref<mlir::Value(mlir::OpBuilder&, mlir::Value)> next);

// Removes carries and stacks of the loop whose results, without readers, `is_gone` names, and the ops of the
// body that only they needed. A carry must be read by its own next value alone.
void DropResults(ir::ScanOp scan, const llvm::BitVector& is_gone);

// Replaces a loop that ends by its data by a scan that makes all trips, in each of which a guarded scan of
// one trip does the work of the loop, if its guard holds. The results are the same. A gradient can keep what
// each trip of it needs.
ir::ScanOp GuardTrips(ir::ScanOp scan);

}  // namespace sinter

#endif  // SINTER_PASSES_REWRITE_SCAN_EDITS_H_
