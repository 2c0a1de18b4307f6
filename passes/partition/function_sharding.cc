#include "sinter/passes/partition/function_sharding.h"

#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/plan/plan_ops.h"

namespace sinter {

using ir::Sharding;
using mlir::Operation;
using mlir::StringAttr;
using mlir::Value;
using mlir::func::FuncOp;

namespace {

int64_t BytesOfTensor(Value value) { return plan_ir::TensorBytes(ir::TypeOf(value)); }

int64_t BytesOfResults(Operation* op) {
  int64_t bytes = 0;
  for (Value result : op->getResults()) bytes += BytesOfTensor(result);
  return bytes;
}

// A value of at least this size that is gathered from storage is gathered again for a reader that comes after
// gathers of kGathersBetween times its bytes: keeping it until then would undo what the storage saves.
constexpr int64_t kBytesToGatherAgain = int64_t{1} << 20;
constexpr int64_t kGathersBetween = 4;

}  // namespace

FunctionSharding::FunctionSharding(FuncOp function, ir::MeshAttr mesh, const VariableCuts& cuts, bool strict)
    : function_(function),
      mesh_(mesh),
      cuts_(cuts),
      wishes_(function, mesh, cuts),
      strict_(strict),
      reasons_(function, mesh, *this) {
  for (mlir::BlockArgument argument : function.getArguments()) {
    values_[argument] = ir::ShardingOf(argument).canonical(mesh);
    const llvm::StringRef variable = VariableOfArgument(function, argument.getArgNumber());
    for (StringAttr axis : mesh.getNames()) {
      if (cuts.isStored(variable, axis)) stored_[argument].push_back(axis);
    }
  }
}

mlir::LogicalResult FunctionSharding::run() {
  auto ops = function_.getBody().front().without_terminator();
  for (mlir::BlockArgument argument : function_.getArguments()) settle(argument);
  // The second time, an op knows what becomes of values that come after it.
  for (int sweep = 0; sweep < 2; ++sweep) {
    for (Operation& op : ops) forward(&op);
  }
  for (Operation& op : llvm::reverse(ops)) backward(&op);
  findWork();
  write();
  return mlir::failure(failed_);
}

const Sharding& FunctionSharding::readable(Value value) const {
  const Sharding& sharding = values_.find(value)->second;
  return sharding.partial.empty() ? sharding : settled_.find(value)->second;
}

const Sharding* FunctionSharding::find(Value value) const {
  auto found = values_.find(value);
  return found == values_.end() ? nullptr : &found->second;
}

bool FunctionSharding::isStored(Value value, StringAttr axis) const {
  auto found = stored_.find(value);
  return found != stored_.end() && llvm::is_contained(found->second, axis);
}

// Runs an op whose result is wished for as terms on terms, if it reads some and if nothing is gathered for
// it. An operand that is whole is then a term of the first rank. Returns false if the op runs otherwise.
bool FunctionSharding::runOnTerms(Operation* op) {
  const Sharding* const wished = op->getNumResults() == 1 ? wishes_.termsOf(op->getResult(0)) : nullptr;
  if (!wished) return false;
  const Sharding& wish = *wished;
  OpSharding sharding(op, mesh_);
  if (sharding.rule().linear_in.size() != 1) return false;
  const llvm::SmallVector<unsigned> terms = sharding.rule().linear_in[0];
  const bool reads_terms = llvm::any_of(terms, [&](unsigned i) {
    const Sharding& operand = values_.find(op->getOperand(i))->second;
    return operand.combine == ir::ReduceKind::sum && !operand.partial.empty();
  });
  if (!reads_terms) return false;
  for (StringAttr axis : AxesInOrder(mesh_, wish)) {
    if (!wish.isCutBy(axis)) continue;
    std::optional<unsigned> factor = sharding.factorAtResult(0, wish, axis);
    if (!factor) return false;
    sharding.cut(*factor, axis);
  }
  for (StringAttr axis : wish.partial) sharding.pass(terms, axis);
  if (!(sharding.result(0) == wish)) return false;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    const Sharding parts = sharding.operand(i);
    for (StringAttr axis : mesh_.getNames()) {
      if (values_.find(operand)->second.isCutBy(axis) && !parts.isCutBy(axis)) return false;
    }
  }
  put(op, std::move(sharding));
  return true;
}

void FunctionSharding::forward(Operation* op) {
  if (runOnTerms(op)) return;
  OpSharding sharding(op, mesh_);
  const llvm::SmallVector<unsigned> terms = termsThatPass(op, sharding.rule());
  Axes passing;
  if (!terms.empty()) passing.assign(values_.find(op->getOperand(terms[0]))->second.partial);
  llvm::SmallVector<Sharding> operands;
  for (Value operand : op->getOperands()) operands.push_back(readable(operand));
  for (StringAttr axis : AxesInOrder(mesh_, operands)) {
    if (!llvm::is_contained(passing, axis)) cutAlong(op, sharding, axis);
  }
  if (!passing.empty()) {
    OpSharding passes = sharding;
    for (StringAttr axis : passing) passes.pass(terms, axis);
    // The terms pass if nothing else has to change hands.
    const bool fits = llvm::all_of(
        terms, [&](unsigned i) { return passes.operand(i) == values_.find(op->getOperand(i))->second; });
    if (fits) {
      sharding = passes;
    } else {
      for (StringAttr axis : passing) cutAlong(op, sharding, axis);
    }
  }
  put(op, std::move(sharding));
}

// Returns the operands whose terms the op lets pass; none if they must settle before it. Terms that an op
// makes larger settle before it, unless its result is added to other terms: a bf16 gradient travels before
// its cast to f32.
llvm::SmallVector<unsigned> FunctionSharding::termsThatPass(Operation* op, const ir::FactorRule& rule) {
  auto isTerm = [&](Value value) {
    auto found = values_.find(value);
    return found != values_.end() && !found->second.partial.empty() &&
           found->second.combine == ir::ReduceKind::sum;
  };
  llvm::SmallVector<unsigned> terms;
  int64_t bytes = 0;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (values_.find(operand)->second.partial.empty()) continue;
    terms.push_back(i);
    bytes += BytesOfTensor(operand);
    const Sharding& first = values_.find(op->getOperand(terms[0]))->second;
    if (!isTerm(operand) || !operand.hasOneUse() || values_.find(operand)->second.partial != first.partial) {
      return {};
    }
  }
  if (terms.empty() || !llvm::is_contained(rule.linear_in, terms)) return {};
  if (BytesOfResults(op) > bytes) {
    auto sum = op->hasOneUse() ? llvm::dyn_cast<ir::AddOp>(*op->user_begin()) : ir::AddOp();
    if (!sum || !llvm::all_of(sum->getOperands(),
                              [&](Value value) { return !values_.contains(value) || isTerm(value); })) {
      return {};
    }
  }
  return terms;
}

// Runs the op on the parts that its operands have along the axis, where that gathers fewer bytes than running
// the whole op on every rank. Parts of an operand that every rank has whole cost nothing. Neither do gathers
// of values that are cut for storage: so their parts count only if no operand has others, and the result is
// no larger.
void FunctionSharding::cutAlong(Operation* op, OpSharding& sharding, StringAttr axis) {
  llvm::SmallVector<unsigned> cut;
  int64_t stored_bytes = 0;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (readable(operand).isCutBy(axis) && !isStored(operand, axis)) cut.push_back(i);
  }
  const bool is_stored = cut.empty();
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (!is_stored || !readable(operand).isCutBy(axis)) continue;
    cut.push_back(i);
    stored_bytes += BytesOfTensor(operand);
  }
  if (is_stored && BytesOfResults(op) > stored_bytes) return;
  auto factorOf = [&](unsigned i) { return sharding.factorAt(i, readable(op->getOperand(i)), axis); };
  auto bytesGathered = [&](std::optional<unsigned> factor) {
    int64_t bytes = 0;
    for (unsigned i : cut) {
      if (!factor || factorOf(i) != factor) bytes += BytesOfTensor(op->getOperand(i));
    }
    return bytes;
  };
  std::optional<unsigned> best;
  int64_t least = bytesGathered(std::nullopt);
  for (unsigned i : cut) {
    std::optional<unsigned> factor = factorOf(i);
    if (!factor || bytesGathered(factor) >= least) continue;
    best = factor;
    least = bytesGathered(factor);
  }
  if (best) sharding.cut(*best, axis);
}

void FunctionSharding::put(Operation* op, OpSharding sharding) {
  for (auto [r, result] : llvm::enumerate(op->getResults())) values_[result] = sharding.result(r);
  putStored(op, sharding);
  for (Value result : op->getResults()) settle(result);
  ops_.insert_or_assign(op, std::move(sharding));
}

// A result is cut for storage alone if that is why all operands are.
void FunctionSharding::putStored(Operation* op, const OpSharding& sharding) {
  Axes stored;
  for (StringAttr axis : mesh_.getNames()) {
    bool is_stored = false, has_others = false;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      if (!sharding.operand(i).isCutBy(axis) || !readable(operand).isCutBy(axis)) continue;
      (isStored(operand, axis) ? is_stored : has_others) = true;
    }
    if (is_stored && !has_others) stored.push_back(axis);
  }
  for (Value result : op->getResults()) stored_[result] = stored;
}

// Cuts the sharding by the axes of `wish` that it lacks, and returns them: in dimensions that it does not
// cut, and within the parts of an extent that both cut.
FunctionSharding::Axes FunctionSharding::cutFurther(Sharding& sharding, const Sharding& wish) const {
  Axes added;
  for (auto [dim, wished] : llvm::zip(sharding.dims, wish.dims)) {
    if (IsUncut(wished)) continue;
    const auto before = dim;
    if (IsUncut(dim)) {
      dim = wished;
    } else if (dim.size() == wished.size() && dim.front().size == wished.front().size) {
      const auto& axes = wished.front().axes;
      // The wish names the axes of storage alone.
      if (llvm::any_of(axes, [&](StringAttr axis) { return sharding.isCutBy(axis); })) continue;
      dim.front().axes.append(axes.begin(), axes.end());
      if (dim.front().size % ir::CountParts(mesh_, dim.front().axes) != 0) dim = before;
    }
    if (dim != before) {
      for (StringAttr axis : mesh_.getNames()) {
        if (wish.isCutBy(axis)) added.push_back(axis);
      }
    }
  }
  return added;
}

// Chooses in which parts readers see a value whose terms are combined: those wished for, else all of it.
void FunctionSharding::settle(Value value) {
  Sharding settled = values_.find(value)->second;
  if (settled.partial.empty()) return;
  settled.partial.clear();
  settled.combine.reset();
  if (const Sharding* wish = wishes_.partsOf(value)) {
    for (StringAttr axis : cutFurther(settled, *wish)) stored_[value].push_back(axis);
  }
  settled_.insert_or_assign(value, settled.canonical(mesh_));
}

// An op of which every rank would compute more than its readers want is computed in their parts, if parts of
// its operands cost nothing: so a mask is drawn on each rank for its own rows.
void FunctionSharding::backward(Operation* op) {
  if (op->getNumResults() != 1 || !mlir::isPure(op)) return;
  const Value result = op->getResult(0);
  const Sharding now = values_.find(result)->second;
  if (!now.partial.empty()) return;
  std::optional<Sharding> wanted;
  Axes stored(mesh_.getNames());
  for (mlir::OpOperand& use : op->getUses()) {
    Operation* reader = use.getOwner();
    if (reader->hasTrait<mlir::OpTrait::IsTerminator>()) return;
    const OpSharding& sharding = ops_.find(reader)->second;
    Sharding parts = sharding.operand(use.getOperandNumber());
    if (!parts.partial.empty() || (wanted && !(*wanted == parts))) return;
    wanted = parts;
    llvm::erase_if(stored,
                   [&](StringAttr axis) { return sharding.worksOn(axis) && !isStored(reader, axis); });
  }
  if (!wanted || *wanted == now || wanted->isWhole()) return;
  OpSharding cut(op, mesh_);
  for (StringAttr axis : AxesInOrder(mesh_, *wanted)) {
    if (now.isCutBy(axis) && !wanted->isCutBy(axis)) return;
    if (!wanted->isCutBy(axis)) continue;
    std::optional<unsigned> factor = cut.factorAtResult(0, *wanted, axis);
    if (!factor) return;
    cut.cut(*factor, axis);
  }
  if (!(cut.result(0) == *wanted)) return;
  const OpSharding& before = ops_.find(op)->second;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    const bool is_new = !(before.operand(i) == cut.operand(i));
    for (StringAttr axis : mesh_.getNames()) {
      const bool gathers = readable(operand).isCutBy(axis) && !(readable(operand) == cut.operand(i));
      if (is_new && gathers && !now.isCutBy(axis)) return;
    }
  }
  llvm::erase_if(stored, [&](StringAttr axis) { return !wanted->isCutBy(axis); });
  values_[result] = *wanted;
  stored_[result] = stored;
  ops_.insert_or_assign(op, std::move(cut));
}

bool FunctionSharding::isStored(Operation* op, StringAttr axis) const {
  bool is_stored = true;
  for (Value operand : op->getOperands()) {
    is_stored &= !readable(operand).isCutBy(axis) || isStored(operand, axis);
  }
  for (Value result : op->getResults()) {
    is_stored &= !values_.find(result)->second.isCutBy(axis) || isStored(result, axis);
  }
  return is_stored;
}

void FunctionSharding::findWork() {
  for (Operation& op : llvm::reverse(function_.getBody().front().without_terminator())) {
    for (StringAttr axis : mesh_.getNames()) {
      bool feeds = ops_.find(&op)->second.worksOn(axis) && !isStored(&op, axis);
      for (Value result : op.getResults()) feeds |= feeds_.contains({result, axis});
      if (!feeds) continue;
      for (Value operand : op.getOperands()) feeds_.insert({operand, axis});
    }
  }
}

// True if no op that the ranks of these terms share reads what the terms combine to.
bool FunctionSharding::mayWait(Value value) const {
  const Sharding& terms = values_.find(value)->second;
  return terms.combine == ir::ReduceKind::sum &&
         llvm::none_of(terms.partial, [&](StringAttr axis) { return feeds_.contains({value, axis}); });
}

void FunctionSharding::write() {
  for (Operation& op : llvm::make_early_inc_range(function_.getBody().front().without_terminator())) {
    const OpSharding& sharding = ops_.find(&op)->second;
    for (mlir::OpOperand& operand : op.getOpOperands()) {
      operand.set(read(operand.get(), sharding.operand(operand.getOperandNumber()), &op));
    }
    for (Value result : op.getResults()) {
      const Sharding& parts = values_.find(result)->second;
      if (!parts.isWhole()) ir::SetShardingOf(result, parts);
    }
  }
  Operation* last = function_.getBody().front().getTerminator();
  for (mlir::OpOperand& operand : last->getOpOperands()) {
    const ir::ShardingAttr cut = cuts_.of(VariableOfResult(function_, operand.getOperandNumber()));
    const Sharding to = cut ? Sharding::Of(cut) : Sharding::Whole(ir::TypeOf(operand.get()));
    operand.set(read(operand.get(), to.canonical(mesh_), last));
  }
}

// Returns the value in the parts of `to`. Terms settle first, in the same way for all readers.
Value FunctionSharding::read(Value value, const Sharding& to, Operation* reader) {
  if (values_.find(value)->second.partial.empty() || !to.partial.empty()) return reshard(value, to, reader);
  const Sharding settled = readable(value);
  return reshard(reshard(value, settled, reader), to, reader);
}

// One op serves all readers of these parts; it has the first reader's line. A value that is cut for storage
// is gathered where it is read, and again if keeping it would take memory for long.
Value FunctionSharding::reshard(Value value, const Sharding& to, Operation* reader) {
  const Sharding from = values_.find(value)->second;
  if (from == to) return value;
  const bool is_gather = llvm::any_of(mesh_.getNames(), [&](StringAttr axis) {
    return from.isCutBy(axis) && isStored(value, axis) && !to.isCutBy(axis);
  });
  const int64_t bytes = BytesOfTensor(value);
  ir::ShardingAttr attribute = to.attribute(function_.getContext());
  for (Reshard& made : llvm::reverse(reshards_[value])) {
    if (made.op.getTo() != attribute) continue;
    const bool is_far = is_gather && bytes >= kBytesToGatherAgain &&
                        gathered_bytes_ - made.gathered_before > (kGathersBetween + 1) * bytes;
    if (!is_far) return made.op;
    break;
  }
  if (strict_ && mlir::failed(reasons_.checkGather(value, to, reader))) failed_ = true;
  mlir::OpBuilder builder(function_.getContext());
  const bool combines = llvm::any_of(from.partial, [&](StringAttr axis) { return !to.isPartialOver(axis); });
  if (is_gather || (combines && llvm::isa<mlir::BlockArgument>(value))) {
    builder.setInsertionPoint(reader);
  } else {
    builder.setInsertionPointAfterValue(value);
  }
  auto made = builder.create<ir::ReshardOp>(reader->getLoc(), value.getType(), value, attribute);
  // A constant has no device of its own.
  const ir::DeviceAttr device = ir::DeviceOf(value) ? ir::DeviceOf(value) : ir::DeviceOf(reader);
  if (device) ir::SetDevice(made, device);
  if (combines && mayWait(value)) made->setAttr(ir::kMayWaitAttr, builder.getUnitAttr());
  reasons_.explain(made, reader);
  reshards_[value].push_back({made, gathered_bytes_});
  if (is_gather) gathered_bytes_ += bytes;
  values_[made] = to;
  const Axes stored = stored_.lookup(value);
  stored_[made] = stored;
  return made;
}

}  // namespace sinter
