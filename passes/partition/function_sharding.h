// FunctionSharding: chooses how the ranks of a mesh share each op of a function, and writes the choices (pass
// `shard`).
//
//   // Arguments and variables have their shardings already.
//   if (failed(FunctionSharding(function, mesh, cuts, /*strict=*/true).run())) ...
//
// 1. Wishes. The new value of a variable that is cut for storage alone (kStoredAttr) is wished for in the
//    variable's parts, and so are the values from which pointwise ops compute it: a gradient is scattered
//    rather than combined everywhere.
// 2. Forward, in program order. An op runs on the parts that its operands have, along the factor for which
// the
//    fewest bytes are gathered. Parts that exist for storage alone give way to others.
// 3. Terms of a sum pass ops that are linear in them. Before any other reader they settle: combined on every
//    rank, or in the parts that are wished for. A variable that is kept as terms wishes for its new value as
//    terms: ops that compute it from terms run on terms, whoever else reads these.
// 4. Backward. An op that every rank would compute whole is computed in the parts that all its readers want.
#ifndef SINTER_PASSES_PARTITION_FUNCTION_SHARDING_H_
#define SINTER_PASSES_PARTITION_FUNCTION_SHARDING_H_

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/sharding.h"
#include "sinter/passes/partition/op_sharding.h"
#include "sinter/passes/partition/reshard_reasons.h"
#include "sinter/passes/partition/sharding_wishes.h"
#include "sinter/passes/partition/variable_cuts.h"

namespace sinter {

class FunctionSharding : private ReshardReasons::Parts {
 public:
  FunctionSharding(mlir::func::FuncOp function, ir::MeshAttr mesh, const VariableCuts& cuts, bool strict);
  FunctionSharding(const FunctionSharding&) = delete;
  FunctionSharding& operator=(const FunctionSharding&) = delete;

  // An error with `strict` if an op needs all of a value that is cut for other reasons than storage, with the
  // line of the op and that of the input or variable whose cut is the cause.
  mlir::LogicalResult run();

 private:
  using Axes = llvm::SmallVector<mlir::StringAttr, 1>;

  void forward(mlir::Operation* op);
  bool runOnTerms(mlir::Operation* op);
  llvm::SmallVector<unsigned> termsThatPass(mlir::Operation* op, const ir::FactorRule& rule);
  void cutAlong(mlir::Operation* op, OpSharding& sharding, mlir::StringAttr axis);
  void settle(mlir::Value value);
  Axes cutFurther(ir::Sharding& sharding, const ir::Sharding& wish) const;
  void put(mlir::Operation* op, OpSharding sharding);
  void putStored(mlir::Operation* op, const OpSharding& sharding);
  void backward(mlir::Operation* op);
  void findWork();
  void write();
  mlir::Value read(mlir::Value value, const ir::Sharding& to, mlir::Operation* reader);
  mlir::Value reshard(mlir::Value value, const ir::Sharding& to, mlir::Operation* reader);

  // The sharding that readers see: of terms, the one in which they settle.
  const ir::Sharding& readable(mlir::Value value) const;
  const ir::Sharding* find(mlir::Value value) const override;
  bool isStored(mlir::Value value, mlir::StringAttr axis) const override;
  // True if storage is the only reason why the axis cuts values that the op reads or makes.
  bool isStored(mlir::Operation* op, mlir::StringAttr axis) const;
  bool mayWait(mlir::Value value) const;

  mlir::func::FuncOp function_;
  ir::MeshAttr mesh_;
  const VariableCuts& cuts_;
  const ShardingWishes wishes_;
  const bool strict_;
  bool failed_ = false;
  ReshardReasons reasons_;
  llvm::DenseMap<mlir::Operation*, OpSharding> ops_;
  llvm::DenseMap<mlir::Value, ir::Sharding> values_;
  llvm::DenseMap<mlir::Value, ir::Sharding> settled_;  // Shardings in which terms settle.
  // Axes that cut a value for storage alone.
  llvm::DenseMap<mlir::Value, Axes> stored_;
  // Values that ops on other than stored parts depend on, by the axis of these parts.
  llvm::DenseSet<std::pair<mlir::Value, mlir::StringAttr>> feeds_;

  struct Reshard {
    ir::ReshardOp op;
    int64_t gathered_before;  // Bytes that had been gathered when it was made.
  };
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Reshard>> reshards_;
  int64_t gathered_bytes_ = 0;  // Bytes of values that are cut for storage.
};

}  // namespace sinter

#endif  // SINTER_PASSES_PARTITION_FUNCTION_SHARDING_H_
