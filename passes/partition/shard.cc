#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/sharding.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/plan/plan_ops.h"
#include "sinter/ir/program/collective.h"
#include "sinter/passes/partition/op_sharding.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_SHARD
#include "passes/passes.h.inc"

namespace {

using ir::Sharding;
using mlir::Operation;
using mlir::StringAttr;
using mlir::Value;
using mlir::func::FuncOp;

int64_t BytesOfTensor(Value value) { return plan_ir::TensorBytes(ir::TypeOf(value)); }

// Chooses how the ranks share each op of a function whose inputs have shardings, and writes the choices.
class FunctionSharding {
 public:
  FunctionSharding(FuncOp function, ir::MeshAttr mesh) : function_(function), mesh_(mesh) {
    for (Value argument : function.getArguments()) {
      values_[argument] = ir::ShardingOf(argument).canonical(mesh);
    }
  }

  void run() {
    auto ops = function_.getBody().front().without_terminator();
    for (Operation& op : ops) forward(&op);
    for (Operation& op : ops) passTerms(&op);
    for (Operation& op : llvm::reverse(ops)) settleTerms(&op);
    for (Operation& op : llvm::reverse(ops)) backward(&op);
    write();
  }

 private:
  const Sharding& of(Value value) const { return values_.find(value)->second; }
  OpSharding& of(Operation* op) { return ops_.find(op)->second; }
  void forward(Operation* op);
  void cutAlong(Operation* op, OpSharding& sharding, StringAttr axis);
  void passTerms(Operation* op);
  void settleTerms(Operation* op);
  void put(Operation* op, OpSharding sharding);
  void backward(Operation* op);
  void write();
  Value reshard(Value value, const Sharding& to, Operation* reader);

  FuncOp function_;
  ir::MeshAttr mesh_;
  llvm::DenseMap<Operation*, OpSharding> ops_;
  llvm::DenseMap<Value, Sharding> values_;
  llvm::DenseMap<Value, llvm::SmallVector<ir::ReshardOp>> reshards_;
};

void FunctionSharding::forward(Operation* op) {
  OpSharding sharding(op, mesh_);
  for (StringAttr axis : mesh_.getNames()) cutAlong(op, sharding, axis);
  put(op, std::move(sharding));
}

void FunctionSharding::put(Operation* op, OpSharding sharding) {
  for (auto [r, result] : llvm::enumerate(op->getResults())) values_[result] = sharding.result(r);
  ops_.insert_or_assign(op, std::move(sharding));
}

// Runs the op on the parts that its operands have along the axis, where that gathers fewer bytes than running the
// whole op on every rank. Parts of an operand that every rank has whole cost nothing.
void FunctionSharding::cutAlong(Operation* op, OpSharding& sharding, StringAttr axis) {
  auto bytesGathered = [&](std::optional<unsigned> factor) {
    int64_t bytes = 0;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      if (!of(operand).isCutBy(axis)) continue;
      if (!factor || sharding.factorAt(i, of(operand), axis) != factor) bytes += BytesOfTensor(operand);
    }
    return bytes;
  };
  std::optional<unsigned> best;
  int64_t least = bytesGathered(std::nullopt);
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (!of(operand).isCutBy(axis)) continue;
    std::optional<unsigned> factor = sharding.factorAt(i, of(operand), axis);
    if (!factor || bytesGathered(factor) >= least) continue;
    best = factor;
    least = bytesGathered(factor);
  }
  if (best) sharding.cut(*best, axis);
}

// Terms pass an op that is linear in them and reads nothing else in parts: the two gradients of a variable that is
// read twice are added before they travel.
void FunctionSharding::passTerms(Operation* op) {
  OpSharding sharding = of(op);
  if (sharding.isCut()) return;
  for (StringAttr axis : mesh_.getNames()) {
    llvm::SmallVector<unsigned> terms;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      const Sharding& parts = of(operand);
      const bool is_term = parts.isPartialOver(axis) && parts.combine == ir::ReduceKind::sum;
      if (is_term && operand.hasOneUse()) terms.push_back(i);
    }
    const bool is_linear = llvm::is_contained(sharding.rule().linear_in, terms);
    const bool agrees = !sharding.passesTerms() || sharding.terms() == llvm::ArrayRef(terms);
    if (is_linear && agrees) sharding.pass(terms, axis);
  }
  put(op, std::move(sharding));
}

// Terms that have more bytes after an op travel before it, unless they are then added to others: a bf16 gradient
// travels before its cast to f32.
void FunctionSharding::settleTerms(Operation* op) {
  OpSharding& sharding = of(op);
  if (!sharding.passesTerms()) return;
  int64_t before = 0, after = 0;
  for (unsigned i : sharding.terms()) before += BytesOfTensor(op->getOperand(i));
  for (Value result : op->getResults()) after += BytesOfTensor(result);
  const bool is_added =
      op->hasOneUse() && llvm::isa<ir::AddOp>(*op->user_begin()) && of(*op->user_begin()).passesTerms();
  if (after > before && !is_added) put(op, OpSharding(op, mesh_));
}

// An op that every rank would compute whole is computed in parts if all its readers want the same parts, and if
// parts of its operands cost nothing: so a mask is drawn on each rank for its own rows.
void FunctionSharding::backward(Operation* op) {
  OpSharding& sharding = of(op);
  if (op->getNumResults() != 1 || !mlir::isPure(op) || !of(op->getResult(0)).isWhole()) return;
  std::optional<Sharding> wanted;
  for (mlir::OpOperand& use : op->getUses()) {
    if (use.getOwner()->hasTrait<mlir::OpTrait::IsTerminator>()) return;
    Sharding parts = of(use.getOwner()).operand(use.getOperandNumber());
    if (parts.isWhole() || !parts.partial.empty() || (wanted && !(*wanted == parts))) return;
    wanted = parts;
  }
  if (!wanted) return;
  OpSharding cut(op, mesh_);
  for (StringAttr axis : mesh_.getNames()) {
    if (!wanted->isCutBy(axis)) continue;
    std::optional<unsigned> factor = cut.factorAtResult(0, *wanted, axis);
    if (!factor) return;
    cut.cut(*factor, axis);
  }
  if (!(cut.result(0) == *wanted)) return;
  sharding = cut;
  values_[op->getResult(0)] = *wanted;
}

void FunctionSharding::write() {
  for (Operation& op : llvm::make_early_inc_range(function_.getBody().front().without_terminator())) {
    const OpSharding& sharding = of(&op);
    for (mlir::OpOperand& operand : op.getOpOperands()) {
      operand.set(reshard(operand.get(), sharding.operand(operand.getOperandNumber()), &op));
    }
    for (Value result : op.getResults()) {
      if (!of(result).isWhole()) ir::SetShardingOf(result, of(result));
    }
  }
  Operation* last = function_.getBody().front().getTerminator();
  for (mlir::OpOperand& operand : last->getOpOperands()) {
    operand.set(reshard(operand.get(), Sharding::Whole(ir::TypeOf(operand.get())), last));
  }
}

// Returns the value in the parts of `to`. One op serves all readers of these parts; it has the first reader's
// line.
Value FunctionSharding::reshard(Value value, const Sharding& to, Operation* reader) {
  if (of(value) == to.canonical(mesh_)) return value;
  ir::ShardingAttr attribute = to.attribute(function_.getContext());
  for (ir::ReshardOp made : reshards_[value]) {
    if (made.getTo() == attribute) return made;
  }
  mlir::OpBuilder builder(function_.getContext());
  builder.setInsertionPointAfterValue(value);
  auto made = builder.create<ir::ReshardOp>(reader->getLoc(), value.getType(), value, attribute);
  if (auto device = ir::DeviceOf(value)) ir::SetDevice(made, device);
  reshards_[value].push_back(made);
  return made;
}

class ShardPass : public impl::ShardBase<ShardPass> {
 public:
  using ShardBase::ShardBase;

  void runOnOperation() override {
    mesh_ = ir::MeshOf(getOperation());
    if (!mesh_) return;
    if (mlir::failed(findAxis()) || mlir::failed(checkNoCollectives()) || mlir::failed(checkWholeInputs())) {
      return signalPassFailure();
    }
    for (FuncOp function : getOperation().getOps<FuncOp>()) {
      // The gradient of a user's kernel never runs itself.
      if (function.isPrivate()) continue;
      if (mlir::failed(cutInputs(function))) return signalPassFailure();
      FunctionSharding(function, mesh_).run();
    }
  }

 private:
  // The batch of a function: its size, and the input that has it.
  struct Batch {
    int64_t rows = 0;
    mlir::BlockArgument input;
  };

  mlir::LogicalResult findAxis();
  mlir::LogicalResult checkNoCollectives();
  mlir::LogicalResult checkWholeInputs();
  mlir::FailureOr<Batch> batchOf(FuncOp function);
  mlir::LogicalResult checkEven(FuncOp function, const Batch& batch);
  mlir::LogicalResult cutInputs(FuncOp function);
  bool hasBatch(mlir::BlockArgument argument);

  int64_t count() { return ir::CountParts(mesh_, axis_); }

  ir::MeshAttr mesh_;
  StringAttr axis_;
};

mlir::LogicalResult ShardPass::findAxis() {
  axis_ = StringAttr::get(&getContext(), axis);
  if (mesh_.find(axis_)) return mlir::success();
  return getOperation().emitError() << "the batch is cut along axis \"" << axis << "\", and the mesh is "
                                    << mesh_ << "; name one of its axes";
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
    return getOperation().emitError() << "DataParallel::whole_inputs names \"" << name
                                      << "\", and no function has an input of that name";
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

// Returns no rows if no input has a batch, or if the function can be computed whole because its inputs differ.
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
                "DataParallel::whole_inputs";
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
         << (batch.rows / count() + 1) * count() << ", or set DataParallel::even = false";
}

// True for an input of which each rank gets rows.
bool ShardPass::hasBatch(mlir::BlockArgument argument) {
  auto function = llvm::cast<FuncOp>(argument.getOwner()->getParentOp());
  auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), ir::kInputAttr);
  return name && ir::TypeOf(argument).getRank() > 0 && !llvm::is_contained(whole, name.str());
}

mlir::LogicalResult ShardPass::cutInputs(FuncOp function) {
  mlir::FailureOr<Batch> batch = batchOf(function);
  if (mlir::failed(batch) || mlir::failed(checkEven(function, *batch))) return mlir::failure();
  const bool is_cut = batch->rows % count() == 0 || !even;
  if (!is_cut || batch->rows == 0) {
    if (report && batch->rows > 0) {
      mlir::emitRemark(function.getLoc())
          << "every rank computes function \"" << function.getSymName() << "\" whole: its batch of "
          << batch->rows << " is not a multiple of the " << count() << " ranks of axis \"" << axis << "\"";
    }
    return mlir::success();
  }
  for (mlir::BlockArgument argument : function.getArguments()) {
    if (!hasBatch(argument)) continue;
    Sharding rows = Sharding::Whole(ir::TypeOf(argument));
    rows.cut(0, axis_);
    ir::SetShardingOf(argument, rows);
  }
  return mlir::success();
}

}  // namespace
}  // namespace sinter
