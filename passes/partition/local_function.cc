#include "sinter/passes/partition/local_function.h"

#include <numeric>
#include <utility>

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "sinter/ir/dialect/local_op.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/plan/plan_ops.h"
#include "sinter/passes/partition/op_sharding.h"

namespace sinter {

using ir::Expr;
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

bool IsZeros(Value value) {
  auto constant = value.getDefiningOp<ir::ConstantOp>();
  auto splat = constant ? llvm::dyn_cast<mlir::SplatElementsAttr>(constant.getValue()) : nullptr;
  if (!splat) return false;
  if (auto real = llvm::dyn_cast<mlir::FloatAttr>(splat.getSplatValue<mlir::Attribute>())) {
    return real.getValue().isPosZero();
  }
  return llvm::cast<mlir::IntegerAttr>(splat.getSplatValue<mlir::Attribute>()).getValue().isZero();
}

// True if the op can be built anew for any part of its result, without parts of tensors.
bool IsMadeAnywhere(Operation* op) {
  return op && llvm::isa<ir::BroadcastOp, ir::IotaOp, ir::RandomUniformOp, ir::RandomNormalOp,
                         ir::RandomBernoulliOp>(op);
}

llvm::SmallVector<StringAttr> AxesOf(llvm::ArrayRef<Extent> extents) {
  for (const Extent& extent : extents) {
    if (!extent.axes.empty()) return llvm::to_vector(extent.axes);
  }
  return {};
}

}  // namespace

void LocalFunction::PlacingListener::notifyOperationInserted(Operation* op, mlir::OpBuilder::InsertPoint) {
  ir::PlaceNewOp(op, device);
}

LocalFunction::LocalFunction(FuncOp function, const LocalSettings& settings, const RankSet& ranks)
    : function_(function), settings_(settings), ranks_(ranks), builder_(function) {}

FuncOp LocalFunction::build() {
  result_ = builder_.create<FuncOp>(function_.getLoc(), function_.getSymName(), function_.getFunctionType());
  result_->setDiscardableAttrs(function_->getDiscardableAttrDictionary());
  builder_.setInsertionPointToEnd(result_.addEntryBlock());
  builder_.setListener(&listener_);
  result_.getBody().front().eraseArguments(0, result_.getNumArguments());
  findFeeds();
  addArguments();
  for (Operation& op : function_.getBody().front().without_terminator()) runOrDefer(&op);
  runLateOps();
  addReturn(llvm::cast<mlir::func::ReturnOp>(function_.getBody().front().getTerminator()));
  return result_;
}

void LocalFunction::findFeeds() {
  for (Operation& op : llvm::reverse(function_.getBody().front().without_terminator())) {
    auto reshard = llvm::dyn_cast<ir::ReshardOp>(op);
    const bool is_cut =
        reshard ? !ir::ShardingOf(reshard).isWhole() : OpSharding::Of(&op, settings_.mesh).isCut();
    const bool feeds =
        is_cut || llvm::any_of(op.getResults(), [&](Value result) { return feeds_.contains(result); });
    if (feeds) feeds_.insert(op.operand_begin(), op.operand_end());
  }
}

// An input that is cut along its rows is the caller's rows of this rank.
void LocalFunction::addArguments() {
  for (mlir::BlockArgument argument : function_.getArguments()) {
    mlir::NamedAttrList attributes(function_.getArgAttrDict(argument.getArgNumber()));
    attributes.erase(ir::kShardingAttr);
    const Sharding sharding = ir::ShardingOf(argument);
    const RankedTensorType type = TypeOf(argument), local = ranks_.localType(type, sharding);
    if (local != type) {
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

// Returns an argument that holds the number of the rank that runs the function.
Value LocalFunction::rankValue(const RankNumber& number) {
  std::vector<int64_t> numbers = {number.constant};
  numbers.insert(numbers.end(), number.strides.begin(), number.strides.end());
  Value& value = rank_values_[numbers];
  if (value) return value;
  mlir::NamedAttrList attributes;
  attributes.set(ir::kRankValueAttr, builder_.getDenseI64ArrayAttr(numbers));
  if (listener_.device) attributes.set(ir::kDeviceAttr, listener_.device);
  return value = addArgument(RankedTensorType::get({}, builder_.getI64Type()), function_.getLoc(),
                             attributes.getDictionary(builder_.getContext()));
}

mlir::ArrayAttr LocalFunction::group(llvm::ArrayRef<StringAttr> axes) {
  llvm::SmallVector<mlir::Attribute> sorted(axes.begin(), axes.end());
  llvm::sort(sorted, [&](mlir::Attribute a, mlir::Attribute b) {
    return *settings_.mesh.find(llvm::cast<StringAttr>(a)) < *settings_.mesh.find(llvm::cast<StringAttr>(b));
  });
  return builder_.getArrayAttr(sorted);
}

ir::FactorPart LocalFunction::factorPart(int64_t size, llvm::ArrayRef<StringAttr> axes) {
  if (axes.empty()) return {.size = size};
  return {.size = ranks_.sizeOf(size, axes), .offset = rankValue(ranks_.firstOf(size, axes))};
}

void LocalFunction::runOp(Operation* op) {
  listener_.device = ir::DeviceOf(op);
  if (auto reshard = llvm::dyn_cast<ir::ReshardOp>(op)) return runReshard(reshard);
  const OpSharding sharding = OpSharding::Of(op, settings_.mesh);
  llvm::SmallVector<Value> operands;
  for (Value operand : op->getOperands()) operands.push_back(values_[operand]);
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
    parts.push_back(factorPart(factor.size, sharding.axesOf(f)));
    if (!sharding.rule().resultNames(0, f)) llvm::append_range(partial, sharding.axesOf(f));
  }
  for (unsigned i : sharding.rule().counts_once) {
    if (!partial.empty()) operands[i] = onlyOnFirst(operands[i], partial, op->getLoc());
  }
  const llvm::SmallVector<Value> results = ir::BuildOnPart(builder_, op, operands, sharding.rule(), parts);
  for (auto [from, to] : llvm::zip(op->getResults(), results)) {
    values_[from] = to;
    if (Operation* made = to.getDefiningOp()) made->removeAttr(ir::kShardingAttr);
  }
}

// Returns the value on the first rank along the axes, and zeros on the others, which add to it.
Value LocalFunction::onlyOnFirst(Value value, llvm::ArrayRef<StringAttr> axes, mlir::Location loc) {
  if (IsZeros(value)) return value;
  RankNumber number{0, llvm::SmallVector<int64_t>(settings_.mesh.getSizes().size(), 0)};
  for (StringAttr axis : axes) number.strides[*settings_.mesh.find(axis)] = 1;
  ir::GraphBuilder b(builder_, loc);
  Expr all = b.wrap(value), position = b.wrap(rankValue(number));
  return b.select(b.splat(b.eq(position, b.zeros(position)), all), all, b.zeros(all)).value;
}

// Combines terms, then gathers the dimensions that change, then takes this rank's part.
void LocalFunction::runReshard(ir::ReshardOp op) {
  if (travelsInBucket(op)) return addToBucket(op);
  Sharding now = ir::ShardingOf(op.getX());
  const Sharding to = ir::ShardingOf(op);
  Value value = values_[op.getX()];
  if (!now.partial.empty()) {
    value =
        builder_
            .create<ir::AllReduceOp>(op.getLoc(), mlir::TypeRange(value.getType()), mlir::ValueRange(value),
                                     group(now.partial), channel_++, *now.combine)
            .getResult(0);
    now.partial.clear();
  }
  for (size_t d = 0; d < now.dims.size(); ++d) {
    if (now.dims[d] == to.dims[d] || AxesOf(now.dims[d]).empty()) continue;
    if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(op.getX())) {
      // The caller's tensor is whole.
      mlir::NamedAttrList attributes(function_.getArgAttrDict(argument.getArgNumber()));
      attributes.erase(ir::kShardingAttr);
      value =
          addArgument(TypeOf(argument), argument.getLoc(), attributes.getDictionary(builder_.getContext()));
      now = Sharding::Whole(TypeOf(argument));
      break;
    }
    reportGather(op);
    value = gathered(value, now, d, op.getLoc());
    now.dims[d] = {Extent{TypeOf(op.getX()).getDimSize(d)}};
  }
  values_[op] = value;
  if (!(now.dims == to.dims)) values_[op] = partOf(value, op);
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

// Sums that only new values and outputs need wait in a bucket.
bool LocalFunction::travelsInBucket(ir::ReshardOp op) const {
  const Sharding from = ir::ShardingOf(op.getX());
  return from.combine == ReduceKind::sum && ir::ShardingOf(op).isWhole() && !feeds_.contains(op);
}

void LocalFunction::addToBucket(ir::ReshardOp op) {
  const mlir::Type element = op.getType().getElementType();
  const Sharding from = ir::ShardingOf(op.getX());
  auto* bucket = llvm::find_if(
      buckets_, [&](const Bucket& b) { return b.element == element && b.axes == from.partial; });
  if (bucket == buckets_.end()) {
    buckets_.push_back(Bucket{element, from.partial, {}, 0});
    bucket = &buckets_.back();
  }
  bucket->sums.push_back(op);
  bucket->bytes += plan_ir::TensorBytes(op.getType());
  late_values_.insert(op);
  if (bucket->bytes >= settings_.bucket_bytes) flush(bucket - buckets_.begin());
}

void LocalFunction::flush(size_t index) {
  Bucket bucket = buckets_[index];
  buckets_.erase(buckets_.begin() + index);
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::Location> locs;
  llvm::SmallVector<Value> sums;
  for (ir::ReshardOp op : bucket.sums) {
    sums.push_back(values_[op.getX()]);
    types.push_back(sums.back().getType());
    locs.push_back(op.getX().getLoc());
  }
  listener_.device = ir::DeviceOf(sums.front());
  auto all = builder_.create<ir::AllReduceOp>(builder_.getFusedLoc(locs), types, sums, group(bucket.axes),
                                              channel_++, ReduceKind::sum);
  for (auto [op, sum] : llvm::zip(bucket.sums, all.getResults())) values_[op] = sum;
}

// Readers of a sum that travels in a bucket run after everything else.
void LocalFunction::runOrDefer(Operation* op) {
  const bool is_late =
      llvm::any_of(op->getOperands(), [&](Value operand) { return late_values_.contains(operand); });
  if (!is_late) return runOp(op);
  late_ops_.push_back(op);
  late_values_.insert(op->result_begin(), op->result_end());
}

// Late ops never run on parts: otherwise the sums that they read would not have waited. But they may be terms of
// further sums, which travel in a second round of buckets.
void LocalFunction::runLateOps() {
  while (!buckets_.empty() || !late_ops_.empty()) {
    while (!buckets_.empty()) flush(0);
    late_values_.clear();
    for (Operation* op : std::exchange(late_ops_, {})) runOrDefer(op);
  }
}

// Returns the value with dimension `dim` whole. The parts travel as rows: the extent that is cut comes first.
Value LocalFunction::gathered(Value value, const Sharding& from, int64_t dim, mlir::Location loc) {
  ir::GraphBuilder b(builder_, loc);
  Expr x = b.wrap(value);
  // The dimension as its extents.
  llvm::SmallVector<int64_t> shape(x.shape().take_front(dim)), order;
  size_t cut = 0;
  int64_t rows = 0;
  for (const Extent& extent : from.dims[dim]) {
    if (!extent.axes.empty()) {
      cut = shape.size();
      rows = extent.size;
    }
    shape.push_back(extent.axes.empty() ? extent.size : ranks_.sizeOf(extent.size, extent.axes));
  }
  shape.append(x.shape().begin() + dim + 1, x.shape().end());
  llvm::SmallVector<int64_t> whole_shape(x.shape());
  whole_shape[dim] = 1;
  for (const Extent& extent : from.dims[dim]) whole_shape[dim] *= extent.size;
  if (from.dims[dim].size() > 1) x = b.reshape(x, shape);
  order.resize(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + cut, order.begin() + cut + 1);
  if (cut != 0) x = b.transpose(x, order);
  const llvm::SmallVector<StringAttr> axes = AxesOf(from.dims[dim]);
  const int64_t parts = ir::CountParts(settings_.mesh, axes);
  llvm::SmallVector<int64_t> sizes;
  for (int64_t part = 0; rows % parts != 0 && part < parts; ++part) {
    sizes.push_back(rows / parts + (part < rows % parts ? 1 : 0));
  }
  x = b.wrap(builder_.create<ir::AllGatherOp>(loc, ir::Resized(x.type(), 0, rows), x.value, group(axes),
                                              channel_++, sizes));
  if (cut != 0) x = b.transpose(x, mlir::invertPermutationVector(order));
  if (from.dims[dim].size() > 1) x = b.reshape(x, whole_shape);
  return x.value;
}

// Returns this rank's part of a value that it has whole in the dimensions that change.
Value LocalFunction::partOf(Value value, ir::ReshardOp op) {
  const Sharding to = ir::ShardingOf(op);
  const bool was_whole = ir::ShardingOf(op.getX()).isWhole();
  if (auto constant = value.getDefiningOp<ir::ConstantOp>()) {
    if (auto splat = llvm::dyn_cast<mlir::SplatElementsAttr>(constant.getValue())) {
      return builder_.create<ir::ConstantOp>(constant.getLoc(),
                                             splat.resizeSplat(ranks_.localType(TypeOf(value), to)));
    }
  }
  Operation* source = op.getX().getDefiningOp();
  if (was_whole && IsMadeAnywhere(source)) {
    OpSharding sharding(source, settings_.mesh);
    bool fits = true;
    for (StringAttr axis : settings_.mesh.getNames()) {
      if (!to.isCutBy(axis)) continue;
      std::optional<unsigned> factor = sharding.factorAtResult(0, to, axis);
      fits &= factor.has_value();
      if (factor) sharding.cut(*factor, axis);
    }
    for (unsigned i = 0; i < source->getNumOperands(); ++i) fits &= sharding.operand(i).isWhole();
    if (fits) {
      llvm::SmallVector<ir::FactorPart> parts;
      for (auto [f, factor] : llvm::enumerate(sharding.rule().factors)) {
        parts.push_back(factorPart(factor.size, sharding.axesOf(f)));
      }
      llvm::SmallVector<Value> operands;
      for (Value operand : source->getOperands()) operands.push_back(values_[operand]);
      return ir::BuildOnPart(builder_, source, operands, sharding.rule(), parts)[0];
    }
  }
  for (size_t d = 0; d < to.dims.size(); ++d) {
    const llvm::SmallVector<StringAttr> axes = AxesOf(to.dims[d]);
    const bool is_new = !axes.empty() && AxesOf(ir::ShardingOf(op.getX()).dims[d]) != axes;
    if (is_new) value = sliced(value, to, d, op.getLoc());
  }
  return value;
}

// Takes this rank's rows of the extent that is cut.
Value LocalFunction::sliced(Value value, const Sharding& to, int64_t dim, mlir::Location loc) {
  ir::GraphBuilder b(builder_, loc);
  Expr x = b.wrap(value);
  llvm::SmallVector<int64_t> shape(x.shape().take_front(dim)), local_shape(x.shape());
  int64_t cut = 0;
  const Extent* extent_cut = nullptr;
  for (const Extent& extent : to.dims[dim]) {
    if (!extent.axes.empty()) {
      cut = static_cast<int64_t>(shape.size());
      extent_cut = &extent;
    }
    shape.push_back(extent.size);
  }
  shape.append(x.shape().begin() + dim + 1, x.shape().end());
  const int64_t size = ranks_.sizeOf(extent_cut->size, extent_cut->axes);
  local_shape[dim] = local_shape[dim] / extent_cut->size * size;
  if (to.dims[dim].size() > 1) x = b.reshape(x, shape);
  Expr positions = b.iota({size}, builder_.getI64Type(), 0);
  Expr first = b.wrap(rankValue(ranks_.firstOf(extent_cut->size, extent_cut->axes)));
  positions = positions + b.splat(first, positions);
  x = b.wrap(
      builder_.create<ir::GatherOp>(loc, ir::Resized(x.type(), cut, size), x.value, positions.value, cut));
  if (to.dims[dim].size() > 1) x = b.reshape(x, local_shape);
  return x.value;
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
