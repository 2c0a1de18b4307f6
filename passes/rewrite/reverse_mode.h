// ReverseMode: the gradients of values with respect to earlier values of the same block.
//
//   ReverseMode reverse(end, xs, end->getLoc());                   // Between the xs and the op `end`.
//   if (mlir::failed(reverse.run({{loss, nullptr}}))) ...          // Null: a gradient of ones.
//   mlir::Value gradient = reverse.gradientOf(xs[0]);              // Null if it is zero.
//
// The ops of the gradient come before `end`, with the location of their forward op, fused under the name
// "gradient". Composites on the path without their own gradient are decomposed first. A loop on the path may
// be replaced by one that also stacks what its gradient reads; its results are then others.
#ifndef SINTER_PASSES_REWRITE_REVERSE_MODE_H_
#define SINTER_PASSES_REWRITE_REVERSE_MODE_H_

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter {

class ReverseMode {
 public:
  // A value of the block, and the gradient of the loss with respect to it by way of readers that are not in
  // the block. Null: ones.
  struct Seed {
    mlir::Value value, gradient;
  };

  ReverseMode(mlir::Operation* end, mlir::ValueRange xs, mlir::Location wanted_at);

  // Builds the gradients. An op on the path without a gradient is an error, with a note at `wanted_at`.
  // Called once.
  mlir::LogicalResult run(llvm::ArrayRef<Seed> seeds);
  mlir::Value gradientOf(mlir::Value x);

  static mlir::Location LocOf(mlir::Operation* forward);

 private:
  void findPath();
  void replace(mlir::Value from, mlir::Value to);
  bool decomposeOnPath();
  mlir::LogicalResult checkDifferentiable(mlir::Operation* op);
  mlir::LogicalResult refuse(mlir::InFlightDiagnostic error);
  mlir::LogicalResult propagate(mlir::Operation* op);
  mlir::LogicalResult propagateLoop(ir::ScanOp scan, ir::GraphBuilder& b);
  void accumulate(ir::GraphBuilder& b, mlir::Operation* op, llvm::ArrayRef<ir::Expr> terms);
  void add(ir::GraphBuilder& b, mlir::Value operand, ir::Expr term);
  mlir::Value sumOf(ir::GraphBuilder& b, mlir::Value value);

  mlir::Operation* end_;
  mlir::Location wanted_at_;
  mlir::OpBuilder builder_;
  llvm::SmallVector<mlir::Value> xs_;
  llvm::SmallVector<Seed> seeds_;
  llvm::DenseSet<mlir::Value> active_;             // Floating-point values that depend on the xs.
  llvm::SmallVector<mlir::Operation*> path_;       // In program order.
  llvm::DenseMap<mlir::Value, mlir::Value> sums_;  // The gradient with respect to a value, so far.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<ir::PadOp>>
      parts_;  // Additional terms, from slices of a value.
};

}  // namespace sinter

#endif  // SINTER_PASSES_REWRITE_REVERSE_MODE_H_
