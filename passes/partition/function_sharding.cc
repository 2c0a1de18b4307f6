#include "sinter/passes/partition/function_sharding.h"

#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/plan/plan_ops.h"

namespace sinter {

using ir::FactorKind;
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

// A value of at least this size that is gathered from storage or rows is gathered again for a reader that
// comes after gathers of kGathersBetween times its bytes: keeping it until then would undo what the parts
// save.
constexpr int64_t kBytesToGatherAgain = int64_t{1} << 20;
constexpr int64_t kGathersBetween = 4;

// Returns the operands whose terms the op lets pass; none if they must settle before it. Terms that an op
// makes larger settle before it, unless its result is added to other terms: a bf16 gradient travels before
// its cast to f32.
llvm::SmallVector<unsigned> TermsThatPass(Operation* op, const ir::FactorRule& rule,
                                          const llvm::DenseMap<Value, Sharding>& values) {
  auto isTerm = [&](Value value) {
    auto found = values.find(value);
    return found != values.end() && !found->second.partial.empty() &&
           found->second.combine == ir::ReduceKind::sum;
  };
  llvm::SmallVector<unsigned> terms;
  int64_t bytes = 0;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (values.find(operand)->second.partial.empty()) continue;
    terms.push_back(i);
    bytes += BytesOfTensor(operand);
    const Sharding& first = values.find(op->getOperand(terms[0]))->second;
    if (!isTerm(operand) || !operand.hasOneUse() || values.find(operand)->second.partial != first.partial) {
      return {};
    }
  }
  if (terms.empty() || !llvm::is_contained(rule.linear_in, terms)) return {};
  if (BytesOfResults(op) > bytes) {
    auto sum = op->hasOneUse() ? llvm::dyn_cast<ir::AddOp>(*op->user_begin()) : ir::AddOp();
    if (!sum || !llvm::all_of(sum->getOperands(),
                              [&](Value value) { return !values.contains(value) || isTerm(value); })) {
      return {};
    }
  }
  return terms;
}

// Cuts the sharding by the axes of `wish` that it lacks, and returns them: in dimensions that it does not
// cut, and within the parts of an extent that both cut. An axis that cuts one dimension cuts no other.
llvm::SmallVector<StringAttr, 1> CutFurther(ir::MeshAttr mesh, Sharding& sharding, const Sharding& wish) {
  llvm::SmallVector<StringAttr, 1> added;
  for (auto [dim, wished] : llvm::zip(sharding.dims, wish.dims)) {
    const bool is_cut_already = llvm::any_of(wished, [&](const ir::Extent& extent) {
      return llvm::any_of(extent.axes, [&](StringAttr axis) { return sharding.isCutBy(axis); });
    });
    if (IsUncut(wished) || is_cut_already) continue;
    const auto before = dim;
    if (IsUncut(dim)) {
      dim = wished;
    } else if (dim.size() == wished.size() && dim.front().size == wished.front().size) {
      // The wish names the axes of storage alone.
      const auto& axes = wished.front().axes;
      dim.front().axes.append(axes.begin(), axes.end());
      if (dim.front().size % ir::CountParts(mesh, dim.front().axes) != 0) dim = before;
    }
    if (dim != before) {
      for (StringAttr axis : mesh.getNames()) {
        if (wish.isCutBy(axis)) added.push_back(axis);
      }
    }
  }
  return added;
}

}  // namespace

FunctionSharding::FunctionSharding(FuncOp function, const ShardSettings& settings,
                                   llvm::ArrayRef<mlir::BlockArgument> batch)
    : function_(function),
      settings_(settings),
      mesh_(settings.mesh),
      batch_(function, batch),
      wishes_(function, settings.mesh, settings.cuts),
      reasons_(function, settings.mesh, *this) {
  for (mlir::BlockArgument argument : function.getArguments()) {
    values_[argument] = ir::ShardingOf(argument).canonical(mesh_);
    const llvm::StringRef variable = VariableOfArgument(function, argument.getArgNumber());
    for (StringAttr axis : mesh_.getNames()) {
      if (settings.cuts.isStored(variable, axis)) kinds_[argument].push_back({axis, CutKind::kStored});
    }
  }
}

mlir::LogicalResult FunctionSharding::run() {
  for (mlir::BlockArgument argument : function_.getArguments()) settle(argument);
  sweep();
  if (!settings_.rows.empty()) {
    readers_.find(function_, settings_.rows, [&](Operation* op, StringAttr axis) {
      return ops_.find(op)->second.worksOn(axis) && kindOf(op, axis) == CutKind::kWork;
    });
    cuts_rows_ = true;
    sweep();
    if (settings_.report) reportWholeRows();
  }
  // Now an op knows what becomes of values that come after it.
  sweep();
  for (Operation& op : llvm::reverse(function_.getBody().front().without_terminator())) backward(&op);
  feeds_.find(function_, mesh_.getNames(), [&](Operation* op, StringAttr axis) {
    return ops_.find(op)->second.worksOn(axis) && kindOf(op, axis) != CutKind::kStored && !isUpdate(op);
  });
  write();
  return mlir::failure(failed_);
}

void FunctionSharding::sweep() {
  for (Operation& op : function_.getBody().front().without_terminator()) forward(&op);
}

const Sharding& FunctionSharding::readable(Value value) const {
  const Sharding& sharding = values_.find(value)->second;
  return sharding.partial.empty() ? sharding : settled_.find(value)->second;
}

const Sharding* FunctionSharding::find(Value value) const {
  auto found = values_.find(value);
  return found == values_.end() ? nullptr : &found->second;
}

CutKind FunctionSharding::kindOf(Value value, StringAttr axis) const {
  auto found = kinds_.find(value);
  if (found == kinds_.end()) return CutKind::kWork;
  const auto* kind = llvm::find_if(found->second, [&](const auto& one) { return one.first == axis; });
  return kind == found->second.end() ? CutKind::kWork : kind->second;
}

// Runs an op whose result is wished for as terms on terms, if it reads some and if nothing is gathered for
// it. An operand that is whole is then a term of the first rank. Returns false if the op runs otherwise.
bool FunctionSharding::runOnTerms(Operation* op) {
  const Sharding* const wished = op->getNumResults() == 1 ? wishes_.terms(op->getResult(0)) : nullptr;
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
  const llvm::SmallVector<unsigned> terms = TermsThatPass(op, sharding.rule(), values_);
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

// Runs the op on the parts that its operands have along the axis, where that gathers fewer bytes than running
// the whole op on every rank. Parts of an operand that every rank has whole cost nothing. Rows of the batch
// count if no operand has parts to work with, and stored parts if no operand has others and the result is no
// larger.
void FunctionSharding::cutAlong(Operation* op, OpSharding& sharding, StringAttr axis) {
  bool has_others = false;
  for (CutKind kind : {CutKind::kWork, CutKind::kRows, CutKind::kStored}) {
    llvm::SmallVector<unsigned> cut;
    int64_t bytes_cut = 0;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      if (!readable(operand).isCutBy(axis) || kindOf(operand, axis) != kind) continue;
      if (kind == CutKind::kRows && !batch_.hasRows(operand)) continue;
      cut.push_back(i);
      bytes_cut += BytesOfTensor(operand);
    }
    if (cut.empty() && kind == CutKind::kWork && cutOwned(op, sharding, axis)) return;
    if (cut.empty()) continue;
    if (kind == CutKind::kStored && (has_others || BytesOfResults(op) > bytes_cut)) return;
    has_others = true;
    if (kind == CutKind::kRows && readers_.widens(op, axis)) return;
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
    if (best) return sharding.cut(*best, axis);
  }
}

// The gradient of a table of which each rank works with a part: a rank adds up what belongs to its own.
bool FunctionSharding::cutOwned(Operation* op, OpSharding& sharding, StringAttr axis) const {
  const Sharding* wish = op->getNumResults() == 1 ? wishes_.worked(op->getResult(0)) : nullptr;
  if (!wish || !wish->isCutBy(axis)) return false;
  std::optional<unsigned> factor = sharding.factorAtResult(0, *wish, axis);
  if (!factor || sharding.rule().factors[*factor].kind != FactorKind::kOwned) return false;
  sharding.cut(*factor, axis);
  return true;
}

void FunctionSharding::put(Operation* op, OpSharding sharding) {
  for (auto [r, result] : llvm::enumerate(op->getResults())) values_[result] = sharding.result(r);
  putKinds(op, sharding);
  for (Value result : op->getResults()) settle(result);
  ops_.insert_or_assign(op, std::move(sharding));
}

// A result is cut for storage alone if that is why all operands are; as rows if no operand has parts to work
// with.
void FunctionSharding::putKinds(Operation* op, const OpSharding& sharding) {
  llvm::SmallVector<std::pair<StringAttr, CutKind>, 1> kinds;
  for (StringAttr axis : mesh_.getNames()) {
    std::optional<CutKind> kind;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      if (!sharding.operand(i).isCutBy(axis) || !readable(operand).isCutBy(axis)) continue;
      kind = std::max(kind.value_or(CutKind::kStored), kindOf(operand, axis));
    }
    if (kind && *kind != CutKind::kWork) kinds.push_back({axis, *kind});
  }
  for (Value result : op->getResults()) kinds_[result] = kinds;
}

// Chooses in which parts readers see a value whose terms are combined: those wished for, or rows, else all of
// it.
void FunctionSharding::settle(Value value) {
  Sharding settled = values_.find(value)->second;
  if (settled.partial.empty()) return;
  const Axes terms(settled.partial);
  settled.partial.clear();
  settled.combine.reset();
  if (const Sharding* wish = wishes_.stored(value)) {
    for (StringAttr axis : CutFurther(mesh_, settled, *wish))
      kinds_[value].push_back({axis, CutKind::kStored});
  }
  for (StringAttr axis : terms) {
    if (!settled.isCutBy(axis) && settlesInRows(value, axis) && batch_.cut(value, settled, axis, mesh_)) {
      kinds_[value].push_back({axis, CutKind::kRows});
    }
  }
  settled_.insert_or_assign(value, settled.canonical(mesh_));
}

// Readers that work with parts of variables, and outputs, would gather the rows at once.
bool FunctionSharding::settlesInRows(Value value, StringAttr axis) const {
  if (!cuts_rows_ || !isRowAxis(axis) || !batch_.hasRows(value)) return false;
  return llvm::none_of(value.getUsers(), [&](Operation* reader) {
    return reader->hasTrait<mlir::OpTrait::IsTerminator>() || readers_.wantAllRows(reader, axis);
  });
}

// Rows that the axis does not divide.
void FunctionSharding::reportWholeRows() {
  for (Operation& op : function_.getBody().front().without_terminator()) {
    for (Value result : op.getResults()) {
      for (StringAttr axis : values_.find(result)->second.partial) {
        if (!settlesInRows(result, axis) || readable(result).isCutBy(axis)) continue;
        mlir::emitRemark(op.getLoc()) << "every rank of axis " << axis << " has all rows of a value of "
                                      << result.getType() << ", which has parts " << readable(result).text()
                                      << ": the axis divides neither the examples of a "
                                      << "part nor their next dimension";
        return;
      }
    }
  }
}

// An op of which every rank would compute more than its readers want is computed in their parts, if parts of
// its operands cost nothing: so a mask is drawn on each rank for its own rows.
void FunctionSharding::backward(Operation* op) {
  if (op->getNumResults() != 1 || !mlir::isPure(op)) return;
  const Value result = op->getResult(0);
  const Sharding now = values_.find(result)->second;
  if (!now.partial.empty()) return;
  std::optional<Sharding> wanted;
  llvm::SmallVector<std::pair<StringAttr, CutKind>, 1> kinds;
  for (StringAttr axis : mesh_.getNames()) kinds.push_back({axis, CutKind::kStored});
  for (mlir::OpOperand& use : op->getUses()) {
    Operation* reader = use.getOwner();
    if (reader->hasTrait<mlir::OpTrait::IsTerminator>()) return;
    const OpSharding& sharding = ops_.find(reader)->second;
    Sharding parts = sharding.operand(use.getOperandNumber());
    if (!parts.partial.empty() || (wanted && !(*wanted == parts))) return;
    wanted = parts;
    for (auto& [axis, kind] : kinds) {
      if (sharding.worksOn(axis)) kind = std::max(kind, kindOf(reader, axis));
    }
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
  llvm::erase_if(
      kinds, [&](const auto& one) { return one.second == CutKind::kWork || !wanted->isCutBy(one.first); });
  values_[result] = *wanted;
  kinds_[result] = kinds;
  ops_.insert_or_assign(op, std::move(cut));
}

CutKind FunctionSharding::kindOf(Operation* op, StringAttr axis) const {
  CutKind kind = CutKind::kStored;
  for (Value operand : op->getOperands()) {
    if (readable(operand).isCutBy(axis)) kind = std::max(kind, kindOf(operand, axis));
  }
  for (Value result : op->getResults()) {
    if (values_.find(result)->second.isCutBy(axis)) kind = std::max(kind, kindOf(result, axis));
  }
  return kind;
}

// True if the op computes new values of parts of a variable, which may wait.
bool FunctionSharding::isUpdate(Operation* op) const {
  return op->getNumResults() == 1 && wishes_.worked(op->getResult(0)) &&
         llvm::all_of(ops_.find(op)->second.rule().factors,
                      [](const ir::Factor& factor) { return factor.kind == FactorKind::kParallel; });
}

// True if no op that the ranks of these terms share reads what the terms combine to.
bool FunctionSharding::mayWait(Value value) const {
  const Sharding& terms = values_.find(value)->second;
  return terms.combine == ir::ReduceKind::sum &&
         llvm::none_of(terms.partial, [&](StringAttr axis) { return feeds_.contains(value, axis); });
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
    const ir::ShardingAttr cut = settings_.cuts.of(VariableOfResult(function_, operand.getOperandNumber()));
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
// or as rows is gathered where it is read, and again if keeping it would take memory for long.
Value FunctionSharding::reshard(Value value, const Sharding& to, Operation* reader) {
  const Sharding from = values_.find(value)->second;
  if (from == to) return value;
  const bool is_gather = llvm::any_of(mesh_.getNames(), [&](StringAttr axis) {
    return from.isCutBy(axis) && kindOf(value, axis) != CutKind::kWork && !to.isCutBy(axis);
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
  if (settings_.strict && mlir::failed(reasons_.checkGather(value, to, reader))) failed_ = true;
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
  const auto kinds = kinds_.lookup(value);
  kinds_[made] = kinds;
  return made;
}

}  // namespace sinter
