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
  Expr g = output_gradients[0], indices = b.wrap(getIndices()), updates = b.wrap(getUpdates());
  int64_t size = g.shape()[getDim()];
  if (size == 0) return {g, {}, b.zeros(updates)};
  // Gather clamps, so the values of indices out of range are masked.
  Expr taken =
      b.wrap(b.builder().create<GatherOp>(b.loc(), updates.type(), g.value, indices.value, getDim()));
  Expr valid = b.logicalAnd(b.ge(indices, b.zeros(indices)), b.lt(indices, b.fill(indices, size)));
  auto dims = llvm::to_vector(llvm::seq<int64_t>(getDim(), getDim() + indices.shape().size()));
  return {g, {}, b.select(b.broadcastAlong(valid, updates, dims), taken, b.zeros(taken))};
}

}  // namespace sinter::ir
