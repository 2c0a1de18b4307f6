// FunctionPartition: rewrites one function for several devices that share its batch (pass `partition`).
//
//   Replicas replicas{.devices = {gpu0, gpu1}, .scale = PartScale::kGlobalMean, .bucket_bytes = 25 << 20};
//   FunctionPartition(function, sharding, replicas).run();       // Erases `function`.
#ifndef SINTER_PASSES_PARTITION_FUNCTION_PARTITION_H_
#define SINTER_PASSES_PARTITION_FUNCTION_PARTITION_H_

#include <string>
#include <utility>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/passes/partition/batch_sharding.h"
#include "sinter/passes/partition/main_updates.h"

namespace sinter {

// Meaning of the sum over the devices of gradients that were each divided by the whole batch.
enum class PartScale { kGlobalMean, kMeanOfMeans, kSum };

// Options that hold for all functions.
struct Replicas {
  llvm::SmallVector<ir::DeviceAttr> devices;
  PartScale scale = PartScale::kGlobalMean;
  int64_t bucket_bytes = 0;
  bool report = false;
  const MainUpdates* main = nullptr;  // Null if every device computes every new value.

  size_t count() const { return devices.size(); }
};

// Name of a variable's replica on the device of this rank; rank 0 has the variable itself.
std::string ReplicaName(llvm::StringRef variable, size_t rank);

// Rewrites one function into a new one, inserted beside it.
class FunctionPartition {
 public:
  FunctionPartition(mlir::func::FuncOp function, const BatchSharding& sharding, const Replicas& replicas)
      : function_(function), sharding_(sharding), replicas_(replicas), builder_(function) {}

  void run();

 private:
  // One value for each device. Of a value that only the first device has, the others are null.
  using Parts = llvm::SmallVector<mlir::Value>;

  void findTerms();
  bool isAddedBeforeTravel(mlir::Operation* op) const;
  void addArguments();
  void addInput(mlir::BlockArgument argument, mlir::DictionaryAttr attributes);
  void addVariable(mlir::BlockArgument argument, mlir::DictionaryAttr attributes);
  void runOp(mlir::Operation* op);
  void runOnMain(mlir::Operation* op);
  mlir::Operation* cloneOn(mlir::Operation* op, size_t rank, const ir::ShardingRule* rule);
  mlir::Value operandOn(mlir::Operation* op, unsigned operand, size_t rank, const ir::ShardingRule* rule);
  void combine(mlir::Operation* op, ir::ReduceKind combine);
  void scaleGradient(mlir::Operation* op);
  void flush(mlir::Type element);
  void runLateOps();
  Parts& whole(mlir::Value value, mlir::Operation* reader);
  mlir::Value sliceOf(mlir::Value value, const SplitBatch& wanted, size_t rank, mlir::Location loc);
  mlir::Value makePart(mlir::Value from, const SplitBatch& wanted, size_t rank, mlir::Location loc);
  void broadcast(llvm::ArrayRef<mlir::Value> values, mlir::Location loc);
  void addReturn(mlir::func::ReturnOp op);

  bool isOnMain(mlir::Value value) const { return replicas_.count() > 1 && !values_.find(value)->second[1]; }
  mlir::ArrayAttr group() {
    llvm::SmallVector<mlir::Attribute> devices(replicas_.devices.begin(), replicas_.devices.end());
    return builder_.getArrayAttr(devices);
  }
  // Constants get no device: rewrites share them, and `place-constants` gives each device its own.
  template <typename Op>
  Op on(size_t rank, Op op) {
    mlir::Operation* placed = op;
    bool is_constant = placed->getNumOperands() == 0 && mlir::isPure(placed);
    if (!is_constant) ir::SetDevice(placed, replicas_.devices[rank]);
    return op;
  }

  mlir::func::FuncOp function_, result_;
  const BatchSharding& sharding_;
  const Replicas& replicas_;
  mlir::OpBuilder builder_;
  llvm::DenseMap<mlir::Value, Parts> values_, wholes_;  // wholes_: split values, gathered.
  llvm::DenseMap<std::pair<mlir::Value, size_t>, llvm::SmallVector<std::pair<SplitBatch, mlir::Value>>>
      slices_;
  // Sums that are still waiting for their all_reduce.
  llvm::MapVector<mlir::Type, llvm::SmallVector<mlir::Value>> buckets_;
  // Values with one partial sum on each device, which only late ops read.
  llvm::DenseSet<mlir::Value> terms_;
  llvm::DenseSet<mlir::Value> late_values_;  // Sums that travel in buckets, and values computed from them.
  llvm::SmallVector<mlir::Operation*> late_ops_;  // Ops that read late_values_.
  llvm::SmallVector<mlir::Type> argument_types_;
  llvm::SmallVector<mlir::DictionaryAttr> argument_attributes_;
  int64_t channel_ = 0;
};

}  // namespace sinter

#endif  // SINTER_PASSES_PARTITION_FUNCTION_PARTITION_H_
