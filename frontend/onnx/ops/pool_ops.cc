#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/onnx/converters.h"
#include "sinter/frontend/onnx/numbers.h"
#include "sinter/frontend/onnx/ops/forms.h"
#include "sinter/frontend/onnx/ops/windows.h"
#include "sinter/frontend/ops/sampling.h"
#include "sinter/runtime/host/status.h"

// Pools. Those that Sinter has as ops are calls; others gather their windows.
namespace sinter::onnx {
namespace {

Shape PooledSizes(const Shape& shape) {
  return shape.size() < 2 ? Shape() : Shape(shape.begin() + 2, shape.end());
}

// The number of results of each dimension. With ceil_mode, a window that begins behind x and its first
// padding does not count.
Shape ResultsOf(const Windows& w, const Shape& sizes, bool up) {
  Shape results;
  for (size_t d = 0; d < w.rank(); ++d) {
    int64_t count = w.Results(d, sizes[d], up);
    if (up && count > 0 && (count - 1) * w.strides[d] >= sizes[d] + w.low[d]) --count;
    results.push_back(count);
  }
  return results;
}

bool IsPlain(const Windows& w) {
  return std::ranges::all_of(w.dilations, [](int64_t d) { return d == 1; });
}

// The elements of each window along new last dimensions, one for each spatial dimension: [N, C, results...,
// window...]. Elements outside of x are `outside`.
Tensor WindowElements(Node& node, Tensor x, const Windows& w, const Shape& results, const Tensor& outside) {
  const int64_t rank = x.rank();
  Shape low(static_cast<size_t>(rank), 0), high = low;
  for (size_t d = 0; d < w.rank(); ++d) {
    low[d + 2] = w.low[d];
    const int64_t end = (results[d] - 1) * w.strides[d] + w.Span(d);
    high[d + 2] = std::max<int64_t>(0, end - w.low[d] - x.dim(static_cast<int64_t>(d) + 2));
  }
  const Tensor inside = Pad(node.b().Full(DType::kI1, x.shape(), 1), low, high, 0);
  x = Select(inside, Pad(x, low, high, 0), outside);
  // Each gather turns one dimension into results and window.
  Shape permutation = {0, 1};
  for (size_t d = 0; d < w.rank(); ++d) {
    std::vector<int64_t> places;
    for (int64_t r = 0; r < results[d]; ++r) {
      for (int64_t k = 0; k < w.window[d]; ++k) places.push_back(r * w.strides[d] + k * w.dilations[d]);
    }
    x = Gather(x, node.Constant({results[d], w.window[d]}, places), static_cast<int64_t>(2 + 2 * d));
    permutation.push_back(static_cast<int64_t>(2 + 2 * d));
  }
  for (size_t d = 0; d < w.rank(); ++d) permutation.push_back(static_cast<int64_t>(3 + 2 * d));
  return Transpose(x, permutation);
}

Shape LastDims(size_t count, int64_t rank) {
  Shape dims;
  for (size_t i = 0; i < count; ++i) dims.push_back(rank - static_cast<int64_t>(count - i));
  return dims;
}

absl::StatusOr<Windows> PoolWindows(Node& node, const Tensor& x) {
  if (!node.HasAttr("kernel_shape")) return node.Bad("has no kernel_shape");
  return WindowsOf(node, PooledSizes(x.shape()), node.Ints("kernel_shape"));
}

// The most memory for gathered windows.
absl::Status CheckGathered(Node& node, const Tensor& x, const Windows& w, const Shape& results) {
  double count = static_cast<double>(x.dim(0)) * static_cast<double>(x.dim(1));
  for (size_t d = 0; d < w.rank(); ++d) count *= static_cast<double>(results[d] * w.window[d]);
  if (count <= 1e9) return absl::OkStatus();
  return node.Unsupported("OP_FORM", "a pool of this form gathers its windows, and they are too large");
}

Tensor PlainPool(const Tensor& x, const Windows& w, bool largest, bool up, bool counts_padding) {
  if (w.rank() == 1) {
    const Pool1dOptions options{.stride = w.strides[0],
                                .padding = {w.low[0], w.high[0]},
                                .ceil_mode = up,
                                .count_include_pad = counts_padding};
    return largest ? MaxPool1d(x, w.window[0], options) : AvgPool1d(x, w.window[0], options);
  }
  if (w.rank() == 2) {
    const Pool2dOptions options{.strides = {w.strides[0], w.strides[1]},
                                .padding = {w.low[0], w.high[0], w.low[1], w.high[1]},
                                .ceil_mode = up,
                                .count_include_pad = counts_padding};
    return largest ? MaxPool2d(x, {w.window[0], w.window[1]}, options)
                   : AvgPool2d(x, {w.window[0], w.window[1]}, options);
  }
  const Pool3dOptions options{.strides = {w.strides[0], w.strides[1], w.strides[2]},
                              .padding = {w.low[0], w.high[0], w.low[1], w.high[1], w.low[2], w.high[2]},
                              .ceil_mode = up,
                              .count_include_pad = counts_padding};
  return largest ? MaxPool3d(x, {w.window[0], w.window[1], w.window[2]}, options)
                 : AvgPool3d(x, {w.window[0], w.window[1], w.window[2]}, options);
}

// The place in x, counted over N, C and the spatial dimensions, of each element of x.
Tensor PlacesIn(Node& node, const Tensor& x, bool by_column) {
  const Shape shape = x.shape();
  Tensor place;
  Shape order;  // From the slowest dimension to the fastest.
  for (int64_t d = 0; d < x.rank(); ++d) order.push_back(d);
  if (by_column) std::reverse(order.begin() + 2, order.end());
  for (const int64_t d : order) {
    const Tensor part = node.b().Iota(DType::kI64, shape, d);
    place = place.ok() ? place * x.dim(d) + part : part;
  }
  return place;
}

// The largest element of each window, and its place in x.
absl::StatusOr<Values> GatheredMax(Node& node, const Tensor& x, const Windows& w, const Shape& results) {
  SINTER_RETURN_IF_ERROR(CheckGathered(node, x, w, results));
  const double lowest = IsUnsigned(x.dtype())  ? 0
                        : IsInteger(x.dtype()) ? -128
                                               : -std::numeric_limits<double>::infinity();
  const Tensor outside = node.Number(lowest, x.dtype());
  if (IsInteger(x.dtype()) && SizeOf(x.dtype()) > 1) {
    return node.Unsupported("OP_FORM", "a pool of this form and of these integers");
  }
  Shape flat = {x.dim(0), x.dim(1)};
  flat.insert(flat.end(), results.begin(), results.end());
  Shape rows = flat;
  rows.push_back(-1);
  const Tensor elements = Reshape(WindowElements(node, x, w, results, outside), rows);
  Values values(Max(elements, {elements.rank() - 1}));
  if (!node.WantsOutput(1)) return values;
  const Tensor places = Reshape(WindowElements(node, PlacesIn(node, x, node.Int("storage_order", 0) != 0), w,
                                               results, node.Constant({}, std::vector<int64_t>{0})),
                                rows);
  const Tensor best = ExpandDims(ArgMax(elements, elements.rank() - 1), elements.rank() - 1);
  values.push_back(Squeeze(TakeAlong(places, best, elements.rank() - 1), -1));
  return values;
}

absl::StatusOr<Values> MaxPoolOf(Node& node) {
  const Tensor x = node.In(0);
  SINTER_ASSIGN_OR_RETURN(const Windows w, PoolWindows(node, x));
  const bool up = node.Int("ceil_mode", 0) != 0;
  if (IsPlain(w) && !node.WantsOutput(1) && IsFloat(x.dtype()))
    return Values(PlainPool(x, w, true, up, true));
  return GatheredMax(node, x, w, ResultsOf(w, PooledSizes(x.shape()), up));
}

absl::StatusOr<Values> AveragePoolOf(Node& node) {
  const Tensor x = node.In(0);
  SINTER_ASSIGN_OR_RETURN(const Windows w, PoolWindows(node, x));
  const bool up = node.Int("ceil_mode", 0) != 0, counts_padding = node.Int("count_include_pad", 0) != 0;
  if (IsPlain(w)) return Values(PlainPool(x, w, false, up, counts_padding));
  const Shape results = ResultsOf(w, PooledSizes(x.shape()), up);
  SINTER_RETURN_IF_ERROR(CheckGathered(node, x, w, results));
  const Tensor zero = node.Number(0, x.dtype());
  const Tensor elements = WindowElements(node, x, w, results, zero);
  const Shape dims = LastDims(w.rank(), elements.rank());
  if (counts_padding) return Values(Mean(elements, dims));
  const Tensor ones = node.b().Full(x.dtype(), x.shape(), 1);
  return Values(Sum(elements, dims) / Sum(WindowElements(node, ones, w, results, zero), dims));
}

absl::StatusOr<Values> LpPoolOf(Node& node) {
  const Tensor x = node.In(0);
  SINTER_ASSIGN_OR_RETURN(const Windows w, PoolWindows(node, x));
  const double p = node.version() < 2 ? node.Real("p", 2) : static_cast<double>(node.Int("p", 2));
  const Shape results = ResultsOf(w, PooledSizes(x.shape()), node.Int("ceil_mode", 0) != 0);
  SINTER_RETURN_IF_ERROR(CheckGathered(node, x, w, results));
  const Tensor zero = node.Number(0, x.dtype());
  const Tensor elements = WindowElements(node, x, w, results, zero);
  return Values(Norm(elements, LastDims(w.rank(), elements.rank()), {.p = p}));
}

Shape AllSpatial(const Tensor& x) {
  Shape dims;
  for (int64_t d = 2; d < x.rank(); ++d) dims.push_back(d);
  return dims;
}

absl::StatusOr<Values> GlobalPool(Node& node, Tensor (*pool)(const Tensor& x, const Shape& dims)) {
  const Tensor x = node.In(0);
  if (x.rank() < 3) return node.Bad("x has no spatial dimensions");
  return Values(pool(x, AllSpatial(x)));
}
absl::StatusOr<Values> GlobalAverageOf(Node& node) {
  return GlobalPool(node,
                    [](const Tensor& x, const Shape& dims) { return Mean(x, dims, {.keep_dims = true}); });
}
absl::StatusOr<Values> GlobalMaxOf(Node& node) {
  return GlobalPool(node,
                    [](const Tensor& x, const Shape& dims) { return Max(x, dims, {.keep_dims = true}); });
}
absl::StatusOr<Values> GlobalLpOf(Node& node) {
  const Tensor x = node.In(0);
  const double p = node.version() < 2 ? node.Real("p", 2) : static_cast<double>(node.Int("p", 2));
  if (x.rank() < 3) return node.Bad("x has no spatial dimensions");
  return Values(Norm(x, AllSpatial(x), {.p = p, .keep_dims = true}));
}

// Puts elements at the places that MaxPool gave; places count over the whole tensor.
absl::StatusOr<Values> MaxUnpoolOf(Node& node) {
  const Tensor x = node.In(0), places = node.In(1);
  SINTER_ASSIGN_OR_RETURN(const Windows w, PoolWindows(node, x));
  Shape inner = {x.dim(0), x.dim(1)};
  for (size_t d = 0; d < w.rank(); ++d) {
    inner.push_back((x.dim(static_cast<int64_t>(d) + 2) - 1) * w.strides[d] + w.window[d] - w.low[d] -
                    w.high[d]);
  }
  Shape outer = inner;
  if (node.Has(2)) {
    SINTER_ASSIGN_OR_RETURN(outer, node.Ints(2));
  }
  if (outer.size() != inner.size()) return node.Bad("output_shape does not fit x");
  for (size_t d = 0; d < inner.size(); ++d) {
    if (inner[d] < 1 || outer[d] < inner[d]) return node.Bad("output_shape is smaller than the windows");
  }
  const int64_t count = CountOf(inner);
  const Tensor zeros = node.b().Full(x.dtype(), {count}, 0);
  const Tensor flat = ScatterAdd(zeros, Reshape(places, {places.size()}), Reshape(x, {x.size()}), 0);
  Shape high;
  for (size_t d = 0; d < inner.size(); ++d) high.push_back(outer[d] - inner[d]);
  return Values(Pad(Reshape(flat, inner), Shape(inner.size(), 0), high, 0));
}

absl::StatusOr<Values> GridSampleOf(Node& node) {
  const std::string mode = node.Text("mode", "bilinear"), outside = node.Text("padding_mode", "zeros");
  GridSampleOptions options{.align_corners = node.Int("align_corners", 0) != 0};
  if (mode == "nearest") {
    options.interpolation = Interpolation::kNearest;
  } else if (mode == "bicubic" || mode == "cubic") {
    return node.Unsupported("OP_FORM", "samples by cubic polynomials");
  }
  options.outside = outside == "border"       ? OutsidePixels::kBorder
                    : outside == "reflection" ? OutsidePixels::kReflection
                                              : OutsidePixels::kZeros;
  return Values(GridSample(node.In(0), node.In(1), options));
}

constexpr OpRecord kPools[] = {
    {"AveragePool", 1, AveragePoolOf}, {"GlobalAveragePool", 1, GlobalAverageOf},
    {"GlobalLpPool", 1, GlobalLpOf},   {"GlobalMaxPool", 1, GlobalMaxOf},
    {"GridSample", 16, GridSampleOf},  {"LpPool", 1, LpPoolOf},
    {"MaxPool", 1, MaxPoolOf},         {"MaxUnpool", 9, MaxUnpoolOf},
};

}  // namespace

std::span<const OpRecord> PoolOps() { return kPools; }

}  // namespace sinter::onnx
