// The ops and values around work that the ranks of an axis share (pass `shard`).
//
//   RowReaders readers;
//   readers.find(function, rows, works);           // works(op, axis): the ranks share the op's work.
//   readers.wantAllRows(op, tensor)                // True: rows of its operands would be gathered at once.
//
//   WorkFeeds feeds;
//   feeds.find(function, mesh, works);
//   feeds.contains(gradient, data)                 // False: its sum may travel with others, later.
#ifndef SINTER_PASSES_PARTITION_SHARED_WORK_H_
#define SINTER_PASSES_PARTITION_SHARED_WORK_H_

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {

using WorksAlong = llvm::function_ref<bool(mlir::Operation* op, mlir::StringAttr axis)>;

// Readers that want all rows of what they read: ops that work with parts of variables, and ops on small
// values that are made large for these alone. So a number a row of logits, whose words are cut, is not made
// as large as the logits in rows.
class RowReaders {
 public:
  void find(mlir::func::FuncOp function, llvm::ArrayRef<mlir::StringAttr> rows, WorksAlong works);

  bool wantAllRows(mlir::Operation* op, mlir::StringAttr axis) const {
    return works_.contains({op, axis}) || widens_.contains({op, axis});
  }
  // True for ops that make small values large.
  bool widens(mlir::Operation* op, mlir::StringAttr axis) const { return widens_.contains({op, axis}); }

 private:
  llvm::DenseSet<std::pair<mlir::Operation*, mlir::StringAttr>> works_, widens_;
};

// Values on which ops depend whose work the ranks share, by the axis of these ranks.
class WorkFeeds {
 public:
  void find(mlir::func::FuncOp function, llvm::ArrayRef<mlir::StringAttr> axes, WorksAlong works);
  bool contains(mlir::Value value, mlir::StringAttr axis) const { return feeds_.contains({value, axis}); }

 private:
  llvm::DenseSet<std::pair<mlir::Value, mlir::StringAttr>> feeds_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_PARTITION_SHARED_WORK_H_
