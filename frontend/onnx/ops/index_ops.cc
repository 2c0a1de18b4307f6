#include <algorithm>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/onnx/converters.h"
#include "sinter/frontend/onnx/numbers.h"
#include "sinter/frontend/onnx/ops/forms.h"
#include "sinter/frontend/ops/scatter.h"
#include "sinter/runtime/host/status.h"

// Elements that indices name.
namespace sinter::onnx {
namespace {

absl::StatusOr<Values> GatherOf(Node& node) {
  const Tensor x = node.In(0);
  const int64_t axis = node.Axis(node.Int("axis", 0), x.rank());
  return Values(Gather(x, FromStart(node.In(1), x.dim(axis)), axis));
}

// Indices name the elements along the axis; other dimensions of x may be larger than theirs.
absl::StatusOr<Values> GatherElementsOf(Node& node) {
  Tensor x = node.In(0);
  const Tensor indices = node.In(1);
  const int64_t axis = node.Axis(node.Int("axis", 0), x.rank());
  if (x.rank() != indices.rank()) return node.Bad("x and indices differ in rank");
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (d != axis && x.dim(d) > indices.dim(d)) x = SliceDim(x, d, 0, indices.dim(d));
  }
  return Values(TakeAlong(x, FromStart(indices, x.dim(axis)), axis));
}

// The places, in the first dimensions of `sizes` counted as one, of tuples along the last dimension.
Tensor FlatPlaces(const Tensor& tuples, const Shape& sizes, int64_t width) {
  Tensor place;
  for (int64_t i = 0; i < width; ++i) {
    const int64_t size = sizes[static_cast<size_t>(i)];
    const Tensor part = FromStart(Squeeze(SliceDim(tuples, -1, i, i + 1), -1), size);
    place = i == 0 ? part : place * size + part;
  }
  return place;
}

absl::StatusOr<Values> GatherNDOf(Node& node) {
  const Tensor x = node.In(0), indices = node.In(1);
  const Shape shape = x.shape(), tuples = indices.shape();
  const int64_t batch = node.Int("batch_dims", 0);
  const int64_t width = tuples.empty() ? 0 : tuples.back();
  if (tuples.empty() || batch < 0 || batch >= indices.rank() || width < 1 || batch + width > x.rank()) {
    return node.Bad("indices do not fit x");
  }
  const auto first = static_cast<size_t>(batch), behind = static_cast<size_t>(batch + width);
  const int64_t batches = Product(shape, 0, first), rows = Product(shape, first, behind);
  const Shape sizes(shape.begin() + batch, shape.end());
  Tensor places = FlatPlaces(indices, sizes, width);
  if (batch > 0) {
    places = Reshape(places, {batches, Product(tuples, first, tuples.size() - 1)});
    places = places + Cast(node.b().Iota(DType::kI64, {batches, 1}), places.dtype()) * rows;
  }
  Shape flat = {batches * rows};
  flat.insert(flat.end(), shape.begin() + static_cast<std::ptrdiff_t>(behind), shape.end());
  Shape result(tuples.begin(), tuples.end() - 1);
  result.insert(result.end(), shape.begin() + static_cast<std::ptrdiff_t>(behind), shape.end());
  return Values(Reshape(Gather(Reshape(x, flat), Reshape(places, {-1}), 0), result));
}

absl::StatusOr<ScatterKind> KindOf(Node& node) {
  const std::string reduction = node.Text("reduction", "none");
  if (reduction == "none") return ScatterKind::kSet;
  if (reduction == "add") return ScatterKind::kAdd;
  if (reduction == "mul") return ScatterKind::kMul;
  if (reduction == "max") return ScatterKind::kMax;
  if (reduction == "min") return ScatterKind::kMin;
  return node.Bad("a reduction that the standard does not have");
}

absl::StatusOr<Values> ScatterElementsOf(Node& node) {
  const Tensor x = node.In(0), indices = node.In(1), updates = node.In(2);
  SINTER_ASSIGN_OR_RETURN(const ScatterKind kind, KindOf(node));
  const int64_t axis = node.Axis(node.Int("axis", 0), x.rank());
  if (x.rank() != indices.rank() || indices.shape() != updates.shape()) {
    return node.Bad("x, indices and updates differ in rank, or indices and updates in shape");
  }
  SINTER_RETURN_IF_ERROR(node.status());
  // The place of each update in x as one row.
  const Tensor along = FromStart(indices, x.dim(axis));
  Tensor place;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const Tensor part = d == axis ? along : node.b().Iota(along.dtype(), indices.shape(), d);
    place = d == 0 ? part : place * x.dim(d) + part;
  }
  const Tensor flat = Scatter(Reshape(x, {x.size()}), Reshape(place, {indices.size()}),
                              Reshape(updates, {indices.size()}), 0, kind);
  return Values(Reshape(flat, x.shape()));
}

absl::StatusOr<Values> ScatterNDOf(Node& node) {
  const Tensor x = node.In(0), indices = node.In(1), updates = node.In(2);
  SINTER_ASSIGN_OR_RETURN(const ScatterKind kind, KindOf(node));
  const Shape shape = x.shape(), tuples = indices.shape();
  const int64_t width = tuples.empty() ? 0 : tuples.back();
  if (width < 1 || width > x.rank()) return node.Bad("indices do not fit x");
  const auto behind = static_cast<size_t>(width);
  Shape flat = {Product(shape, 0, behind)}, rows = {Product(tuples, 0, tuples.size() - 1)};
  flat.insert(flat.end(), shape.begin() + width, shape.end());
  rows.insert(rows.end(), shape.begin() + width, shape.end());
  const Tensor places = Reshape(FlatPlaces(indices, shape, width), {rows[0]});
  return Values(Reshape(Scatter(Reshape(x, flat), places, Reshape(updates, rows), 0, kind), shape));
}

absl::StatusOr<Values> OneHotOf(Node& node) {
  SINTER_ASSIGN_OR_RETURN(const int64_t depth, [&]() -> absl::StatusOr<int64_t> {
    SINTER_ASSIGN_OR_RETURN(const double real, node.Real(1));
    return static_cast<int64_t>(std::clamp(real, 0.0, 1e12));
  }());
  const Tensor given = node.In(0), values = node.In(2);
  const Tensor indices = IsFloat(given.dtype()) ? Cast(given, DType::kI64) : AsIndex(given);
  const int64_t rank = indices.rank() + 1;
  const int64_t axis = node.Axis(node.Int("axis", -1), rank);
  SINTER_RETURN_IF_ERROR(node.status());
  const Tensor place = ExpandDims(FromStart(indices, depth), axis);
  Shape shape = indices.shape();
  shape.insert(shape.begin() + axis, depth);
  const Tensor is_hot = Equal(BroadcastTo(place, shape), node.b().Iota(indices.dtype(), shape, axis));
  if (values.rank() != 1 || values.dim(0) != 2) return node.Bad("values are not [off, on]");
  return Values(
      Select(is_hot, Reshape(SliceDim(values, 0, 1, 2), {}), Reshape(SliceDim(values, 0, 0, 1), {})));
}

// Keeps the slices for which a condition, known while importing, is true.
absl::StatusOr<Values> CompressOf(Node& node) {
  SINTER_ASSIGN_OR_RETURN(const Shape condition, node.Ints(1));
  Tensor x = node.In(0);
  const bool flat = !node.HasAttr("axis");
  if (flat) x = Reshape(x, {x.size()});
  const int64_t axis = flat ? 0 : node.Axis(node.Int("axis", 0), x.rank());
  std::vector<int64_t> kept;
  for (size_t i = 0; i < condition.size() && static_cast<int64_t>(i) < x.dim(axis); ++i) {
    if (condition[i] != 0) kept.push_back(static_cast<int64_t>(i));
  }
  return Values(Gather(x, node.Constant({static_cast<int64_t>(kept.size())}, kept), axis));
}

// The first lengths[b] elements of each example b in the reverse order.
absl::StatusOr<Values> ReverseSequenceOf(Node& node) {
  const Tensor x = node.In(0), lengths = AsIndex(node.In(1));
  const int64_t time = node.Axis(node.Int("time_axis", 0), x.rank());
  const int64_t batch = node.Axis(node.Int("batch_axis", 1), x.rank());
  SINTER_RETURN_IF_ERROR(node.status());
  const Tensor step = node.b().Iota(lengths.dtype(), x.shape(), time);
  const Tensor length = AlongAxis(lengths, batch, x.rank());
  return Values(TakeAlong(x, Select(step < length, length - 1 - step, step), time));
}

constexpr OpRecord kIndices[] = {
    {"Compress", 9, CompressOf},
    {"Gather", 1, GatherOf},
    {"GatherElements", 11, GatherElementsOf},
    {"GatherND", 11, GatherNDOf},
    {"OneHot", 9, OneHotOf},
    {"ReverseSequence", 10, ReverseSequenceOf},
    {"Scatter", 9, ScatterElementsOf},
    {"ScatterElements", 11, ScatterElementsOf},
    {"ScatterND", 11, ScatterNDOf},
};

}  // namespace

std::span<const OpRecord> IndexOps() { return kIndices; }

}  // namespace sinter::onnx
