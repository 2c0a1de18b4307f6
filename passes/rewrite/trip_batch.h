// TripBatch: a value of a loop's body for all trips at once, outside the loop.
//
//   TripBatch batch(scan, b);                      // `b` builds before the loop.
//   if (batch.canBuild(value)) { TripBatch::Outer all = batch.build(value); ... }
#ifndef SINTER_PASSES_REWRITE_TRIP_BATCH_H_
#define SINTER_PASSES_REWRITE_TRIP_BATCH_H_

#include "llvm/ADT/DenseMap.h"
#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter {

class TripBatch {
 public:
  // A stack of the value of each trip, or the value itself, if it is the same in all trips.
  struct Outer {
    mlir::Value value;
    bool is_stack = false;
  };

  TripBatch(ir::ScanOp scan, ir::GraphBuilder& b) : scan_(scan), b_(b) {}

  // True if the value depends on slices and invariants alone, by products, pointwise ops, casts, broadcasts,
  // reshapes, transposes, slices and concats.
  bool canBuild(mlir::Value value);
  Outer build(mlir::Value value);

 private:
  bool isInvariant(mlir::Value value);
  Outer buildOp(mlir::Operation* op, llvm::ArrayRef<Outer> operands);
  ir::Expr stacked(const Outer& outer);

  ir::ScanOp scan_;
  ir::GraphBuilder& b_;
  llvm::DenseMap<mlir::Value, bool> can_build_;
  llvm::DenseMap<mlir::Value, Outer> built_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_REWRITE_TRIP_BATCH_H_
