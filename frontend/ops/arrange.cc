// Ops of the builder that join, copy and move elements, made of those in shape.cc.
#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/ir/dialect/shape_checks.h"

namespace sinter {
namespace {

// False, with an error kept, if nothing can be copied so often.
bool CheckCount(Call& call, int64_t count) {
  if (count < 0) call.Fail(absl::StrCat("makes ", count, " copies"));
  return count >= 0;
}

// Returns the offsets j - i of the matrices in the last two dimensions, as i64[rows, columns].
ir::Expr Offsets(Call& call, int64_t rows, int64_t columns) {
  ir::GraphBuilder& b = call.b();
  const mlir::Type i64 = call.element(DType::kI64);
  return b.sub(b.iota({rows, columns}, i64, 1), b.iota({rows, columns}, i64, 0));
}

// Returns where the offset and a number compare so, for all matrices of x.
template <typename Compare>
ir::Expr MaskOf(Call& call, const Tensor& x, int64_t number, Compare compare) {
  ir::GraphBuilder& b = call.b();
  const ir::Expr offsets = Offsets(call, x.dim(-2), x.dim(-1));
  const ir::Expr mask = compare(offsets, b.fill(offsets, static_cast<double>(number)));
  return b.broadcast(mask, x.shape(), {x.rank() - 2, x.rank() - 1});
}

// Says what is wrong with a padding of a dimension of this size; empty if nothing is.
std::string WrongPadding(PadMode mode, int64_t padding, int64_t size) {
  if (padding < 0) return "needs paddings of at least 0; Slice takes elements away";
  switch (mode) {
    case PadMode::kReflect:
      if (padding == 0 || padding < size) return "";
      return absl::StrCat("reflects ", padding, " elements of a dimension of size ", size,
                          ", which must be larger than the padding");
    case PadMode::kSymmetric:
    case PadMode::kCircular:
      if (padding <= size) return "";
      return absl::StrCat("repeats ", padding, " elements of a dimension of size ", size,
                          ", which must not be smaller than the padding");
    case PadMode::kReplicate:
      return padding == 0 || size > 0 ? "" : "repeats the edge of a dimension of size 0, which has none";
  }
  return "";
}

// Returns elements of x in front of it along d, or behind it.
Tensor Margin(const Tensor& x, int64_t d, PadMode mode, int64_t padding, bool is_front) {
  const int64_t n = x.dim(d);
  switch (mode) {
    case PadMode::kReflect:
      return Reverse(is_front ? SliceDim(x, d, 1, padding + 1) : SliceDim(x, d, n - 1 - padding, n - 1), {d});
    case PadMode::kSymmetric:
      return Reverse(is_front ? SliceDim(x, d, 0, padding) : SliceDim(x, d, n - padding, n), {d});
    case PadMode::kCircular:
      return is_front ? SliceDim(x, d, n - padding, n) : SliceDim(x, d, 0, padding);
    case PadMode::kReplicate:
      break;
  }
  Shape shape = x.shape();
  shape[static_cast<size_t>(d)] = padding;
  return BroadcastTo(is_front ? SliceDim(x, d, 0, 1) : SliceDim(x, d, n - 1, n), shape);
}

// No matrix is so large, and doubles hold these numbers.
constexpr int64_t kFarthest = int64_t{1} << 50;

Tensor Triangle(std::string_view name, const Tensor& x, int64_t diagonal, bool is_lower, Where where) {
  Call call(name, where, {x});
  if (!call.ok()) return {};
  if (x.rank() < 2) return call.Fail("needs matrices: at least two dimensions");
  ir::GraphBuilder& b = call.b();
  const ir::Expr mask =
      MaskOf(call, x, std::clamp(diagonal, -kFarthest, kFarthest), [&](ir::Expr offsets, ir::Expr number) {
        return is_lower ? b.le(offsets, number) : b.ge(offsets, number);
      });
  return call.Done(b.select(mask, call.expr(0), b.zeros(call.expr(0))));
}

}  // namespace

Tensor Stack(const std::vector<Tensor>& xs, int64_t dim, Where where) {
  Call call("Stack", where, xs);
  if (!call.ok()) return {};
  const auto d = call.Dim(dim, xs[0].rank(), /*extra=*/true);
  if (!d) return {};
  std::vector<Tensor> parts;
  for (const Tensor& x : xs) {
    if (x.shape() != xs[0].shape() || x.dtype() != xs[0].dtype()) {
      return call.Fail("needs tensors of one type");
    }
    parts.push_back(ExpandDims(x, *d, where));
  }
  return Concat(parts, *d, where);
}

std::vector<Tensor> Unbind(const Tensor& x, int64_t dim, Where where) {
  Call call("Unbind", where, {x});
  if (!call.ok()) return {};
  const auto d = call.Dim(dim, x.rank());
  if (!d) return {};
  std::vector<Tensor> parts;
  for (const Tensor& part : Split(x, Shape(static_cast<size_t>(x.dim(*d)), 1), *d, where)) {
    parts.push_back(Squeeze(part, *d, where));
  }
  return parts;
}

Tensor Tile(const Tensor& x, const Shape& counts, Where where) {
  Call call("Tile", where, {x});
  if (!call.ok()) return {};
  Shape shape = x.shape(), each = counts;
  if (each.size() < shape.size()) each.insert(each.begin(), shape.size() - each.size(), 1);
  shape.insert(shape.begin(), each.size() - shape.size(), 1);
  // [2, 3] by [4, 5]: [1, 2, 1, 3] to [4, 2, 5, 3] to [8, 15].
  Shape apart, copied;
  for (size_t d = 0; d < shape.size(); ++d) {
    apart.insert(apart.end(), {1, shape[d]});
    copied.insert(copied.end(), {each[d], shape[d]});
    if (!CheckCount(call, each[d])) return {};
    shape[d] = ir::MultiplySizes(shape[d], each[d]);
  }
  if (!call.CheckShape(x.dtype(), shape)) return {};
  return Reshape(BroadcastTo(Reshape(x, apart, where), copied, where), shape, where);
}

Tensor Repeat(const Tensor& x, int64_t count, int64_t dim, Where where) {
  Call call("Repeat", where, {x});
  if (!call.ok()) return {};
  const auto d = call.Dim(dim, x.rank());
  if (!d) return {};
  Shape shape = x.shape(), apart = shape;
  shape[*d] = ir::MultiplySizes(shape[*d], count);
  if (!CheckCount(call, count) || !call.CheckShape(x.dtype(), shape)) return {};
  apart.insert(apart.begin() + *d + 1, 1);
  Shape copied = apart;
  copied[*d + 1] = count;
  return Reshape(BroadcastTo(Reshape(x, apart, where), copied, where), shape, where);
}

Tensor Pad(const Tensor& x, const Shape& low, const Shape& high, PadMode mode, Where where) {
  CompositeCall call("Pad", where, {x});
  if (!call.ok()) return {};
  if (low.size() != x.shape().size() || high.size() != low.size()) {
    return call.Fail(absl::StrCat("needs one entry of low and high a dimension: ", x.rank(), ", got ",
                                  low.size(), " and ", high.size()));
  }
  Tensor y = x;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const int64_t front = low[static_cast<size_t>(d)], back = high[static_cast<size_t>(d)];
    for (const int64_t padding : {front, back}) {
      if (const std::string wrong = WrongPadding(mode, padding, x.dim(d)); !wrong.empty())
        return call.Fail(wrong);
    }
    std::vector<Tensor> parts;
    if (front > 0) parts.push_back(Margin(y, d, mode, front, /*is_front=*/true));
    parts.push_back(y);
    if (back > 0) parts.push_back(Margin(y, d, mode, back, /*is_front=*/false));
    if (parts.size() > 1) y = Concat(parts, d);
  }
  return y;
}

Tensor Roll(const Tensor& x, int64_t shift, int64_t dim, Where where) {
  Call call("Roll", where, {x});
  if (!call.ok()) return {};
  const auto d = call.Dim(dim, x.rank());
  if (!d) return {};
  const int64_t size = x.dim(*d);
  const int64_t moved = size == 0 ? 0 : (shift % size + size) % size;
  if (moved == 0) return x;
  return Concat({SliceDim(x, *d, size - moved, size, where), SliceDim(x, *d, 0, size - moved, where)}, *d,
                where);
}

Tensor Tril(const Tensor& x, int64_t diagonal, Where where) {
  return Triangle("Tril", x, diagonal, /*is_lower=*/true, where);
}

Tensor Triu(const Tensor& x, int64_t diagonal, Where where) {
  return Triangle("Triu", x, diagonal, /*is_lower=*/false, where);
}

Tensor Diagonal(const Tensor& x, int64_t offset, Where where) {
  Call call("Diagonal", where, {x});
  if (!call.ok()) return {};
  if (x.rank() < 2) return call.Fail("needs matrices: at least two dimensions");
  const int64_t rows = x.dim(-2), columns = x.dim(-1);
  if (offset < -rows || offset > columns) {
    return call.Fail(
        absl::StrCat("has no diagonal ", offset, " of ", rows, " rows and ", columns, " columns"));
  }
  const int64_t count = offset < 0 ? std::min(rows + offset, columns) : std::min(rows, columns - offset);
  Shape flat = x.shape(), result = x.shape();
  flat.pop_back(), result.pop_back();
  flat.back() = rows * columns;
  result.back() = count;
  // Elements of a diagonal are columns + 1 apart.
  const int64_t first = offset < 0 ? -offset * columns : offset;
  Shape starts(flat.size(), 0), limits = flat, strides(flat.size(), 1);
  if (count == 0) {
    limits.back() = 0;
  } else {
    starts.back() = first, limits.back() = first + (count - 1) * (columns + 1) + 1;
    strides.back() = columns + 1;
  }
  return Slice(Reshape(x, flat, where), starts, limits, strides, where);
}

Tensor DiagEmbed(const Tensor& x, int64_t offset, Where where) {
  Call call("DiagEmbed", where, {x});
  if (!call.ok()) return {};
  if (x.rank() < 1) return call.Fail("needs a dimension");
  offset = std::clamp(offset, -kFarthest, kFarthest);  // Too many elements, which CheckShape says.
  const int64_t count = x.dim(-1), size = count + std::abs(offset);
  Shape shape = x.shape();
  shape.back() = size;
  shape.push_back(size);
  if (!call.CheckShape(x.dtype(), shape)) return {};
  // Row i of the diagonal has element i, or i + offset below the main one.
  Shape low(static_cast<size_t>(x.rank()), 0), high = low;
  (offset < 0 ? low : high).back() = std::abs(offset);
  const Tensor rows =
      Cast(Pad(Cast(x, x.dtype() == I1 ? I8 : x.dtype(), where), low, high, 0, where), x.dtype(), where);
  const Tensor full = BroadcastTo(ExpandDims(rows, -1, where), shape, where);
  if (!full.ok()) return {};
  Call masked("DiagEmbed", where, {full});
  ir::GraphBuilder& b = masked.b();
  const ir::Expr mask =
      MaskOf(masked, full, offset, [&](ir::Expr offsets, ir::Expr number) { return b.eq(offsets, number); });
  return masked.Done(b.select(mask, masked.expr(0), b.zeros(masked.expr(0))));
}

std::vector<Tensor> Meshgrid(const std::vector<Tensor>& xs, Where where) {
  Call call("Meshgrid", where, xs);
  if (!call.ok()) return {};
  Shape shape;
  for (const Tensor& x : xs) {
    if (x.rank() != 1) {
      call.Fail("needs tensors of one dimension");
      return {};
    }
    shape.push_back(x.dim(0));
  }
  std::vector<Tensor> grids;
  for (size_t i = 0; i < xs.size(); ++i) {
    if (!call.CheckShape(xs[i].dtype(), shape)) return {};
    Shape line(xs.size(), 1);
    line[i] = shape[i];
    grids.push_back(BroadcastTo(Reshape(xs[i], line, where), shape, where));
  }
  return grids;
}

}  // namespace sinter
