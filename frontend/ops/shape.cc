// Shape ops of the builder.
#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/frontend/graph/broadcasting.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/graph/literals.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/ir/dialect/shape_checks.h"

namespace sinter {

namespace {

std::string List(const Shape& shape) { return absl::StrCat("[", absl::StrJoin(shape, ","), "]"); }

// True if the list has one entry for each dimension; else keeps an error.
bool CheckLength(Call& call, const Tensor& x, const Shape& list, std::string_view what) {
  if (static_cast<int64_t>(list.size()) == x.rank()) return true;
  call.Fail(absl::StrCat("needs one entry of ", std::string(what), " a dimension: ", x.rank(), ", got ",
                         list.size()));
  return false;
}

bool IsIndexType(DType dtype) { return dtype == DType::kI32 || dtype == DType::kI64; }

constexpr char kIndexMessage[] = "takes i32 or i64 indices; Cast(indices, I32) first";

}  // namespace

Tensor Reshape(const Tensor& x, const Shape& shape, Where where) {
  Call call("Reshape", where, {x});
  if (!call.ok()) return {};
  Shape full = shape, bounded(shape.size(), 1);  // The second shape leaves out the unknown size.
  int64_t unknown = -1;
  for (size_t d = 0; d < full.size(); ++d) {
    if (full[d] == -1 && unknown < 0) {
      unknown = static_cast<int64_t>(d);
    } else if (full[d] < 0) {
      return call.Fail(absl::StrCat("to ", List(shape), ": only one size may be -1, others are at least 0"));
    } else {
      bounded[d] = full[d];
    }
  }
  if (!call.CheckShape(x.dtype(), bounded)) return {};
  const int64_t known = std::accumulate(bounded.begin(), bounded.end(), int64_t{1}, std::multiplies<>());
  if (unknown >= 0 && known > 0 && x.size() % known == 0) full[unknown] = x.size() / known;
  int64_t total = std::accumulate(full.begin(), full.end(), int64_t{1}, std::multiplies<>());
  if (total != x.size() || (unknown >= 0 && full[unknown] < 0)) {
    return call.Fail(
        absl::StrCat("of ", x.size(), " elements to ", List(shape),
                     unknown >= 0 ? ", which does not divide them" : absl::StrCat(", which holds ", total)));
  }
  return call.Done(call.b().reshape(call.expr(0), full));
}

Tensor Flatten(const Tensor& x, int64_t first_dim, Where where) {
  Call call("Flatten", where, {x});
  if (!call.ok()) return {};
  auto first = call.Dim(first_dim, x.rank());
  if (!first) return {};
  Shape shape = x.shape();
  int64_t tail = std::accumulate(shape.begin() + *first, shape.end(), int64_t{1}, std::multiplies<>());
  shape.resize(*first);
  shape.push_back(tail);
  return call.Done(call.b().reshape(call.expr(0), shape));
}

Tensor ExpandDims(const Tensor& x, int64_t dim, Where where) {
  Call call("ExpandDims", where, {x});
  if (!call.ok()) return {};
  auto at = call.Dim(dim, x.rank(), /*extra=*/true);
  if (!at) return {};
  Shape shape = x.shape();
  shape.insert(shape.begin() + *at, 1);
  return call.Done(call.b().reshape(call.expr(0), shape));
}

Tensor Squeeze(const Tensor& x, int64_t dim, Where where) {
  Call call("Squeeze", where, {x});
  if (!call.ok()) return {};
  auto at = call.Dim(dim, x.rank());
  if (!at) return {};
  Shape shape = x.shape();
  if (shape[*at] != 1)
    return call.Fail(absl::StrCat("of dimension ", *at, ", whose size is ", shape[*at], ", not 1"));
  shape.erase(shape.begin() + *at);
  return call.Done(call.b().reshape(call.expr(0), shape));
}

Tensor Transpose(const Tensor& x, const Shape& permutation, Where where) {
  Call call("Transpose", where, {x});
  if (!call.ok()) return {};
  if (!CheckLength(call, x, permutation, "the permutation")) return {};
  Shape dims;
  for (int64_t d : permutation) {
    auto counted = call.Dim(d, x.rank());
    if (!counted) return {};
    dims.push_back(*counted);
  }
  Shape sorted = dims;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return call.Fail(absl::StrCat("by ", List(permutation), ", which names a dimension twice"));
  }
  return call.Done(call.b().transpose(call.expr(0), dims));
}

Tensor BroadcastTo(const Tensor& x, const Shape& shape, Where where) {
  Call call("BroadcastTo", where, {x});
  if (!call.ok() || !call.CheckShape(x.dtype(), shape)) return {};
  auto common = BroadcastShapes({x.shape(), shape});
  if (!common || *common != shape) return call.Fail(absl::StrCat("does not broadcast to ", List(shape)));
  return call.Done(BroadcastExpr(call.b(), call.expr(0), shape));
}

Tensor Slice(const Tensor& x, const Shape& starts, const Shape& limits, const Shape& strides, Where where) {
  Call call("Slice", where, {x});
  if (!call.ok()) return {};
  Shape from = starts, to = limits, step = strides.empty() ? Shape(x.rank(), 1) : strides;
  if (!CheckLength(call, x, from, "starts") || !CheckLength(call, x, to, "limits") ||
      !CheckLength(call, x, step, "strides")) {
    return {};
  }
  for (int64_t d = 0; d < x.rank(); ++d) {
    int64_t size = x.dim(d);
    if (from[d] < 0) from[d] += size;
    if (to[d] < 0) to[d] += size;
    if (step[d] < 1) return call.Fail(absl::StrCat("needs strides of at least 1, got ", step[d]));
    if (from[d] < 0 || to[d] > size || from[d] > to[d]) {
      return call.Fail(absl::StrCat("of dimension ", d, " from ", starts[d], " to ", limits[d],
                                    " leaves its size ", size));
    }
  }
  return call.Done(call.b().slice(call.expr(0), from, to, step));
}

Tensor SliceDim(const Tensor& x, int64_t dim, int64_t start, int64_t limit, Where where) {
  Call call("SliceDim", where, {x});
  if (!call.ok()) return {};
  auto d = call.Dim(dim, x.rank());
  if (!d) return {};
  Shape starts(x.rank(), 0), limits = x.shape();
  starts[*d] = start;
  limits[*d] = limit;
  return Slice(x, starts, limits, {}, where);
}

Tensor Concat(const std::vector<Tensor>& xs, int64_t dim, Where where) {
  Call call("Concat", where, xs);
  if (!call.ok()) return {};
  auto d = call.Dim(dim, xs[0].rank());
  if (!d) return {};
  std::vector<ir::Expr> parts;
  for (size_t i = 0; i < xs.size(); ++i) {
    Shape a = xs[0].shape(), b = xs[i].shape();
    if (a.size() == b.size()) a[*d] = b[*d] = 0;
    if (xs[i].dtype() != xs[0].dtype() || a != b) {
      return call.Fail(absl::StrCat("needs equal element types and equal sizes but for dimension ", *d));
    }
    parts.push_back(call.expr(i));
  }
  return call.Done(call.b().concat(parts, *d));
}

std::vector<Tensor> Split(const Tensor& x, const Shape& sizes, int64_t dim, Where where) {
  Call call("Split", where, {x});
  std::vector<Tensor> failed(sizes.size());
  if (!call.ok()) return failed;
  auto d = call.Dim(dim, x.rank());
  if (!d) return failed;
  int64_t total = std::accumulate(sizes.begin(), sizes.end(), int64_t{0}, ir::AddSizes);
  bool negative = std::any_of(sizes.begin(), sizes.end(), [](int64_t s) { return s < 0; });
  if (total != x.dim(*d) || negative) {
    call.Fail(absl::StrCat("into ", List(sizes), ", which is ", total, " in all, of dimension ", *d,
                           " of size ", x.dim(*d)));
    return failed;
  }
  llvm::SmallVector<mlir::Type> types;
  for (int64_t size : sizes) {
    Shape shape = x.shape();
    shape[*d] = size;
    types.push_back(call.type(x.dtype(), shape));
  }
  auto op = call.b().builder().create<ir::SplitOp>(call.loc(), types, call.value(0), *d);
  std::vector<Tensor> parts;
  for (mlir::Value part : op.getParts()) parts.push_back(call.Done(part));
  return parts;
}

Tensor Pad(const Tensor& x, const Shape& low, const Shape& high, Number value, Where where) {
  Call call("Pad", where, {x});
  if (!call.ok()) return {};
  if (!CheckLength(call, x, low, "low") || !CheckLength(call, x, high, "high")) return {};
  Shape shape = x.shape();
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (low[d] < 0 || high[d] < 0)
      return call.Fail("needs paddings of at least 0; Slice takes elements away");
    shape[d] = ir::AddSizes(shape[d], ir::AddSizes(low[d], high[d]));
  }
  if (!call.CheckShape(x.dtype(), shape) || !CheckLiteral(call, value, x.dtype())) return {};
  const Shape no_interior(x.rank(), 0);
  ir::GraphBuilder& b = call.b();
  if (IsFloat(x.dtype()) || value.real_is_exact())
    return call.Done(b.pad(call.expr(0), low, high, no_interior, value.real()));
  // The op's padding value is a double. If no double holds the value, subtract the value, pad zeros, and add
  // the value again: integers wrap, so the result is exact.
  ir::Expr shifted = b.sub(call.expr(0), *Literal(call, value, x.dtype(), x.shape()));
  return call.Done(b.add(b.pad(shifted, low, high, no_interior, 0), *Literal(call, value, x.dtype(), shape)));
}

Tensor Reverse(const Tensor& x, const Shape& dims, Where where) {
  Call call("Reverse", where, {x});
  if (!call.ok()) return {};
  Shape counted;
  for (int64_t d : dims) {
    auto at = call.Dim(d, x.rank());
    if (!at) return {};
    counted.push_back(*at);
  }
  std::sort(counted.begin(), counted.end());
  if (std::adjacent_find(counted.begin(), counted.end()) != counted.end())
    return call.Fail("names a dimension twice");
  return call.Done(call.b().reverse(call.expr(0), counted));
}

Tensor Gather(const Tensor& x, const Tensor& indices, int64_t dim, Where where) {
  Call call("Gather", where, {x, indices});
  if (!call.ok()) return {};
  if (!IsIndexType(indices.dtype())) return call.Fail(kIndexMessage);
  auto d = call.Dim(dim, x.rank());
  if (!d) return {};
  if (x.dim(*d) == 0 && indices.size() > 0) return call.Fail("takes from a dimension of size 0");
  Shape shape = x.shape(), inner = indices.shape();
  shape.erase(shape.begin() + *d);
  shape.insert(shape.begin() + *d, inner.begin(), inner.end());
  return call.Done(
      call.b()
          .builder()
          .create<ir::GatherOp>(call.loc(), call.type(x.dtype(), shape), call.value(0), call.value(1), *d)
          .getResult());
}

Tensor TakeAlong(const Tensor& x, const Tensor& indices, int64_t dim, Where where) {
  Call call("TakeAlong", where, {x, indices});
  if (!call.ok()) return {};
  if (!IsIndexType(indices.dtype())) return call.Fail(kIndexMessage);
  auto d = call.Dim(dim, x.rank());
  if (!d) return {};
  Shape a = x.shape(), b = indices.shape();
  if (a.size() == b.size()) a[*d] = b[*d] = 0;
  if (a != b) return call.Fail(absl::StrCat("needs indices of the same sizes but for dimension ", *d));
  if (x.dim(*d) == 0 && indices.size() > 0) return call.Fail("takes from a dimension of size 0");
  return call.Done(call.b()
                       .builder()
                       .create<ir::TakeAlongOp>(call.loc(), call.type(x.dtype(), indices.shape()),
                                                call.value(0), call.value(1), *d)
                       .getResult());
}

Tensor ScatterAdd(const Tensor& x, const Tensor& indices, const Tensor& updates, int64_t dim, Where where) {
  Call call("ScatterAdd", where, {x, indices, updates});
  if (!call.ok()) return {};
  if (!IsIndexType(indices.dtype())) return call.Fail(kIndexMessage);
  auto d = call.Dim(dim, x.rank());
  if (!d) return {};
  Shape expected = x.shape(), inner = indices.shape();
  expected.erase(expected.begin() + *d);
  expected.insert(expected.begin() + *d, inner.begin(), inner.end());
  if (updates.shape() != expected || updates.dtype() != x.dtype() || !IsNumber(x.dtype())) {
    return call.Fail(absl::StrCat("needs updates of type ", TypeString(x.dtype(), expected)));
  }
  return call.Done(call.b()
                       .builder()
                       .create<ir::ScatterAddOp>(call.loc(), call.value(0).getType(), call.value(0),
                                                 call.value(1), call.value(2), *d)
                       .getResult());
}

Tensor OneHot(const Tensor& indices, int64_t classes, DType dtype, Where where) {
  Call call("OneHot", where, {indices});
  if (!call.ok()) return {};
  if (!IsIndexType(indices.dtype())) return call.Fail(kIndexMessage);
  if (classes < 0) return call.Fail(absl::StrCat("of ", classes, " classes"));
  if (!IsNumber(dtype)) return call.Fail("gives numbers, not i1; compare with Equal, or Cast the result");
  Shape shape = indices.shape();
  shape.push_back(classes);
  return call.Done(call.b()
                       .builder()
                       .create<ir::OneHotOp>(call.loc(), call.type(dtype, shape), call.value(0))
                       .getResult());
}

}  // namespace sinter
