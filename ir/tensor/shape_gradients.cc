// DifferentiableInterface of the shape ops.
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/shape_checks.h"
#include "sinter/ir/dialect/tensor_types.h"

namespace sinter::ir {

using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

// gather and take_along clamp their indices, but scatter_add drops indices out of range: clamp before
// scattering.
Expr ClampIndices(GraphBuilder& b, Expr indices, int64_t size) {
  return b.wrap(b.builder().create<ClampOp>(b.loc(), indices.type(), indices.value, llvm::APFloat(0.0),
                                            llvm::APFloat(static_cast<double>(size - 1))));
}

Expr ScatterAdd(GraphBuilder& b, Expr x, Expr indices, Expr updates, int64_t dim) {
  return b.wrap(
      b.builder().create<ScatterAddOp>(b.loc(), x.type(), x.value, indices.value, updates.value, dim));
}

// Rows of x and updates at places along one dimension, for the gradients of scatters.
class Rows {
 public:
  Rows(GraphBuilder& b, Expr indices, Expr updates, int64_t dim)
      : b_(b), indices_(indices), updates_(updates), dim_(dim) {}

  // Returns the elements of x that the indices name, 0 for an index out of range.
  Expr take(Expr x) {
    auto type = updates_.type().clone(x.element());
    Expr taken =
        b_.wrap(b_.builder().create<GatherOp>(b_.loc(), type, x.value, indices_.value, dim_).getResult());
    const auto size = static_cast<double>(x.shape()[dim_]);
    Expr valid = b_.logicalAnd(b_.ge(indices_, b_.zeros(indices_)), b_.lt(indices_, b_.fill(indices_, size)));
    auto dims = llvm::to_vector(llvm::seq<int64_t>(dim_, dim_ + indices_.shape().size()));
    return b_.select(b_.broadcastAlong(valid, updates_, dims), taken, b_.zeros(taken));
  }
  Expr add(Expr x, Expr updates) { return ScatterAdd(b_, x, indices_, updates, dim_); }
  Expr combine(ScatterKind kind, Expr x, Expr updates) {
    return b_.wrap(b_.builder().create<ScatterOp>(b_.loc(), x.type(), x.value, indices_.value, updates.value,
                                                  kind, dim_));
  }

 private:
  GraphBuilder& b_;
  Expr indices_, updates_;
  int64_t dim_;
};

// The last of the updates of an element takes its gradient.
SmallVector<Expr> GradientOfSet(GraphBuilder& b, Rows rows, Expr g, Expr indices, Expr updates, int64_t dim) {
  mlir::Type i32 = b.builder().getI32Type();
  const int64_t count = indices.type().getNumElements();
  Expr flat = b.reshape(indices, {count}), number = b.iota({count}, i32, 0);
  Rows numbers(b, flat, number, 0);
  Expr last = numbers.take(numbers.combine(ScatterKind::set, b.full({g.shape()[dim]}, i32, -1), number));
  auto dims = llvm::to_vector(llvm::seq<int64_t>(dim, dim + indices.shape().size()));
  Expr is_last = b.broadcastAlong(b.reshape(b.eq(last, number), indices.shape()), updates, dims);
  Expr taken = rows.take(g);
  return {rows.combine(ScatterKind::set, g, b.zeros(updates)), {}, b.select(is_last, taken, b.zeros(taken))};
}

// Elements that are equal to the largest or smallest share its gradient evenly.
SmallVector<Expr> GradientOfExtreme(GraphBuilder& b, Rows rows, Expr g, Expr x, Expr updates, Expr result) {
  Expr is_x = b.cast(b.eq(x, result), g.element());
  Expr is_update = b.cast(b.eq(updates, rows.take(result)), g.element());
  Expr share = g / b.maximum(rows.add(is_x, is_update), b.ones(g));
  return {share * is_x, {}, rows.take(share) * is_update};
}

// An update's gradient has the product of all other factors of its element, which division gives unless one
// of them is 0.
SmallVector<Expr> GradientOfProduct(GraphBuilder& b, Rows rows, Expr g, Expr x, Expr updates) {
  Expr is_zero = b.eq(updates, b.zeros(updates)), ones = b.ones(updates);
  Expr others = b.select(is_zero, ones, updates);
  Expr zeros = rows.take(rows.add(b.zeros(x), b.cast(is_zero, x.element())));
  Expr product = rows.take(g * rows.combine(ScatterKind::mul, x, others));
  Expr own_zero = b.cast(is_zero, zeros.element());
  Expr taken = b.select(b.eq(zeros, own_zero), product / others, b.zeros(product));
  return {g * rows.combine(ScatterKind::mul, b.ones(x), updates), {}, taken};
}

}  // namespace

SmallVector<Expr> ReshapeOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  return {b.reshape(output_gradients[0], getX().getType().getShape())};
}

SmallVector<Expr> TransposeOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [i, d] : llvm::enumerate(getPermutation())) inverse[d] = i;
  return {b.transpose(output_gradients[0], inverse)};
}

SmallVector<Expr> BroadcastOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  ArrayRef<int64_t> from = getX().getType().getShape(), to = getType().getShape();
  // Operand dimensions that are not repeated, in the order of the result.
  SmallVector<int64_t> kept;
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] == to[getDims()[i]]) kept.push_back(i);
  }
  llvm::sort(kept, [&](int64_t i, int64_t j) { return getDims()[i] < getDims()[j]; });
  SmallVector<int64_t> kept_in_result;
  for (int64_t i : kept) kept_in_result.push_back(getDims()[i]);
  SmallVector<int64_t> summed = OtherDims(to.size(), kept_in_result);
  Expr g = output_gradients[0];
  if (!summed.empty()) g = b.sum(g, summed);
  if (!llvm::is_sorted(kept)) {
    auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, kept.size()));
    llvm::sort(permutation, [&](int64_t i, int64_t j) { return kept[i] < kept[j]; });
    g = b.transpose(g, permutation);
  }
  return {b.reshape(g, from)};
}

SmallVector<Expr> SliceOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  Expr x = b.wrap(getX());
  if (getType().getNumElements() == 0) return {b.zeros(x)};
  SmallVector<int64_t> high, interior;
  for (auto [d, size] : llvm::enumerate(getType().getShape())) {
    high.push_back(x.shape()[d] - getStarts()[d] - (size - 1) * getStrides()[d] - 1);
    interior.push_back(getStrides()[d] - 1);
  }
  return {b.pad(output_gradients[0], getStarts(), high, interior, 0)};
}

SmallVector<Expr> ConcatOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  Expr g = output_gradients[0];
  SmallVector<int64_t> starts(g.shape().size(), 0), limits(g.shape()), strides(g.shape().size(), 1);
  SmallVector<Expr> gradients;
  int64_t position = 0;
  for (mlir::Value x : getXs()) {
    starts[getDim()] = position;
    position += TypeOf(x).getDimSize(getDim());
    limits[getDim()] = position;
    gradients.push_back(b.slice(g, starts, limits, strides));
  }
  return gradients;
}

SmallVector<Expr> PadOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  Expr x = b.wrap(getX());
  if (x.type().getNumElements() == 0) return {b.zeros(x)};
  SmallVector<int64_t> limits, strides;
  for (auto [d, size] : llvm::enumerate(x.shape())) {
    strides.push_back(getInterior()[d] + 1);
    limits.push_back(getLow()[d] + (size - 1) * strides.back() + 1);
  }
  return {b.slice(output_gradients[0], getLow(), limits, strides)};
}

SmallVector<Expr> ReverseOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  return {b.reverse(output_gradients[0], getDims())};
}

SmallVector<Expr> GatherOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  Expr x = b.wrap(getX());
  Expr indices = ClampIndices(b, b.wrap(getIndices()), x.shape()[getDim()]);
  return {ScatterAdd(b, b.zeros(x), indices, output_gradients[0], getDim()), {}};
}

// One scatter_add into the flattened operand, at the row-major position that each result element was read
// from.
SmallVector<Expr> TakeAlongOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  Expr x = b.wrap(getX()), g = output_gradients[0];
  if (g.type().getNumElements() == 0) return {b.zeros(x), {}};
  int64_t dim = getDim(), rank = x.shape().size();
  mlir::Type i64 = b.builder().getI64Type();
  Expr position = b.cast(ClampIndices(b, b.wrap(getIndices()), x.shape()[dim]), i64);
  int64_t stride = 1;
  Expr offset;
  for (int64_t d = rank - 1; d >= 0; --d) {
    Expr coordinate = d == dim ? position : b.iota(g.shape(), i64, d);
    Expr term = stride == 1 ? coordinate : coordinate * static_cast<double>(stride);
    offset = offset ? offset + term : term;
    stride *= x.shape()[d];
  }
  int64_t count = g.type().getNumElements();
  Expr zeros = b.full({x.type().getNumElements()}, x.element(), 0);
  Expr flat = ScatterAdd(b, zeros, b.reshape(offset, {count}), b.reshape(g, {count}), 0);
  return {b.reshape(flat, x.shape()), {}};
}

SmallVector<Expr> ScatterAddOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  Expr g = output_gradients[0], updates = b.wrap(getUpdates());
  if (g.shape()[getDim()] == 0) return {g, {}, b.zeros(updates)};
  return {g, {}, Rows(b, b.wrap(getIndices()), updates, getDim()).take(g)};
}

SmallVector<Expr> ScatterOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  Expr g = output_gradients[0], x = b.wrap(getX()), updates = b.wrap(getUpdates());
  Expr indices = b.wrap(getIndices());
  if (g.shape()[getDim()] == 0) return {g, {}, b.zeros(updates)};
  Rows rows(b, indices, updates, getDim());
  switch (getKind()) {
    case ScatterKind::set:
      return GradientOfSet(b, rows, g, indices, updates, getDim());
    case ScatterKind::max:
    case ScatterKind::min:
      return GradientOfExtreme(b, rows, g, x, updates, b.wrap(getResult()));
    case ScatterKind::mul:
      return GradientOfProduct(b, rows, g, x, updates);
  }
  llvm_unreachable("a scatter has one of four kinds");
}

}  // namespace sinter::ir
