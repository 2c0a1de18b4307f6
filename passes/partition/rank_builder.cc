#include "sinter/passes/partition/rank_builder.h"

#include <numeric>

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/target/target_model.h"

namespace sinter {

using ir::Expr;
using ir::Extent;
using ir::Sharding;
using mlir::StringAttr;
using mlir::Value;

namespace {

// Factor on the time of a reduce_scatter, a kernel that keeps about a quarter of the multiprocessors from the
// steps beside it. Copy engines keep none.
constexpr double kTimeOfScatters = 1.3;

bool IsZeros(Value value) {
  if (auto broadcast = value.getDefiningOp<ir::BroadcastOp>()) return IsZeros(broadcast->getOperand(0));
  auto constant = value.getDefiningOp<ir::ConstantOp>();
  auto splat = constant ? llvm::dyn_cast<mlir::SplatElementsAttr>(constant.getValue()) : nullptr;
  if (!splat) return false;
  if (auto real = llvm::dyn_cast<mlir::FloatAttr>(splat.getSplatValue<mlir::Attribute>())) {
    return real.getValue().isPosZero();
  }
  return llvm::cast<mlir::IntegerAttr>(splat.getSplatValue<mlir::Attribute>()).getValue().isZero();
}

// Adds equal parts along dimension 0, in their order. bf16 and f16 are added as f32 and rounded once.
Expr SumOfParts(Expr parts, int64_t count) {
  ir::GraphBuilder& b = *parts.builder;
  const mlir::Type element = parts.type().getElementType();
  const mlir::Type wide = element.getIntOrFloatBitWidth() < 32 ? b.builder().getF32Type() : element;
  llvm::SmallVector<int64_t> starts(parts.shape().size(), 0), limits(parts.shape());
  const llvm::SmallVector<int64_t> strides(starts.size(), 1);
  const int64_t rows = parts.shape()[0] / count;
  Expr sum = parts;
  for (int64_t i = 0; i < count; ++i) {
    starts[0] = i * rows, limits[0] = (i + 1) * rows;
    const Expr part = b.cast(b.slice(parts, starts, limits, strides), wide);
    sum = i == 0 ? part : sum + part;
  }
  return b.cast(sum, element);
}

}  // namespace

Value RankBuilder::rankValue(const RankNumber& number) {
  std::vector<int64_t> numbers = {number.constant};
  numbers.insert(numbers.end(), number.strides.begin(), number.strides.end());
  Value& value = rank_values_[numbers];
  if (!value) value = add_(number);
  return value;
}

ir::FactorPart RankBuilder::factorPart(int64_t size, Axes axes) {
  if (axes.empty()) return {.size = size};
  return {.size = ranks_.sizeOf(size, axes), .offset = rankValue(ranks_.firstOf(size, axes))};
}

mlir::ArrayAttr RankBuilder::group(Axes axes) {
  llvm::SmallVector<mlir::Attribute> sorted(axes.begin(), axes.end());
  llvm::sort(sorted, [&](mlir::Attribute a, mlir::Attribute b) {
    return *mesh_.find(llvm::cast<StringAttr>(a)) < *mesh_.find(llvm::cast<StringAttr>(b));
  });
  return builder_.getArrayAttr(sorted);
}

int64_t RankBuilder::sizeOf(const Extent& extent) const {
  return extent.axes.empty() ? extent.size : ranks_.sizeOf(extent.size, extent.axes);
}

llvm::SmallVector<int64_t> RankBuilder::unevenParts(int64_t rows, Axes axes) const {
  const int64_t parts = ir::CountParts(mesh_, axes);
  llvm::SmallVector<int64_t> sizes;
  for (int64_t part = 0; rows % parts != 0 && part < parts; ++part) {
    sizes.push_back(rows / parts + (part < rows % parts ? 1 : 0));
  }
  return sizes;
}

int64_t RankBuilder::bytesOfRank(mlir::RankedTensorType part, const Sharding& sharding) const {
  int64_t bytes = part.getElementTypeBitWidth() / 8, parts = 1;
  for (const auto& dim : sharding.dims) {
    for (const Extent& extent : dim) bytes *= extent.size, parts *= ir::CountParts(mesh_, extent.axes);
  }
  return bytes / parts;
}

bool RankBuilder::isCopiedSum(mlir::Type element, int64_t bytes, ir::ReduceKind kind, int64_t ranks,
                              bool is_scattered) {
  if (kind != ir::ReduceKind::sum || !llvm::isa<mlir::FloatType>(element)) return false;
  if (copied_sum_bytes_ > 0) return bytes >= copied_sum_bytes_;
  if (!ir::TargetModel::Of(device_).exchanges_beside_steps || (is_scattered && !may_wait_)) return false;
  const auto seconds = [&](cost::ExchangeKind exchange) {
    return prices_.secondsOfExchange(device_, exchange, static_cast<double>(bytes), ranks);
  };
  using enum cost::ExchangeKind;
  const double combined = is_scattered ? kTimeOfScatters * seconds(kReduceScatter) : seconds(kAllReduce);
  // Readers of the sum read the terms of the others too.
  const double copied = seconds(is_scattered ? kAllToAll : kRingShift) +
                        prices_.secondsOfReading(device_, static_cast<double>(bytes));
  return copied < combined;
}

llvm::SmallVector<Value> RankBuilder::combine(mlir::Location loc, llvm::ArrayRef<Value> terms, int64_t bytes,
                                              Axes axes, ir::ReduceKind kind) {
  const mlir::ValueRange values(terms);
  const mlir::Type element = ir::TypeOf(terms[0]).getElementType();
  if (ir::CountParts(mesh_, axes) != 2 || !isCopiedSum(element, bytes, kind, 2, /*is_scattered=*/false)) {
    auto op = explained(
        builder_.create<ir::AllReduceOp>(loc, values.getTypes(), values, group(axes), channel_++, kind));
    return llvm::to_vector(llvm::map_range(op.getResults(), [](mlir::OpResult r) { return Value(r); }));
  }
  // The sum of two terms has the same bits in either order.
  ir::GraphBuilder b(builder_, loc);
  auto others = explained(
      builder_.create<ir::RingShiftOp>(loc, values.getTypes(), values, group(axes), channel_++, /*by=*/1));
  llvm::SmallVector<Value> sums;
  for (auto [own, other] : llvm::zip(terms, others.getResults())) {
    sums.push_back((b.wrap(own) + b.wrap(other)).value);
  }
  return sums;
}

// Exchanges cut and join along dimension 0.
Value RankBuilder::alongExtent(Value value, Sharding& now, size_t dim, size_t extent, Axes after,
                               mlir::Location loc, bool in_front,
                               llvm::function_ref<Expr(Expr, int64_t)> change) {
  ir::GraphBuilder b(builder_, loc);
  Expr x = b.wrap(value);
  auto& extents = now.dims[dim];
  const auto rank = static_cast<size_t>(x.type().getRank());
  llvm::SmallVector<int64_t> shape(x.shape().take_front(dim)), order;
  for (const Extent& one : extents) shape.push_back(sizeOf(one));
  llvm::append_range(shape, x.shape().drop_front(dim + 1));
  const size_t cut = dim + extent;
  if (shape.size() != rank) x = b.reshape(x, shape);
  order.resize(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + cut, order.begin() + cut + 1);
  const bool moves = in_front && cut != 0;
  if (moves) x = b.transpose(x, order);
  x = change(x, in_front ? 0 : static_cast<int64_t>(cut));
  if (moves) x = b.transpose(x, mlir::invertPermutationVector(order));
  extents[extent].axes.assign(after.begin(), after.end());
  if (shape.size() != rank) {
    llvm::SmallVector<int64_t> joined(x.shape().take_front(dim));
    joined.push_back(1);
    for (const Extent& one : extents) joined.back() *= sizeOf(one);
    llvm::append_range(joined, x.shape().drop_front(dim + extents.size()));
    x = b.reshape(x, joined);
  }
  return x.value;
}

// True if an exchange over all of the axes has its members in the order of the parts: the last axis varies
// fastest.
bool RankBuilder::areInOrder(Axes axes) const {
  return llvm::is_sorted(axes, [&](StringAttr a, StringAttr b) { return *mesh_.find(a) < *mesh_.find(b); });
}

Value RankBuilder::gather(Value value, Sharding& now, size_t dim, size_t extent, Axes keep,
                          mlir::Location loc) {
  const Extent from = now.dims[dim][extent];
  if (!areInOrder(Axes(from.axes).drop_front(keep.size()))) {
    // The innermost axis first.
    for (size_t kept = from.axes.size(); kept-- > keep.size();) {
      value = gather(value, now, dim, extent, Axes(from.axes).take_front(kept), loc);
    }
    return value;
  }
  const Axes axes = Axes(from.axes).drop_front(keep.size());
  const int64_t rows = sizeOf({from.size, llvm::SmallVector<StringAttr, 1>(keep)});
  return alongExtent(value, now, dim, extent, keep, loc, /*in_front=*/true, [&](Expr x, int64_t) {
    ir::GraphBuilder b(builder_, loc);
    return b.wrap(explained(builder_.create<ir::AllGatherOp>(
        loc, ir::Resized(x.type(), 0, rows), x.value, group(axes), channel_++, unevenParts(rows, axes))));
  });
}

Value RankBuilder::scatter(Value value, Sharding& now, size_t dim, size_t extent, Axes axes,
                           mlir::Location loc) {
  const Extent from = now.dims[dim][extent];
  if (!areInOrder(axes.drop_front(from.axes.size()))) {
    for (size_t cut = from.axes.size(); cut < axes.size(); ++cut) {
      value = scatter(value, now, dim, extent, axes.take_front(cut + 1), loc);
    }
    return value;
  }
  const Axes added = axes.drop_front(from.axes.size());
  const int64_t rows = sizeOf({from.size, llvm::SmallVector<StringAttr, 1>(axes)});
  const ir::ReduceKind kind = *now.combine;
  const bool is_copied = from.size % ir::CountParts(mesh_, axes) == 0 &&
                         isCopiedSum(ir::TypeOf(value).getElementType(), bytesOfRank(ir::TypeOf(value), now),
                                     kind, ir::CountParts(mesh_, added), /*is_scattered=*/true);
  llvm::erase_if(now.partial, [&](StringAttr axis) { return llvm::is_contained(added, axis); });
  return alongExtent(value, now, dim, extent, axes, loc, /*in_front=*/true, [&](Expr x, int64_t) {
    ir::GraphBuilder b(builder_, loc);
    const int64_t all = x.shape()[0];
    if (is_copied) {
      const Value parts = explained(
          builder_.create<ir::AllToAllOp>(loc, x.value.getType(), x.value, group(added), channel_++));
      return SumOfParts(b.wrap(parts), ir::CountParts(mesh_, added));
    }
    return b.wrap(explained(builder_.create<ir::ReduceScatterOp>(loc, ir::Resized(x.type(), 0, rows), x.value,
                                                                 group(added), channel_++, kind,
                                                                 unevenParts(all, added))));
  });
}

Value RankBuilder::slice(Value value, Sharding& now, size_t dim, size_t extent, Axes axes,
                         mlir::Location loc) {
  const Extent from = now.dims[dim][extent];
  const int64_t rows = sizeOf({from.size, llvm::SmallVector<StringAttr, 1>(axes)});
  RankNumber first = ranks_.firstOf(from.size, axes);
  // Positions in what this rank has already.
  for (StringAttr axis : from.axes) first.strides[*mesh_.find(axis)] = 0;
  return alongExtent(value, now, dim, extent, axes, loc, /*in_front=*/false, [&](Expr x, int64_t d) {
    ir::GraphBuilder b(builder_, loc);
    Expr positions = b.iota({rows}, builder_.getI64Type(), 0);
    positions = positions + b.splat(b.wrap(rankValue(first)), positions);
    return b.wrap(
        builder_.create<ir::GatherOp>(loc, ir::Resized(x.type(), d, rows), x.value, positions.value, d));
  });
}

Value RankBuilder::onlyOnFirst(Value value, Axes axes, mlir::Location loc) {
  if (IsZeros(value)) return value;
  RankNumber number{0, llvm::SmallVector<int64_t>(mesh_.getSizes().size(), 0)};
  for (StringAttr axis : axes) number.strides[*mesh_.find(axis)] = 1;
  ir::GraphBuilder b(builder_, loc);
  Expr all = b.wrap(value), position = b.wrap(rankValue(number));
  return b.select(b.splat(b.eq(position, b.zeros(position)), all), all, b.zeros(all)).value;
}

}  // namespace sinter
