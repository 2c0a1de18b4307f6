// LocalFunction: rewrites a function with shardings into the function that one rank runs (pass `localise`).
//
//   LocalFunction(function, settings, ranks).build();
//
// Ranks whose values have equal types share one function. A number that differs between them is an argument
// (ir/dialect/mesh.h), and an exchange between them is one op over axes of the mesh.
#ifndef SINTER_PASSES_PARTITION_LOCAL_FUNCTION_H_
#define SINTER_PASSES_PARTITION_LOCAL_FUNCTION_H_

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "sinter/ir/dialect/factor_rule.h"
#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/sharding.h"
#include "sinter/passes/partition/exchange_buckets.h"
#include "sinter/passes/partition/rank_builder.h"
#include "sinter/passes/partition/rank_set.h"

namespace sinter {

// Settings that all functions of a program share.
struct LocalSettings {
  ir::MeshAttr mesh;
  int64_t bucket_bytes = 0;      // At most, unless one sum is larger.
  int64_t copied_sum_bytes = 0;  // RankBuilder::setCopiedSumBytes.
  bool report = false;
};

class LocalFunction {
 public:
  LocalFunction(mlir::func::FuncOp function, const LocalSettings& settings, const RankSet& ranks);
  LocalFunction(const LocalFunction&) = delete;
  LocalFunction& operator=(const LocalFunction&) = delete;

  // Inserts the new function before the old one, which the caller erases. Call it once.
  mlir::func::FuncOp build();

 private:
  struct PlacingListener : mlir::OpBuilder::Listener {
    void notifyOperationInserted(mlir::Operation* op, mlir::OpBuilder::InsertPoint) override;
    ir::DeviceAttr device;
  };

  void addArguments();
  mlir::Value addArgument(mlir::RankedTensorType type, mlir::Location loc, mlir::DictionaryAttr attributes);
  mlir::Value addRankValue(const RankNumber& number);
  void place(llvm::ArrayRef<mlir::Value> results);
  void runOp(mlir::Operation* op);
  void runReshard(ir::ReshardOp op);
  mlir::Value combined(mlir::Value value, ir::Sharding& now, const ir::Sharding& to, ir::ReshardOp op);
  mlir::Value gathered(mlir::Value value, ir::Sharding& now, const ir::Sharding& to, ir::ReshardOp op);
  mlir::Value cut(mlir::Value value, ir::Sharding& now, const ir::Sharding& to, ir::ReshardOp op);
  mlir::Value wholeInput(ir::ReshardOp op);
  void addToBucket(ir::ReshardOp op);
  void flush(size_t bucket);
  void runOrDefer(mlir::Operation* op);
  void runLateOps();
  mlir::Value partOfSplat(mlir::Operation* op, const ir::Sharding& to);
  mlir::Value madeAnew(mlir::Value value, const ir::Sharding& to, ir::ReshardOp op);
  void addReturn(mlir::func::ReturnOp op);
  void dropUnreadRankValues();
  void reportGather(ir::ReshardOp op);

  mlir::func::FuncOp function_, result_;
  const LocalSettings& settings_;
  const RankSet& ranks_;
  PlacingListener listener_;  // Puts new ops on the device of the op that is rewritten.
  mlir::OpBuilder builder_;
  RankBuilder rank_builder_;
  llvm::DenseMap<mlir::Value, mlir::Value> values_;  // This rank's part of each value.
  // Sums that wait for their all_reduce.
  struct Bucket {
    BucketKind kind;
    llvm::SmallVector<ir::ReshardOp> sums = {};
  };
  llvm::SmallVector<Bucket> buckets_;
  const llvm::DenseSet<mlir::Operation*> last_of_buckets_;
  llvm::DenseSet<mlir::Value> late_values_;       // Sums that may wait, and values computed from them.
  llvm::SmallVector<mlir::Operation*> late_ops_;  // Ops that read late_values_.
  llvm::SmallVector<mlir::Type> argument_types_;
  llvm::SmallVector<mlir::DictionaryAttr> argument_attributes_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_PARTITION_LOCAL_FUNCTION_H_
