// ScanGradient: the gradient of a loop, which is a loop over the same trips in the other order.
//
//   ScanGradient gradient(scan, is_active, wanted_at);
//   if (mlir::failed(gradient.build(b, gradients_of_results))) ...   // Where `b` builds.
//   gradient.terms();                                 // For each operand of the loop, or null.
//   gradient.replaceLoop();
//
// The carries of the gradient's loop are the gradients of the carries, and the sums over the trips so far
// for the invariants. What the gradient of a trip reads of it is stacked by the loop: its carries, and the
// results of its products, reductions and other library ops. Cheap ops, which fuse, are computed again.
// Loops inside the body are computed again too.
#ifndef SINTER_PASSES_REWRITE_SCAN_GRADIENT_H_
#define SINTER_PASSES_REWRITE_SCAN_GRADIENT_H_

#include <optional>
#include <utility>

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "mlir/IR/IRMapping.h"
#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter {

class ScanGradient {
 public:
  // `is_active`: true for an operand whose gradient is wanted. Errors name the op in the body that has no
  // gradient, with a note at `wanted_at`.
  ScanGradient(ir::ScanOp scan, llvm::function_ref<bool(mlir::Value)> is_active, mlir::Location wanted_at);

  // `gradients` has one for each result; null if it is zero.
  mlir::LogicalResult build(ir::GraphBuilder& b, llvm::ArrayRef<mlir::Value> gradients);
  llvm::ArrayRef<mlir::Value> terms() const { return terms_; }
  // The loop that also stacks what the gradient reads. Its first results are those of the loop.
  ir::ScanOp loop() { return loop_; }
  // Puts loop() in the place of the loop, which is erased.
  void replaceLoop();

 private:
  // An argument of the gradient's body, and the operand that it is for.
  using Argument = std::pair<mlir::BlockArgument, mlir::Value>;
  struct Operands {
    llvm::SmallVector<Argument> carries, slices, invariants;
    llvm::SmallVector<mlir::Value> next, stacked;  // Values that the body yields.
    // For each operand of the loop, where its gradient is among these; neither if it has none.
    struct Place {
      std::optional<size_t> carry, stack;
    };
    llvm::SmallVector<Place> places;
  };

  void findActive(llvm::function_ref<bool(mlir::Value)> is_active);
  void cloneBody(llvm::ArrayRef<mlir::Value> gradients);
  mlir::LogicalResult differentiateBody(llvm::ArrayRef<mlir::Value> gradients);
  void keepResults();
  bool isRead(mlir::Value argument);
  void stack(mlir::Value value);
  mlir::Value carriesBefore(ir::GraphBuilder& b, size_t carry);
  void buildLoop();
  void collectOperands(ir::GraphBuilder& b, llvm::ArrayRef<mlir::Value> gradients, Operands& parts);
  void buildGradientLoop(ir::GraphBuilder& b, llvm::ArrayRef<mlir::Value> gradients);

  ir::ScanOp scan_, loop_;
  mlir::Location wanted_at_;
  llvm::DenseSet<mlir::Value> active_;  // Arguments and values of the body.
  // The body of the gradient's loop, with arguments in the order in which they were found to be needed.
  mlir::Block body_;
  mlir::IRMapping to_gradient_;
  llvm::SmallVector<std::pair<mlir::Operation*, mlir::Operation*>> clones_;
  llvm::SmallVector<mlir::Value> stacked_;  // By loop(), in addition.
  // Arguments of `body_`: for results of the body that are stacked, for the gradients of carries (by
  // argument), and for the parts of the gradients of stacks (by gradient).
  llvm::MapVector<mlir::Value, mlir::BlockArgument> kept_, of_stacked_;
  llvm::DenseMap<mlir::Value, mlir::BlockArgument> of_last_;
  llvm::DenseMap<mlir::Value, mlir::Value> of_argument_;  // Gradients of the body's arguments.
  llvm::SmallVector<mlir::Value> terms_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_REWRITE_SCAN_GRADIENT_H_
