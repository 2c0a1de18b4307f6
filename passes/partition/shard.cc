#include "llvm/ADT/StringSet.h"
#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/sharding.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/program/collective.h"
#include "sinter/passes/partition/function_sharding.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_SHARD
#include "passes/passes.h.inc"

namespace {

using ir::Sharding;
using mlir::Operation;
using mlir::StringAttr;
using mlir::func::FuncOp;

class ShardPass : public impl::ShardBase<ShardPass> {
 public:
  using ShardBase::ShardBase;

  void runOnOperation() override {
    mesh_ = ir::MeshOf(getOperation());
    if (!mesh_) return;
    if (mlir::failed(findAxes()) || mlir::failed(checkNoCollectives()) || mlir::failed(checkWholeInputs())) {
      return signalPassFailure();
    }
    const VariableCuts cuts(getOperation());
    ShardSettings settings{.mesh = mesh_, .cuts = cuts, .strict = strict, .report = report};
    settings.rows.assign(row_axes_);
    for (FuncOp function : getOperation().getOps<FuncOp>()) {
      for (unsigned i = 0; i < function.getNumResults(); ++i) changed_.insert(VariableOfResult(function, i));
    }
    for (FuncOp function : getOperation().getOps<FuncOp>()) {
      // The gradient of a user's kernel never runs itself.
      if (function.isPrivate()) continue;
      if (mlir::failed(cutInputs(function))) return signalPassFailure();
      setVariables(function, cuts);
      llvm::SmallVector<mlir::BlockArgument> batch;
      for (mlir::BlockArgument argument : function.getArguments()) {
        if (hasBatch(argument) || isSharedData(argument, cuts)) batch.push_back(argument);
      }
      if (batch.empty()) reportNoRows(function);
      if (mlir::failed(FunctionSharding(function, settings, batch).run())) return signalPassFailure();
    }
  }

 private:
  // The batch of a function: its size, and the input that has it.
  struct Batch {
    int64_t rows = 0;
    mlir::BlockArgument input;
  };

  mlir::LogicalResult findAxes();
  mlir::LogicalResult checkNoCollectives();
  mlir::LogicalResult checkWholeInputs();
  mlir::FailureOr<Batch> batchOf(FuncOp function);
  mlir::LogicalResult checkEven(FuncOp function, const Batch& batch);
  mlir::LogicalResult cutInputs(FuncOp function);
  void setVariables(FuncOp function, const VariableCuts& cuts);
  bool hasBatch(mlir::BlockArgument argument);
  bool isSharedData(mlir::BlockArgument argument, const VariableCuts& cuts);
  void reportNoRows(FuncOp function);

  // Parts of a batch.
  int64_t count() { return ir::CountParts(mesh_, axes_); }

  ir::MeshAttr mesh_;
  llvm::SmallVector<StringAttr> axes_;  // Axes that share the batch, outermost first.
  llvm::StringSet<> changed_;           // Variables that a function changes, and "".
  llvm::SmallVector<StringAttr, 1>
      row_axes_;  // Axes that share rows between the ops that work with variables.
};

mlir::LogicalResult ShardPass::findAxes() {
  auto find = [&](llvm::ArrayRef<std::string> names, auto& found, llvm::StringRef what) {
    for (const std::string& name : names) {
      const auto axis = StringAttr::get(&getContext(), name);
      if (!mesh_.find(axis)) {
        return mlir::LogicalResult(getOperation().emitError()
                                   << what << " cut along axis \"" << name << "\", and the mesh is " << mesh_
                                   << "; name one of its axes");
      }
      found.push_back(axis);
    }
    return mlir::success();
  };
  if (mlir::failed(find(axes, axes_, "the batch is")) || mlir::failed(find(rows, row_axes_, "rows are"))) {
    return mlir::failure();
  }
  llvm::sort(axes_, [&](StringAttr a, StringAttr b) { return *mesh_.find(a) < *mesh_.find(b); });
  return mlir::success();
}

mlir::LogicalResult ShardPass::checkNoCollectives() {
  mlir::WalkResult walk = getOperation().walk([&](Operation* op) {
    if (!ir::Collective::Of(op)) return mlir::WalkResult::advance();
    op->emitError(
        "this exchange names its devices, and a program for several ranks has only the devices of one; "
        "leave it out, because values that need the whole batch are combined without it, or leave "
        "out the data parallelism");
    return mlir::WalkResult::interrupt();
  });
  return mlir::failure(walk.wasInterrupted());
}

mlir::LogicalResult ShardPass::checkWholeInputs() {
  llvm::StringSet<> known;
  for (FuncOp function : getOperation().getOps<FuncOp>()) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      if (auto name = function.getArgAttrOfType<mlir::StringAttr>(i, ir::kInputAttr)) known.insert(name);
    }
  }
  for (const std::string& name : whole) {
    if (known.contains(name)) continue;
    return getOperation().emitError()
           << "whole_inputs names \"" << name << "\", and no function has an input of that name";
  }
  return mlir::success();
}

// True if a run of the function changes a variable.
bool Updates(FuncOp function) {
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    if (function.getResultAttr(i, ir::kVariableAttr)) return true;
  }
  return false;
}

// Returns no rows if no input has a batch, or if the function can be computed whole because its inputs
// differ.
mlir::FailureOr<ShardPass::Batch> ShardPass::batchOf(FuncOp function) {
  Batch batch;
  for (mlir::BlockArgument argument : function.getArguments()) {
    if (!hasBatch(argument)) continue;
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), ir::kInputAttr);
    const int64_t size = ir::TypeOf(argument).getDimSize(0);
    if (batch.input && batch.rows != size) {
      if (!Updates(function)) return Batch();
      auto first =
          function.getArgAttrOfType<mlir::StringAttr>(batch.input.getArgNumber(), ir::kInputAttr).getValue();
      return mlir::emitError(argument.getLoc())
             << "input \"" << name.getValue() << "\" of function \"" << function.getSymName() << "\" has "
             << size << " rows, input \"" << first << "\" " << batch.rows
             << ": the batch cannot be cut the same way in both; name what every device gets whole in "
                "whole_inputs";
    }
    if (!batch.input) batch = {size, argument};
  }
  return batch;
}

mlir::LogicalResult ShardPass::checkEven(FuncOp function, const Batch& batch) {
  if (!even || batch.rows % count() == 0 || !Updates(function)) return mlir::success();
  auto name = function.getArgAttrOfType<mlir::StringAttr>(batch.input.getArgNumber(), ir::kInputAttr);
  return mlir::emitError(batch.input.getLoc())
         << "input \"" << name.getValue() << "\" of function \"" << function.getSymName()
         << "\" has a batch of " << batch.rows << ", which is not a multiple of the " << count()
         << " devices; the nearest are " << batch.rows / count() * count() << " and "
         << (batch.rows / count() + 1) * count() << ", or set even = false";
}

// True for an input of which each rank gets rows.
bool ShardPass::hasBatch(mlir::BlockArgument argument) {
  auto function = llvm::cast<FuncOp>(argument.getOwner()->getParentOp());
  auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), ir::kInputAttr);
  return name && ir::TypeOf(argument).getRank() > 0 && !llvm::is_contained(whole, name.str());
}

// True for a variable whose rows the ranks share, not for storage alone, and which no function changes: data
// that stay on the devices.
bool ShardPass::isSharedData(mlir::BlockArgument argument, const VariableCuts& cuts) {
  const llvm::StringRef name =
      VariableOfArgument(llvm::cast<FuncOp>(argument.getOwner()->getParentOp()), argument.getArgNumber());
  const ir::ShardingAttr cut = name.empty() ? nullptr : cuts.of(name);
  if (!cut || ir::TypeOf(argument).getRank() == 0 || changed_.contains(name)) return false;
  const Sharding sharding = Sharding::Of(cut);
  const auto& axes = sharding.dims.front().front().axes;
  return !axes.empty() && llvm::none_of(axes, [&](StringAttr axis) {
    return llvm::is_contained(row_axes_, axis) || cuts.isStored(name, axis);
  });
}

void ShardPass::reportNoRows(FuncOp function) {
  if (!report || row_axes_.empty()) return;
  mlir::emitRemark(function.getLoc())
      << "every rank of axis " << row_axes_.front() << " has all rows in function \"" << function.getSymName()
      << "\": rows are those of a batch, and no input has one, nor does another axis cut data in a variable";
}

mlir::LogicalResult ShardPass::cutInputs(FuncOp function) {
  if (axes_.empty()) return mlir::success();
  mlir::FailureOr<Batch> batch = batchOf(function);
  if (mlir::failed(batch) || mlir::failed(checkEven(function, *batch))) return mlir::failure();
  const bool is_cut = batch->rows % count() == 0 || !even;
  if (!is_cut || batch->rows == 0) {
    if (report && batch->rows > 0) {
      mlir::emitRemark(function.getLoc())
          << "every rank computes function \"" << function.getSymName() << "\" whole: its batch of "
          << batch->rows << " is not a multiple of the " << count() << " ranks that share it";
    }
    return mlir::success();
  }
  for (mlir::BlockArgument argument : function.getArguments()) {
    if (!hasBatch(argument)) continue;
    Sharding rows = Sharding::Whole(ir::TypeOf(argument));
    for (StringAttr axis : axes_) rows.cut(0, axis);
    ir::SetShardingOf(argument, rows);
  }
  return mlir::success();
}

void ShardPass::setVariables(FuncOp function, const VariableCuts& cuts) {
  for (mlir::BlockArgument argument : function.getArguments()) {
    const ir::ShardingAttr cut = cuts.of(VariableOfArgument(function, argument.getArgNumber()));
    if (cut) ir::SetShardingOf(argument, Sharding::Of(cut));
  }
}

}  // namespace
}  // namespace sinter
