// BatchRows: where the values of a function have the examples of its batch.
//
//   BatchRows batch(function, inputs);                // Dimension 0 of these inputs is the batch.
//   if (batch.cut(value, sharding, tensor, mesh)) ...  // [8 data, 32, 64] is now [8 data tensor, 32, 64].
//
// The rows of a value are its examples, and what each of them has in the next dimension: of [8, 32, 64], 8
// examples of 32 tokens. A value that has its examples in another place than the outermost iterations of a
// dimension, such as a sum over the batch, has no rows.
#ifndef SINTER_PASSES_PARTITION_BATCH_ROWS_H_
#define SINTER_PASSES_PARTITION_BATCH_ROWS_H_

#include "llvm/ADT/DenseMap.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "sinter/ir/dialect/sharding.h"

namespace sinter {

class BatchRows {
 public:
  // Dimension 0 of the inputs is the batch. If it has one example, its rows are those of dimension 1.
  BatchRows(mlir::func::FuncOp function, llvm::ArrayRef<mlir::BlockArgument> inputs);

  bool hasRows(mlir::Value value) const { return places_.contains(value); }
  // Cuts the rows of the value further by the axis, evenly: its examples, within the parts that they have, or
  // else the next dimension. Returns false and changes nothing if the axis divides neither, or if the value
  // has no rows.
  bool cut(mlir::Value value, ir::Sharding& sharding, mlir::StringAttr axis, ir::MeshAttr mesh) const;

 private:
  struct Place {
    unsigned dim;
    int64_t examples;  // They are the outermost iterations of the dimension.
  };
  void follow(mlir::Operation* op);

  llvm::DenseMap<mlir::Value, Place> places_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_PARTITION_BATCH_ROWS_H_
