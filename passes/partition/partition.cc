#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/program/collective.h"
#include "sinter/passes/partition/function_partition.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_PARTITION
#include "passes/passes.h.inc"

namespace {

using ir::DeviceAttr;
using mlir::Operation;
using mlir::func::FuncOp;

class PartitionPass : public impl::PartitionBase<PartitionPass> {
 public:
  using PartitionBase::PartitionBase;

  void runOnOperation() override {
    if (mlir::failed(readOptions()) || mlir::failed(checkUnplaced())) return signalPassFailure();
    llvm::SmallVector<FuncOp> functions;
    llvm::SmallVector<BatchSharding> shardings;
    for (FuncOp function : getOperation().getOps<FuncOp>()) {
      // The gradient of a user's kernel, which never runs itself.
      if (function.isPrivate()) continue;
      auto bounds = boundsOf(function);
      if (mlir::failed(bounds)) return signalPassFailure();
      functions.push_back(function);
      shardings.emplace_back(function, *bounds, llvm::SmallVector<std::string>(whole.begin(), whole.end()));
    }
    if (!checkNames(functions)) return signalPassFailure();
    std::optional<MainUpdates> main;
    if (update == "main") main.emplace(functions, shardings);
    replicas_.main = main ? &*main : nullptr;
    for (auto [function, sharding] : llvm::zip(functions, shardings)) {
      FunctionPartition(function, sharding, replicas_).run();
    }
    replicateVariables();
  }

 private:
  mlir::LogicalResult readOptions();
  mlir::LogicalResult checkUnplaced();
  mlir::FailureOr<llvm::SmallVector<int64_t>> boundsOf(FuncOp function);
  bool checkNames(llvm::ArrayRef<FuncOp> functions);
  void replicateVariables();

  Replicas replicas_;
};

mlir::LogicalResult PartitionPass::readOptions() {
  mlir::ModuleOp module = getOperation();
  replicas_ = Replicas();
  replicas_.bucket_bytes = bucketBytes;
  replicas_.report = report;
  for (const std::string& text : devices) {
    DeviceAttr device = DeviceAttr::parse(&getContext(), text);
    if (!device) return module.emitError() << "\"" << text << "\" is no device; expected one such as gpu:0";
    if (llvm::is_contained(replicas_.devices, device)) {
      return module.emitError() << "the devices of the batch name " << text << " twice";
    }
    if (!replicas_.devices.empty() && replicas_.devices[0].getKind() != device.getKind()) {
      return module.emitError() << "a batch cannot be shared by " << devices.front() << " and " << text
                                << ": CPUs exchange with CPUs, GPUs with GPUs; name devices of one kind";
    }
    replicas_.devices.push_back(device);
  }
  if (replicas_.devices.empty()) return module.emitError("no devices are named that share the batch");
  if (scale == "mean-of-means") {
    replicas_.scale = PartScale::kMeanOfMeans;
  } else if (scale == "sum") {
    replicas_.scale = PartScale::kSum;
  } else if (scale != "global-mean") {
    return module.emitError() << "unknown scale \"" << scale
                              << "\"; expected global-mean, mean-of-means or sum";
  }
  if (update == "replicated" || update == "main") return mlir::success();
  return module.emitError() << "unknown update \"" << update << "\"; expected replicated or main";
}

mlir::LogicalResult PartitionPass::checkUnplaced() {
  mlir::WalkResult walk = getOperation().walk([&](Operation* op) {
    bool placed = llvm::isa<ir::CopyOp>(op) || ir::Collective::Of(op);
    auto variable = llvm::dyn_cast<ir::VariableOp>(op);
    placed |= (variable || op->getParentOfType<FuncOp>()) && ir::DeviceOf(op);
    if (!placed) return mlir::WalkResult::advance();
    op->emitError()
        << (variable ? "variable \"" + variable.getSymName().str() + "\"" : "this op")
        << " is placed by the program, and one batch can be shared by several devices only where "
           "nothing else says what runs where; leave out the placement or the data parallelism, or "
           "build the model for each part of the batch and combine the gradients by AllReduce";
    return mlir::WalkResult::interrupt();
  });
  return mlir::failure(walk.wasInterrupted());
}

// Bounds of parts that differ by at most one; the larger parts come first.
mlir::FailureOr<llvm::SmallVector<int64_t>> PartitionPass::boundsOf(FuncOp function) {
  int64_t parts = static_cast<int64_t>(replicas_.count());
  std::optional<int64_t> batch;
  std::string first;
  for (mlir::BlockArgument argument : function.getArguments()) {
    auto name = function.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), ir::kInputAttr);
    auto type = ir::TypeOf(argument);
    if (!name || type.getRank() == 0 || llvm::is_contained(whole, name.str())) continue;
    int64_t size = type.getDimSize(0);
    if (batch && *batch != size) {
      return mlir::emitError(argument.getLoc())
             << "input \"" << name.getValue() << "\" of function \"" << function.getSymName() << "\" has "
             << size << " rows, input \"" << first << "\" " << *batch
             << ": the batch cannot be cut the same way in both; name what every device gets whole in "
                "DataParallel::whole_inputs";
    }
    batch = size, first = name.str();
    if (even && size % parts != 0) {
      return mlir::emitError(argument.getLoc())
             << "input \"" << name.getValue() << "\" of function \"" << function.getSymName()
             << "\" has a batch of " << size << ", which is not a multiple of the " << parts
             << " devices; the nearest are " << size / parts * parts << " and " << (size / parts + 1) * parts
             << ", or set DataParallel::even = false";
    }
  }
  llvm::SmallVector<int64_t> bounds = {0};
  int64_t rows = batch.value_or(0);
  for (int64_t r = 0; r < parts; ++r)
    bounds.push_back(bounds.back() + rows / parts + (r < rows % parts ? 1 : 0));
  return bounds;
}

bool PartitionPass::checkNames(llvm::ArrayRef<FuncOp> functions) {
  for (const std::string& name : whole) {
    bool known = llvm::any_of(functions, [&](FuncOp function) {
      for (unsigned i = 0; i < function.getNumArguments(); ++i) {
        auto input = function.getArgAttrOfType<mlir::StringAttr>(i, ir::kInputAttr);
        if (input && input.getValue() == name) return true;
      }
      return false;
    });
    if (known) continue;
    getOperation().emitError() << "DataParallel::whole_inputs names \"" << name
                               << "\", and no function has an input of that name";
    return false;
  }
  return true;
}

void PartitionPass::replicateVariables() {
  for (auto variable : llvm::make_early_inc_range(getOperation().getOps<ir::VariableOp>())) {
    ir::SetDevice(variable, replicas_.devices[0]);
    llvm::StringRef name = variable.getSymName();
    if (replicas_.main && replicas_.main->hasOnMainAlone(name)) continue;
    mlir::OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(variable);
    for (size_t r = 1; r < replicas_.count(); ++r) {
      auto replica = llvm::cast<ir::VariableOp>(builder.clone(*variable));
      replica.setSymName(ReplicaName(name, r));
      replica->setAttr(ir::kReplicaOfAttr, mlir::FlatSymbolRefAttr::get(&getContext(), name));
      ir::SetDevice(replica, replicas_.devices[r]);
    }
  }
}

}  // namespace
}  // namespace sinter
