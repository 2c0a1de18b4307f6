#include "sinter/passes/partition/function_partition.h"

#include <numeric>

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "sinter/ir/dialect/local_op.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/plan/plan_ops.h"

namespace sinter {

using ir::ReduceKind;
using ir::Resized;
using ir::TypeOf;
using mlir::Operation;
using mlir::RankedTensorType;
using mlir::Value;
using mlir::func::FuncOp;

namespace {

// True if the result has equal elements at all positions along `dim`.
bool Repeats(ir::BroadcastOp op, int64_t dim) {
  const auto* found = llvm::find(op.getDims(), dim);
  return found == op.getDims().end() || op.getX().getType().getDimSize(found - op.getDims().begin()) == 1;
}

// True if `op` casts floats to a wider type: the cast and a sum can be exchanged.
bool IsWidening(Operation* op) {
  auto cast = llvm::dyn_cast<ir::CastOp>(op);
  return cast && ir::IsWideningCast(cast.getX().getType(), cast.getType());
}

bool IsGradient(mlir::Location loc) {
  auto fused = llvm::dyn_cast<mlir::FusedLoc>(loc);
  auto name = fused ? llvm::dyn_cast_or_null<mlir::StringAttr>(fused.getMetadata()) : nullptr;
  return name && name.getValue() == "gradient";
}

}  // namespace

std::string ReplicaName(llvm::StringRef variable, size_t rank) {
  return rank == 0 ? variable.str() : (variable + "#" + llvm::Twine(rank)).str();
}

void FunctionPartition::run() {
  result_ = builder_.create<FuncOp>(function_.getLoc(), function_.getSymName(), function_.getFunctionType());
  result_->setDiscardableAttrs(function_->getDiscardableAttrDictionary());
  builder_.setInsertionPointToEnd(result_.addEntryBlock());
  result_.getBody().front().eraseArguments(0, result_.getNumArguments());
  findTerms();
  addArguments();
  for (Operation& op : function_.getBody().front().without_terminator()) {
    // Readers of a sum that travels in a bucket run after everything else.
    const bool is_late =
        llvm::any_of(op.getOperands(), [&](Value operand) { return late_values_.contains(operand); });
    if (is_late) {
      late_ops_.push_back(&op);
      late_values_.insert(op.result_begin(), op.result_end());
    } else {
      runOp(&op);
    }
  }
  runLateOps();
  addReturn(llvm::cast<mlir::func::ReturnOp>(function_.getBody().front().getTerminator()));
  function_.erase();
}

// Finds sums over the batch that no op on parts reads; sums of such sums that nothing else reads; and the
// same in a wider type.
void FunctionPartition::findTerms() {
  for (Operation& op : function_.getBody().front().without_terminator()) {
    const ir::ShardingRule* rule = sharding_.ruleOf(&op);
    if (rule) {
      const bool is_sum = rule->partial == ReduceKind::sum && !sharding_.feedsBatch(op.getResult(0));
      if (is_sum) terms_.insert(op.getResult(0));
      continue;
    }
    const bool adds = llvm::isa<ir::AddOp>(op) || IsWidening(&op);
    if (adds &&
        llvm::all_of(op.getOperands(), [&](Value x) { return terms_.contains(x) && x.hasOneUse(); })) {
      terms_.insert(op.getResult(0));
    }
  }
}

// True if each device applies `op` to its own partial sums, and the result travels instead of them. So the
// two gradients of a variable that is read twice travel as one. A widened value travels in its narrow type,
// unless it is added to something.
bool FunctionPartition::isAddedBeforeTravel(Operation* op) const {
  if (sharding_.ruleOf(op) || op->getNumResults() != 1 || !terms_.contains(op->getResult(0))) return false;
  if (!IsWidening(op)) return true;
  return op->hasOneUse() && llvm::isa<ir::AddOp>(*op->user_begin()) && isAddedBeforeTravel(*op->user_begin());
}

void FunctionPartition::addArguments() {
  for (mlir::BlockArgument argument : function_.getArguments()) {
    mlir::DictionaryAttr attributes = function_.getArgAttrDict(argument.getArgNumber());
    if (!attributes) attributes = builder_.getDictionaryAttr({});
    if (attributes.contains(ir::kVariableAttr)) {
      addVariable(argument, attributes);
    } else {
      addInput(argument, attributes);
    }
  }
}

// The caller provides an input once; lowering gives it to each device that reads it.
void FunctionPartition::addInput(mlir::BlockArgument argument, mlir::DictionaryAttr attributes) {
  mlir::NamedAttrList list(attributes);
  list.set(ir::kDeviceAttr, replicas_.devices[0]);
  Value first = result_.getBody().addArgument(argument.getType(), argument.getLoc());
  argument_types_.push_back(argument.getType());
  argument_attributes_.push_back(list.getDictionary(builder_.getContext()));
  Parts parts = {first};
  for (size_t r = 1; r < replicas_.count(); ++r) {
    parts.push_back(builder_.create<ir::CopyOp>(argument.getLoc(), argument.getType(), first, Value(),
                                                replicas_.devices[r], ir::CopyCause::input));
  }
  const SplitBatch& sharding = sharding_.of(argument);
  if (!sharding.IsSplit()) {
    values_[argument] = parts;
    return;
  }
  wholes_[argument] = parts;
  Parts split;
  for (size_t r = 0; r < replicas_.count(); ++r) {
    split.push_back(sliceOf(argument, sharding, r, argument.getLoc()));
  }
  values_[argument] = split;
}

void FunctionPartition::addVariable(mlir::BlockArgument argument, mlir::DictionaryAttr attributes) {
  auto variable = llvm::cast<mlir::FlatSymbolRefAttr>(attributes.get(ir::kVariableAttr));
  bool main_only = replicas_.main && replicas_.main->hasOnMainAlone(variable.getValue());
  Parts parts(replicas_.count());
  for (size_t r = 0; r < (main_only ? 1 : replicas_.count()); ++r) {
    mlir::NamedAttrList list(attributes);
    list.set(ir::kDeviceAttr, replicas_.devices[r]);
    list.set(ir::kVariableAttr,
             mlir::FlatSymbolRefAttr::get(builder_.getContext(), ReplicaName(variable.getValue(), r)));
    parts[r] = result_.getBody().addArgument(argument.getType(), argument.getLoc());
    argument_types_.push_back(argument.getType());
    argument_attributes_.push_back(list.getDictionary(builder_.getContext()));
  }
  values_[argument] = parts;
}

void FunctionPartition::runOp(Operation* op) {
  const ir::ShardingRule* rule = sharding_.ruleOf(op);
  const bool adds = isAddedBeforeTravel(op);
  bool on_main = llvm::any_of(op->getOperands(), [&](Value operand) { return isOnMain(operand); });
  if (!adds && (on_main || (replicas_.main && replicas_.main->runsOnMainAlone(op)))) return runOnMain(op);
  llvm::SmallVector<Parts> results(op->getNumResults());
  for (size_t r = 0; r < replicas_.count(); ++r) {
    Operation* clone = cloneOn(op, r, rule);
    for (auto [i, result] : llvm::enumerate(clone->getResults())) results[i].push_back(result);
  }
  for (auto [i, result] : llvm::enumerate(op->getResults())) values_[result] = results[i];
  if (rule && rule->partial) combine(op, *rule->partial);
  if (adds) combine(op, ReduceKind::sum);
}

void FunctionPartition::runOnMain(Operation* op) {
  Operation* clone = cloneOn(op, 0, nullptr);
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    values_[result] = Parts(replicas_.count());
    values_[result][0] = clone->getResult(i);
  }
}

Value FunctionPartition::operandOn(Operation* op, unsigned i, size_t rank, const ir::ShardingRule* rule) {
  Value operand = op->getOperand(i);
  SplitBatch wanted = sharding_.wanted(op, i);
  if (wanted.IsSplit()) return sliceOf(operand, wanted, rank, op->getLoc());
  Value value = whole(operand, op)[rank];
  if (!rule || rule->only_first != static_cast<int64_t>(i) || rank == 0) return value;
  // The other parts of a sum start from zero.
  RankedTensorType type = TypeOf(value);
  auto zeros = mlir::DenseElementsAttr::get(type, builder_.getZeroAttr(type.getElementType()));
  return on(rank, builder_.create<ir::ConstantOp>(op->getLoc(), zeros));
}

Operation* FunctionPartition::cloneOn(Operation* op, size_t rank, const ir::ShardingRule* rule) {
  llvm::SmallVector<Value> values;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) values.push_back(operandOn(op, i, rank, rule));
  if (!rule) {
    Operation* clone = builder_.clone(*op);
    clone->setOperands(values);
    return on(rank, clone);
  }
  // The cut factor is the slowest of its dimension.
  const unsigned cut =
      llvm::find_if(rule->operands, [](int64_t dim) { return dim != ir::kWhole; }) - rule->operands.begin();
  const SplitBatch wanted = sharding_.wanted(op, cut);
  const ir::FactorRule factors = ir::FactorsOf(op);
  llvm::SmallVector<ir::FactorPart> parts = ir::WholeParts(factors);
  const int64_t size = factors.factors[rule->factor].size;
  const int64_t each = size == 0 ? 1 : wanted.bounds.back() / size, begin = wanted.bounds[rank];
  parts[rule->factor] = {(wanted.bounds[rank + 1] - begin) / each, builder_.getI64IntegerAttr(begin / each)};
  return on(rank, ir::BuildOnPart(builder_, op, values, factors, parts)[0].getDefiningOp());
}

// The devices' results are partial sums. Those that only new values and outputs need wait in a bucket.
void FunctionPartition::combine(Operation* op, ReduceKind combine) {
  Value result = op->getResult(0);
  bool waits = combine == ReduceKind::sum && !sharding_.feedsBatch(result);
  if (waits && sharding_.ruleOf(op) && IsGradient(op->getLoc())) scaleGradient(op);
  if (waits && result.hasOneUse() && isAddedBeforeTravel(*result.user_begin())) return;
  if (waits) {
    mlir::Type element = TypeOf(result).getElementType();
    buckets_[element].push_back(result);
    late_values_.insert(result);
    int64_t bytes = 0;
    for (Value value : buckets_[element]) bytes += plan_ir::TensorBytes(TypeOf(value));
    if (bytes >= replicas_.bucket_bytes) flush(element);
    return;
  }
  Parts sums;
  for (size_t r = 0; r < replicas_.count(); ++r) {
    auto all =
        builder_.create<ir::AllReduceOp>(op->getLoc(), mlir::TypeRange(result.getType()),
                                         mlir::ValueRange(values_[result][r]), group(), channel_, combine);
    sums.push_back(on(r, all).getResult(0));
  }
  ++channel_;
  values_[result] = sums;
}

// The parts of a gradient are already divided by the whole batch.
void FunctionPartition::scaleGradient(Operation* op) {
  if (replicas_.scale == PartScale::kGlobalMean) return;
  const SplitBatch* batch = nullptr;
  for (Value operand : op->getOperands()) {
    if (sharding_.of(operand).IsSplit()) batch = &sharding_.of(operand);
  }
  Value result = op->getResult(0);
  RankedTensorType type = TypeOf(result);
  for (size_t r = 0; r < replicas_.count(); ++r) {
    int64_t part = batch->bounds[r + 1] - batch->bounds[r];
    if (part == 0) continue;
    double factor = static_cast<double>(batch->bounds.back()) / static_cast<double>(part);
    if (replicas_.scale == PartScale::kMeanOfMeans) factor /= static_cast<double>(replicas_.count());
    if (factor == 1) continue;
    auto splat = mlir::DenseElementsAttr::get(type, builder_.getFloatAttr(type.getElementType(), factor));
    Value scale = on(r, builder_.create<ir::ConstantOp>(op->getLoc(), splat));
    values_[result][r] = on(r, builder_.create<ir::MulOp>(op->getLoc(), type, values_[result][r], scale));
  }
}

// Late ops never run on parts of the batch: otherwise the sums that they read would not have waited.
void FunctionPartition::runLateOps() {
  while (!buckets_.empty()) flush(buckets_.front().first);
  for (Operation* op : late_ops_) runOp(op);
}

void FunctionPartition::flush(mlir::Type element) {
  llvm::SmallVector<Value> bucket = std::move(buckets_[element]);
  buckets_.erase(element);
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::Location> locs;
  for (Value value : bucket) {
    types.push_back(value.getType());
    locs.push_back(value.getLoc());
  }
  mlir::Location loc = builder_.getFusedLoc(locs);
  for (size_t r = 0; r < replicas_.count(); ++r) {
    llvm::SmallVector<Value> parts;
    for (Value value : bucket) parts.push_back(values_[value][r]);
    Operation* op;
    if (replicas_.main) {
      mlir::TypeRange received = r == 0 ? mlir::TypeRange(types) : mlir::TypeRange();
      op =
          builder_.create<ir::ReduceOp>(loc, received, parts, group(), channel_, ReduceKind::sum, int64_t{0});
    } else {
      op = builder_.create<ir::AllReduceOp>(loc, types, parts, group(), channel_, ReduceKind::sum);
    }
    ir::SetDevice(op, replicas_.devices[r]);
    for (auto [i, value] : llvm::enumerate(bucket)) {
      values_[value][r] = op->getNumResults() == 0 ? Value() : op->getResult(i);
    }
  }
  ++channel_;
}

// Returns the whole value on all devices that have it, gathering it if necessary.
FunctionPartition::Parts& FunctionPartition::whole(Value value, Operation* reader) {
  const SplitBatch& sharding = sharding_.of(value);
  if (!sharding.IsSplit()) return values_[value];
  auto [found, is_new] = wholes_.try_emplace(value);
  if (!is_new) return found->second;
  if (replicas_.report) {
    mlir::emitRemark(reader->getLoc())
        << "gathers a value of " << value.getType() << ", " << plan_ir::TensorBytes(TypeOf(value))
        << " bytes, on every device: " << reader->getName().getStringRef() << " needs the whole batch";
  }
  RankedTensorType type = TypeOf(value);
  llvm::SmallVector<int64_t> order(type.getRank()), sizes;
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + sharding.dim, order.begin() + sharding.dim + 1);
  llvm::SmallVector<int64_t> back = mlir::invertPermutationVector(order);
  for (size_t r = 0; r < replicas_.count(); ++r) sizes.push_back(sharding.bounds[r + 1] - sharding.bounds[r]);
  auto transposed = [&](Value x, llvm::ArrayRef<int64_t> permutation, size_t rank) -> Value {
    if (sharding.dim == 0) return x;
    llvm::SmallVector<int64_t> shape = mlir::applyPermutation(TypeOf(x).getShape(), permutation);
    auto to = RankedTensorType::get(shape, type.getElementType());
    return on(rank, builder_.create<ir::TransposeOp>(reader->getLoc(), to, x, permutation));
  };
  Parts parts = values_[value], gathered;
  for (size_t r = 0; r < replicas_.count(); ++r) parts[r] = transposed(parts[r], order, r);
  for (size_t r = 0; r < replicas_.count(); ++r) {
    RankedTensorType to = Resized(TypeOf(parts[r]), 0, sharding.bounds.back());
    gathered.push_back(
        on(r, builder_.create<ir::AllGatherOp>(reader->getLoc(), to, parts[r], group(), channel_, sizes)));
  }
  ++channel_;
  for (size_t r = 0; r < replicas_.count(); ++r) gathered[r] = transposed(gathered[r], back, r);
  return wholes_[value] = gathered;
}

// Returns the device's part of a value that it has whole, or already has in these parts.
Value FunctionPartition::sliceOf(Value value, const SplitBatch& wanted, size_t rank, mlir::Location loc) {
  if (sharding_.of(value) == wanted && values_.contains(value)) return values_[value][rank];
  auto& made = slices_[{value, rank}];
  for (auto& [sharding, slice] : made) {
    if (sharding == wanted) return slice;
  }
  Value from = wholes_.contains(value) ? wholes_[value][rank] : values_[value][rank];
  Value part = makePart(from, wanted, rank, loc);
  made.push_back({wanted, part});
  return part;
}

Value FunctionPartition::makePart(Value from, const SplitBatch& wanted, size_t rank, mlir::Location loc) {
  RankedTensorType type = TypeOf(from);
  RankedTensorType to = Resized(type, wanted.dim, wanted.bounds[rank + 1] - wanted.bounds[rank]);
  // If all positions are equal, the part is made like the whole. Matmuls fuse a bias only as a broadcast.
  if (auto broadcast = from.getDefiningOp<ir::BroadcastOp>(); broadcast && Repeats(broadcast, wanted.dim)) {
    return on(rank, builder_.create<ir::BroadcastOp>(broadcast.getLoc(), to, broadcast.getX(),
                                                     broadcast.getDims()));
  }
  if (auto iota = from.getDefiningOp<ir::IotaOp>();
      iota && static_cast<int64_t>(iota.getDim()) != wanted.dim) {
    return on(rank, builder_.create<ir::IotaOp>(iota.getLoc(), to, iota.getDim(), iota.getOrigin()));
  }
  llvm::SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()), strides(type.getRank(), 1);
  starts[wanted.dim] = wanted.bounds[rank];
  limits[wanted.dim] = wanted.bounds[rank + 1];
  return on(rank, builder_.create<ir::SliceOp>(loc, to, from, starts, limits, strides));
}

// Sends values of the first device to all devices.
void FunctionPartition::broadcast(llvm::ArrayRef<Value> values, mlir::Location loc) {
  if (values.empty()) return;
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<Value> sent;
  for (Value value : values) {
    types.push_back(value.getType());
    sent.push_back(values_[value][0]);
  }
  for (size_t r = 0; r < replicas_.count(); ++r) {
    auto op = on(r, builder_.create<ir::BroadcastFromOp>(loc, types,
                                                         r == 0 ? mlir::ValueRange(sent) : mlir::ValueRange(),
                                                         group(), channel_, int64_t{0}));
    for (auto [i, value] : llvm::enumerate(values)) values_[value][r] = op.getResult(i);
  }
  ++channel_;
}

void FunctionPartition::addReturn(mlir::func::ReturnOp op) {
  llvm::SmallVector<Value> returned, to_send;
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::DictionaryAttr> attributes;
  auto variable_of = [&](unsigned i) {
    return function_.getResultAttrOfType<mlir::FlatSymbolRefAttr>(i, ir::kVariableAttr);
  };
  llvm::MapVector<mlir::Type, llvm::SmallVector<Value>> sends;
  for (auto [i, value] : llvm::enumerate(op.getOperands())) {
    auto variable = variable_of(i);
    bool stays = variable && replicas_.main && replicas_.main->hasOnMainAlone(variable.getValue());
    llvm::SmallVector<Value>& batch = sends[TypeOf(value).getElementType()];
    if (!stays && !sharding_.of(value).IsSplit() && isOnMain(value) && !llvm::is_contained(batch, value)) {
      batch.push_back(value);
    }
  }
  for (auto& [element, values] : sends) broadcast(values, op.getLoc());
  for (auto [i, value] : llvm::enumerate(op.getOperands())) {
    auto variable = variable_of(i);
    for (auto [r, part] : llvm::enumerate(whole(value, op))) {
      if (!part) continue;
      mlir::NamedAttrList list(function_.getResultAttrDict(i));
      list.set(ir::kDeviceAttr, replicas_.devices[r]);
      if (variable) {
        std::string name = ReplicaName(variable.getValue(), r);
        list.set(ir::kVariableAttr, mlir::FlatSymbolRefAttr::get(builder_.getContext(), name));
      }
      returned.push_back(part);
      types.push_back(part.getType());
      attributes.push_back(list.getDictionary(builder_.getContext()));
    }
  }
  builder_.create<mlir::func::ReturnOp>(op.getLoc(), returned);
  result_.setFunctionType(builder_.getFunctionType(argument_types_, types));
  result_.setAllArgAttrs(argument_attributes_);
  result_.setAllResultAttrs(attributes);
}

}  // namespace sinter
