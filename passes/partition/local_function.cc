#include "sinter/passes/partition/local_function.h"

#include <utility>

#include "sinter/ir/dialect/local_op.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/plan/plan_ops.h"
#include "sinter/passes/partition/op_sharding.h"

namespace sinter {

using ir::Extent;
using ir::ReduceKind;
using ir::Sharding;
using ir::TypeOf;
using mlir::Operation;
using mlir::RankedTensorType;
using mlir::StringAttr;
using mlir::Value;
using mlir::func::FuncOp;

namespace {

// True if the op can be built anew for any part of its result, without parts of tensors.
bool IsMadeAnywhere(Operation* op) {
  return op && llvm::isa<ir::BroadcastOp, ir::IotaOp, ir::RandomUniformOp, ir::RandomNormalOp,
                         ir::RandomBernoulliOp>(op);
}

bool HaveEqualSizes(llvm::ArrayRef<Extent> a, llvm::ArrayRef<Extent> b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           return std::get<0>(pair).size == std::get<1>(pair).size;
         });
}

// The dimension of `to`, as seen by a value that no axis cuts there.
llvm::SmallVector<Extent, 1> WithoutAxes(llvm::ArrayRef<Extent> dim) {
  return llvm::SmallVector<Extent, 1>(
      llvm::map_range(dim, [](const Extent& one) { return Extent{one.size}; }));
}

// Splits the extents of a dimension so that both lists have the same sizes: [64 data] becomes [2 data * 32]
// beside [2 data * 32 tensor]. Lists whose parts would change stay as they are.
void SplitAlike(llvm::SmallVector<Extent, 1>& a, llvm::SmallVector<Extent, 1>& b, ir::MeshAttr mesh) {
  llvm::SmallVector<Extent, 1> split_a, split_b, rest_a(llvm::reverse(a)), rest_b(llvm::reverse(b));
  // Takes the outermost `size` iterations, which the axes cut.
  auto take = [&](llvm::SmallVector<Extent, 1>& rest, llvm::SmallVector<Extent, 1>& split, int64_t size) {
    const Extent whole = rest.pop_back_val();
    const int64_t parts = ir::CountParts(mesh, whole.axes);
    if (whole.size % size != 0 || (size != whole.size && size % parts != 0)) return false;
    split.push_back({size, whole.axes});
    if (size != whole.size) rest.push_back({whole.size / size});
    return true;
  };
  while (!rest_a.empty() && !rest_b.empty()) {
    const int64_t size = std::min(rest_a.back().size, rest_b.back().size);
    if (!take(rest_a, split_a, size) || !take(rest_b, split_b, size)) return;
  }
  if (!rest_a.empty() || !rest_b.empty()) return;
  a = split_a;
  b = split_b;
}

// Number of axes with which both lists begin.
size_t CommonAxes(llvm::ArrayRef<StringAttr> a, llvm::ArrayRef<StringAttr> b) {
  size_t count = 0;
  while (count < a.size() && count < b.size() && a[count] == b[count]) ++count;
  return count;
}

}  // namespace

void LocalFunction::PlacingListener::notifyOperationInserted(Operation* op, mlir::OpBuilder::InsertPoint) {
  ir::PlaceNewOp(op, device);
}

LocalFunction::LocalFunction(FuncOp function, const LocalSettings& settings, const RankSet& ranks)
    : function_(function),
      settings_(settings),
      ranks_(ranks),
      builder_(function),
      rank_builder_(builder_, listener_.device, settings.mesh, ranks,
                    [this](const RankNumber& number) { return addRankValue(number); }),
      last_of_buckets_(LastOfBuckets(function, settings.mesh, settings.bucket_bytes)) {
  rank_builder_.setCopiedSumBytes(settings.copied_sum_bytes);
}

FuncOp LocalFunction::build() {
  result_ = builder_.create<FuncOp>(function_.getLoc(), function_.getSymName(), function_.getFunctionType());
  result_->setDiscardableAttrs(function_->getDiscardableAttrDictionary());
  builder_.setInsertionPointToEnd(result_.addEntryBlock());
  builder_.setListener(&listener_);
  result_.getBody().front().eraseArguments(0, result_.getNumArguments());
  addArguments();
  for (Operation& op : function_.getBody().front().without_terminator()) runOrDefer(&op);
  runLateOps();
  addReturn(llvm::cast<mlir::func::ReturnOp>(function_.getBody().front().getTerminator()));
  return result_;
}

// An input that is cut along its rows is the caller's rows of this rank. A variable has the type of the
// rank's part.
void LocalFunction::addArguments() {
  for (mlir::BlockArgument argument : function_.getArguments()) {
    mlir::NamedAttrList attributes(function_.getArgAttrDict(argument.getArgNumber()));
    attributes.erase(ir::kShardingAttr);
    const Sharding sharding = ir::ShardingOf(argument);
    const RankedTensorType type = TypeOf(argument), local = ranks_.localType(type, sharding);
    if (local != type && attributes.get(ir::kInputAttr)) {
      const RankNumber first = ranks_.firstOf(type.getDimSize(0), sharding.dims[0][0].axes);
      attributes.set(ir::kPartAttr,
                     ir::PartAttr::get(builder_.getContext(), type, first.constant, first.strides));
    }
    values_[argument] =
        addArgument(local, argument.getLoc(), attributes.getDictionary(builder_.getContext()));
  }
}

Value LocalFunction::addArgument(RankedTensorType type, mlir::Location loc, mlir::DictionaryAttr attributes) {
  argument_types_.push_back(type);
  argument_attributes_.push_back(attributes);
  return result_.getBody().addArgument(type, loc);
}

Value LocalFunction::addRankValue(const RankNumber& number) {
  llvm::SmallVector<int64_t> numbers = {number.constant};
  numbers.append(number.strides);
  mlir::NamedAttrList attributes;
  attributes.set(ir::kRankValueAttr, builder_.getDenseI64ArrayAttr(numbers));
  if (listener_.device) attributes.set(ir::kDeviceAttr, listener_.device);
  return addArgument(RankedTensorType::get({}, builder_.getI64Type()), function_.getLoc(),
                     attributes.getDictionary(builder_.getContext()));
}

// An op that follows its users until it gets its offset is inserted without one.
void LocalFunction::place(llvm::ArrayRef<Value> results) {
  for (Value result : results) {
    if (Operation* made = result.getDefiningOp()) ir::PlaceNewOp(made, listener_.device);
  }
}

void LocalFunction::runOp(Operation* op) {
  listener_.device = ir::DeviceOf(op);
  if (auto reshard = llvm::dyn_cast<ir::ReshardOp>(op)) return runReshard(reshard);
  const OpSharding sharding = OpSharding::Of(op, settings_.mesh);
  // A part of an iota, which has no device, reads where it begins on its reader's device.
  for (Operation* reader : op->getUsers()) {
    if (!listener_.device && sharding.isCut()) listener_.device = ir::DeviceOf(reader);
  }
  llvm::SmallVector<Value> operands;
  for (Value operand : op->getOperands()) operands.push_back(values_[operand]);
  if (Value part = op->getNumResults() == 1 ? partOfSplat(op, ir::ShardingOf(op->getResult(0))) : Value()) {
    values_[op->getResult(0)] = part;
    return;
  }
  if (!sharding.isCut()) {
    Operation* clone = builder_.clone(*op);
    clone->setOperands(operands);
    clone->removeAttr(ir::kShardingAttr);
    for (auto [from, to] : llvm::zip(op->getResults(), clone->getResults())) values_[from] = to;
    return;
  }
  llvm::SmallVector<ir::FactorPart> parts;
  llvm::SmallVector<StringAttr> partial;
  for (auto [f, factor] : llvm::enumerate(sharding.rule().factors)) {
    parts.push_back(rank_builder_.factorPart(factor.size, sharding.axesOf(f)));
    if (!sharding.rule().resultNames(0, f)) llvm::append_range(partial, sharding.axesOf(f));
  }
  for (unsigned i : sharding.rule().counts_once) {
    if (!partial.empty()) operands[i] = rank_builder_.onlyOnFirst(operands[i], partial, op->getLoc());
  }
  const llvm::SmallVector<Value> results = ir::BuildOnPart(builder_, op, operands, sharding.rule(), parts);
  for (auto [from, to] : llvm::zip(op->getResults(), results)) {
    values_[from] = to;
    if (Operation* made = to.getDefiningOp()) made->removeAttr(ir::kShardingAttr);
  }
  place(results);
}

// Combines terms, then gathers the dimensions that change, then takes this rank's part. If the result is
// terms over axes whose ranks all have it, the first of them keeps it.
void LocalFunction::runReshard(ir::ReshardOp op) {
  Sharding now = ir::ShardingOf(op.getX()), to = ir::ShardingOf(op);
  if (op->hasAttr(ir::kMayWaitAttr)) {
    late_values_.insert(op);
    if (TravelsInBucket(op)) return addToBucket(op);
  }
  for (auto [from, after] : llvm::zip(now.dims, to.dims)) {
    if (!IsUncut(from) && !IsUncut(after)) SplitAlike(from, after, settings_.mesh);
  }
  rank_builder_.setReason(op->getAttr(ir::kBecauseAttr));
  rank_builder_.setMayWait(op->hasAttr(ir::kMayWaitAttr));
  Value value = combined(values_[op.getX()], now, to, op);
  value = gathered(value, now, to, op);
  llvm::SmallVector<StringAttr> made_terms;
  for (StringAttr axis : std::exchange(to.partial, {})) {
    if (!now.isPartialOver(axis)) made_terms.push_back(axis);
  }
  Sharding parts = ir::ShardingOf(op);
  parts.partial.clear();
  parts.combine.reset();
  values_[op] = now.isWhole() && !parts.isWhole() ? madeAnew(value, parts, op) : Value();
  if (!values_[op]) values_[op] = cut(value, now, to, op);
  if (!made_terms.empty()) values_[op] = rank_builder_.onlyOnFirst(values_[op], made_terms, op.getLoc());
}

// Terms of which each rank wants a part are scattered, all others combined on every rank, but for those over
// axes over which the result is terms of the same kind.
Value LocalFunction::combined(Value value, Sharding& now, const Sharding& to, ir::ReshardOp op) {
  if (now.partial.empty()) return value;
  for (size_t d = 0; d < now.dims.size(); ++d) {
    if (IsUncut(now.dims[d])) now.dims[d] = WithoutAxes(to.dims[d]);
    if (!HaveEqualSizes(now.dims[d], to.dims[d])) continue;
    for (size_t e = 0; e < now.dims[d].size(); ++e) {
      const llvm::ArrayRef<StringAttr> before = now.dims[d][e].axes, after = to.dims[d][e].axes;
      const bool scatters = after.size() > before.size() && CommonAxes(before, after) == before.size() &&
                            llvm::all_of(after.drop_front(before.size()),
                                         [&](StringAttr axis) { return now.isPartialOver(axis); });
      if (scatters) value = rank_builder_.scatter(value, now, d, e, after, op.getLoc());
    }
  }
  llvm::SmallVector<StringAttr, 1> kept;
  llvm::erase_if(now.partial, [&](StringAttr axis) {
    const bool stays = to.isPartialOver(axis) && to.combine == now.combine;
    if (stays) kept.push_back(axis);
    return stays;
  });
  if (!now.partial.empty()) {
    const int64_t bytes = rank_builder_.bytesOfRank(ir::TypeOf(value), now);
    value = rank_builder_.combine(op.getLoc(), value, bytes, now.partial, *now.combine)[0];
  }
  now.partial = kept;
  if (kept.empty()) now.combine.reset();
  return value;
}

Value LocalFunction::gathered(Value value, Sharding& now, const Sharding& to, ir::ReshardOp op) {
  for (size_t d = 0; d < now.dims.size(); ++d) {
    const bool alike = HaveEqualSizes(now.dims[d], to.dims[d]);
    for (size_t e = 0; e < now.dims[d].size(); ++e) {
      const llvm::SmallVector<StringAttr, 1> axes = now.dims[d][e].axes;
      const size_t keep = alike ? CommonAxes(axes, to.dims[d][e].axes) : 0;
      if (keep == axes.size()) continue;
      if (Value whole = wholeInput(op)) {
        now = Sharding::Whole(TypeOf(op.getX()));
        return whole;
      }
      reportGather(op);
      value = rank_builder_.gather(value, now, d, e, llvm::ArrayRef(axes).take_front(keep), op.getLoc());
    }
    if (IsUncut(now.dims[d])) now.dims[d] = WithoutAxes(to.dims[d]);
  }
  return value;
}

// Returns the caller's tensor if the reshard reads an input; null if not.
Value LocalFunction::wholeInput(ir::ReshardOp op) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(op.getX());
  if (!argument || !function_.getArgAttr(argument.getArgNumber(), ir::kInputAttr)) return {};
  mlir::NamedAttrList attributes(function_.getArgAttrDict(argument.getArgNumber()));
  attributes.erase(ir::kShardingAttr);
  return addArgument(TypeOf(argument), argument.getLoc(), attributes.getDictionary(builder_.getContext()));
}

Value LocalFunction::cut(Value value, Sharding& now, const Sharding& to, ir::ReshardOp op) {
  for (size_t d = 0; d < now.dims.size(); ++d) {
    if (IsUncut(now.dims[d])) now.dims[d] = WithoutAxes(to.dims[d]);
    for (size_t e = 0; e < now.dims[d].size(); ++e) {
      if (now.dims[d][e] == to.dims[d][e]) continue;
      value = rank_builder_.slice(value, now, d, e, to.dims[d][e].axes, op.getLoc());
    }
  }
  return value;
}

void LocalFunction::reportGather(ir::ReshardOp op) {
  if (!settings_.report) return;
  llvm::StringRef reader = "the program";
  for (Operation* user : op->getUsers()) {
    reader = user->getName().getStringRef();
    break;
  }
  mlir::emitRemark(op.getLoc()) << "gathers a value of " << op.getType() << ", "
                                << plan_ir::TensorBytes(op.getType()) << " bytes, on every device: " << reader
                                << " needs the whole batch";
}

void LocalFunction::addToBucket(ir::ReshardOp op) {
  const BucketKind kind = BucketKind::Of(op);
  auto* bucket = llvm::find_if(buckets_, [&](const Bucket& b) { return b.kind == kind; });
  if (bucket == buckets_.end()) {
    buckets_.push_back({kind});
    bucket = &buckets_.back();
  }
  bucket->sums.push_back(op);
  if (last_of_buckets_.contains(op)) flush(bucket - buckets_.begin());
}

void LocalFunction::flush(size_t index) {
  Bucket bucket = buckets_[index];
  buckets_.erase(buckets_.begin() + index);
  llvm::SmallVector<mlir::Location> locs;
  llvm::SmallVector<Value> sums;
  int64_t bytes = 0;
  for (ir::ReshardOp op : bucket.sums) {
    sums.push_back(values_[op.getX()]);
    bytes += rank_builder_.bytesOfRank(ir::TypeOf(sums.back()), ir::ShardingOf(op.getX()));
    locs.push_back(op.getX().getLoc());
  }
  listener_.device = bucket.kind.device;
  // One reason stands for all of them.
  rank_builder_.setReason(bucket.sums.front()->getAttr(ir::kBecauseAttr));
  const llvm::SmallVector<Value> all =
      rank_builder_.combine(builder_.getFusedLoc(locs), sums, bytes, bucket.kind.axes, ReduceKind::sum);
  for (auto [op, sum] : llvm::zip(bucket.sums, all)) values_[op] = sum;
}

// Readers of a sum that may wait run after everything else.
void LocalFunction::runOrDefer(Operation* op) {
  const bool is_late =
      llvm::any_of(op->getOperands(), [&](Value operand) { return late_values_.contains(operand); });
  if (!is_late) return runOp(op);
  late_ops_.push_back(op);
  late_values_.insert(op->result_begin(), op->result_end());
}

// Late ops may give terms of further sums, which travel in a second round of buckets.
void LocalFunction::runLateOps() {
  while (!buckets_.empty() || !late_ops_.empty()) {
    while (!buckets_.empty()) flush(0);
    late_values_.clear();
    for (Operation* op : std::exchange(late_ops_, {})) runOrDefer(op);
  }
}

// Returns the part of a constant whose elements are equal; null for any other op. A constant has no device,
// so no number of the rank may be made for it.
Value LocalFunction::partOfSplat(Operation* op, const Sharding& to) {
  auto constant = llvm::dyn_cast_or_null<ir::ConstantOp>(op);
  auto splat = constant ? llvm::dyn_cast<mlir::SplatElementsAttr>(constant.getValue()) : nullptr;
  if (!splat) return {};
  return builder_.create<ir::ConstantOp>(op->getLoc(),
                                         splat.resizeSplat(ranks_.localType(TypeOf(op->getResult(0)), to)));
}

// Builds this rank's part of a value that is the same everywhere, or follows from its position; null if it is
// another value. The ranks have `value` whole.
Value LocalFunction::madeAnew(Value value, const Sharding& to, ir::ReshardOp op) {
  if (Value part = partOfSplat(value.getDefiningOp(), to)) return part;
  Operation* source = op.getX().getDefiningOp();
  if (!ir::ShardingOf(op.getX()).isWhole() || !IsMadeAnywhere(source)) return {};
  OpSharding sharding(source, settings_.mesh);
  for (StringAttr axis : AxesInOrder(settings_.mesh, to)) {
    if (!to.isCutBy(axis)) continue;
    std::optional<unsigned> factor = sharding.factorAtResult(0, to, axis);
    if (!factor) return {};
    sharding.cut(*factor, axis);
  }
  for (unsigned i = 0; i < source->getNumOperands(); ++i) {
    if (!sharding.operand(i).isWhole()) return {};
  }
  llvm::SmallVector<ir::FactorPart> parts;
  for (auto [f, factor] : llvm::enumerate(sharding.rule().factors)) {
    parts.push_back(rank_builder_.factorPart(factor.size, sharding.axesOf(f)));
  }
  llvm::SmallVector<Value> operands;
  for (Value operand : source->getOperands()) operands.push_back(values_[operand]);
  const llvm::SmallVector<Value> results =
      ir::BuildOnPart(builder_, source, operands, sharding.rule(), parts);
  place(results);
  return results[0];
}

// Many ops need no offset of their part.
void LocalFunction::dropUnreadRankValues() {
  for (unsigned i = argument_types_.size(); i-- > 0;) {
    if (!argument_attributes_[i].contains(ir::kRankValueAttr) ||
        !result_.getBody().getArgument(i).use_empty())
      continue;
    result_.getBody().eraseArgument(i);
    argument_types_.erase(argument_types_.begin() + i);
    argument_attributes_.erase(argument_attributes_.begin() + i);
  }
}

void LocalFunction::addReturn(mlir::func::ReturnOp op) {
  llvm::SmallVector<Value> returned;
  for (Value value : op.getOperands()) returned.push_back(values_[value]);
  builder_.create<mlir::func::ReturnOp>(op.getLoc(), returned);
  dropUnreadRankValues();
  llvm::SmallVector<mlir::DictionaryAttr> attributes;
  function_.getAllResultAttrs(attributes);
  llvm::SmallVector<mlir::Type> types(mlir::ValueRange(returned).getTypes());
  result_.setFunctionType(builder_.getFunctionType(argument_types_, types));
  result_.setAllArgAttrs(argument_attributes_);
  result_.setAllResultAttrs(attributes);
}

}  // namespace sinter
