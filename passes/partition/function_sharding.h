// FunctionSharding: chooses how the ranks of a mesh share each op of a function, and writes the choices (pass
// `shard`).
//
//   // Arguments and variables have their shardings already.
//   if (failed(FunctionSharding(function, {.mesh = mesh, .cuts = cuts}, batch).run())) ...
//
// 1. Wishes (VariableWishes). The new value of a variable that is cut for storage alone (kStoredAttr) is
//    wished for in the variable's parts, and so are the values from which pointwise ops compute it: a
//    gradient is scattered rather than combined everywhere. The gradient of a table that ranks work with in
//    parts is computed in these parts.
// 2. Forward, in program order. An op runs on the parts that its operands have, along the factor for which
//    the fewest bytes are gathered. Parts that exist for storage alone, or as rows, give way to others.
// 3. Terms of a sum pass ops that are linear in them. Before any other reader they settle: combined on every
//    rank, or in the parts that are wished for, or as rows. A variable that is kept as terms wishes for its
//    new value as terms: ops that compute it from terms run on terms, whoever else reads these.
// 4. Backward. An op that every rank would compute whole is computed in the parts that all its readers want.
//
// Rows (Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", arXiv
// 2205.05198). Along an axis of ShardSettings::rows, terms of a value with examples (BatchRows) settle as
// some of its rows on each rank, unless an op reads them that works with parts of variables. Norms, dropouts
// and sums then run on these rows, and the next product gathers them.
#ifndef SINTER_PASSES_PARTITION_FUNCTION_SHARDING_H_
#define SINTER_PASSES_PARTITION_FUNCTION_SHARDING_H_

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/sharding.h"
#include "sinter/passes/partition/batch_rows.h"
#include "sinter/passes/partition/op_sharding.h"
#include "sinter/passes/partition/reshard_reasons.h"
#include "sinter/passes/partition/shared_work.h"
#include "sinter/passes/partition/variable_cuts.h"
#include "sinter/passes/partition/variable_wishes.h"

namespace sinter {

struct ShardSettings {
  ir::MeshAttr mesh;
  const VariableCuts& cuts;
  // Makes it an error if an op needs all of a value that is cut neither for storage nor as rows, with the
  // line of the op and that of the input or variable whose cut is the cause.
  bool strict = false;
  bool report = false;                               // Reports values whose rows stay whole.
  llvm::SmallVector<mlir::StringAttr, 1> rows = {};  // Axes that cut variables, and rows in between.
};

class FunctionSharding : private ReshardReasons::Parts {
 public:
  // Dimension 0 of the arguments `batch` is the batch.
  FunctionSharding(mlir::func::FuncOp function, const ShardSettings& settings,
                   llvm::ArrayRef<mlir::BlockArgument> batch);
  FunctionSharding(const FunctionSharding&) = delete;
  FunctionSharding& operator=(const FunctionSharding&) = delete;

  // Call it once.
  mlir::LogicalResult run();

 private:
  using Axes = llvm::SmallVector<mlir::StringAttr, 1>;

  void sweep();
  void forward(mlir::Operation* op);
  bool runOnTerms(mlir::Operation* op);
  void cutAlong(mlir::Operation* op, OpSharding& sharding, mlir::StringAttr axis);
  bool cutOwned(mlir::Operation* op, OpSharding& sharding, mlir::StringAttr axis) const;
  void settle(mlir::Value value);
  bool settlesInRows(mlir::Value value, mlir::StringAttr axis) const;
  void reportWholeRows();
  void put(mlir::Operation* op, OpSharding sharding);
  void putKinds(mlir::Operation* op, const OpSharding& sharding);
  void backward(mlir::Operation* op);
  bool isUpdate(mlir::Operation* op) const;
  void write();
  mlir::Value read(mlir::Value value, const ir::Sharding& to, mlir::Operation* reader);
  mlir::Value reshard(mlir::Value value, const ir::Sharding& to, mlir::Operation* reader);

  // The sharding that readers see: of terms, the one in which they settle.
  const ir::Sharding& readable(mlir::Value value) const;
  const ir::Sharding* find(mlir::Value value) const override;
  CutKind kindOf(mlir::Value value, mlir::StringAttr axis) const override;
  // Returns the kind for all values that the op reads or makes; kStored if the axis cuts none.
  CutKind kindOf(mlir::Operation* op, mlir::StringAttr axis) const;
  bool isRowAxis(mlir::StringAttr axis) const { return llvm::is_contained(settings_.rows, axis); }
  bool mayWait(mlir::Value value) const;

  mlir::func::FuncOp function_;
  const ShardSettings& settings_;
  const ir::MeshAttr mesh_;
  const BatchRows batch_;
  const VariableWishes wishes_;
  bool failed_ = false;
  bool cuts_rows_ = false;  // False in the sweeps that find out what reads rows.
  ReshardReasons reasons_;
  llvm::DenseMap<mlir::Operation*, OpSharding> ops_;
  llvm::DenseMap<mlir::Value, ir::Sharding> values_;
  llvm::DenseMap<mlir::Value, ir::Sharding> settled_;  // Shardings in which terms settle.
  // Axes that cut a value for other reasons than work.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<std::pair<mlir::StringAttr, CutKind>, 1>> kinds_;
  RowReaders readers_;
  WorkFeeds feeds_;  // The work is that of ops that are no updates, on other than stored parts.

  struct Reshard {
    ir::ReshardOp op;
    int64_t gathered_before;  // Bytes that had been gathered when it was made.
  };
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Reshard>> reshards_;
  int64_t gathered_bytes_ = 0;  // Bytes of values that are cut for storage or as rows.
};

}  // namespace sinter

#endif  // SINTER_PASSES_PARTITION_FUNCTION_SHARDING_H_
