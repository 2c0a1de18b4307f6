// LoopDims: which dimensions of a block's values are the same loop, so that they can only split alike.
//
//   LoopDims dims(block);
//   if (dims.mayAbsorb(reshape)) dims.absorb(reshape);   // Both sides get the same factors, if they can.
//   dims.factors().factors(dims.of(value));              // The shape of a value with its factors.
//
// Only loops link dimensions. A value in memory has any shape that its reader wants, because a reshape of it
// is a view; so each reader has dimensions of its own for such an operand.
#ifndef SINTER_PASSES_FUSE_LOOP_DIMS_H_
#define SINTER_PASSES_FUSE_LOOP_DIMS_H_

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/passes/fuse/dim_factors.h"

namespace sinter {

class LoopDims {
 public:
  using Dims = DimFactors::Dims;

  explicit LoopDims(mlir::Block& block);

  // True if BuildRefined of passes/fuse/refined_op.h can build the op with other factors. The dimensions of
  // other loops are pinned.
  static bool isRefinable(mlir::Operation* op);

  // True if `op` is a reshape between loops. A reshape of a value in memory is a view for any loop.
  bool mayAbsorb(mlir::Operation* op) const;
  // Splits dimensions so that both sides of a reshape between loops have the same factors, and drops the
  // dimensions of size 1 that it adds or removes. Returns false, and changes nothing, if that is impossible.
  bool absorb(ir::ReshapeOp reshape);
  // Gives a value in memory the same factors in all loops over its elements that can have them, so that they
  // can be one. `absorb` comes first.
  void alignReaders(mlir::Block& block);

  // True if the value is computed in loops, or is a reshape of such a value: `of(value)` exists.
  bool isComputed(mlir::Value value) const { return of_value_.contains(value); }
  llvm::ArrayRef<DimFactors::Dim> of(mlir::Value value) const { return of_value_.find(value)->second; }
  // The dimensions of an operand of a refinable op: its own, or those of the computed value.
  llvm::ArrayRef<DimFactors::Dim> of(mlir::OpOperand& operand) const;
  const DimFactors& factors() const { return factors_; }

 private:
  void addValues(mlir::Block& block);
  void pinVariables(mlir::Block& block);
  Dims add(mlir::Value value);
  void pin(llvm::ArrayRef<DimFactors::Dim> dims);
  void unite(llvm::ArrayRef<DimFactors::Dim> a, llvm::ArrayRef<DimFactors::Dim> b);
  bool align(mlir::Value a, llvm::ArrayRef<DimFactors::Dim> of_a, mlir::Value b,
             llvm::ArrayRef<DimFactors::Dim> of_b);
  void linkPart(DimFactors::Dim whole, DimFactors::Dim part, int64_t step);
  void link(mlir::Operation* op);
  void linkReduction(mlir::Operation* op);
  void linkBroadcast(ir::BroadcastOp op);
  void linkSlice(ir::SliceOp op);
  void linkConcat(ir::ConcatOp op);
  void linkPad(ir::PadOp op);
  void linkGather(ir::GatherOp op);
  void linkTakeAlong(ir::TakeAlongOp op);

  DimFactors factors_;
  llvm::DenseMap<mlir::Value, Dims> of_value_;
  llvm::DenseMap<mlir::OpOperand*, Dims> of_operand_;  // Operands in memory.
};

}  // namespace sinter

#endif  // SINTER_PASSES_FUSE_LOOP_DIMS_H_
