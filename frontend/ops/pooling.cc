// Pools of the builder.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/frontend/ops/window_checks.h"
#include "sinter/kernels/image_geometry.h"

namespace sinter {
namespace {

// Returns the output height and width of a pooling window; nullopt, with an error kept, if it does not fit.
std::optional<std::array<int64_t, 2>> PoolSize(Call& call, const Tensor& x,
                                               const std::array<int64_t, 2>& window,
                                               const std::array<int64_t, 2>& strides,
                                               const std::array<int64_t, 4>& padding) {
  if (x.rank() != 4 || !IsFloat(x.dtype())) {
    call.Fail("takes float images of shape [N, C, H, W]");
    return std::nullopt;
  }
  if (!CheckWindow(call, "windows", window, 1) || !CheckWindow(call, "strides", strides, 1) ||
      !CheckWindow(call, "images of sizes", x.shape(), 0)) {
    return std::nullopt;
  }
  for (int i = 0; i < 4; ++i) {
    if (padding[i] < 0 || padding[i] >= window[i / 2]) {
      call.Fail(absl::StrCat("needs paddings of at least 0 and less than the window, got ", padding[i]));
      return std::nullopt;
    }
  }
  std::array<int64_t, 2> size;
  for (int i = 0; i < 2; ++i) {
    size[i] =
        kernels::WindowPositions(x.dim(2 + i), padding[2 * i], padding[2 * i + 1], window[i], strides[i]);
  }
  if (size[0] < 1 || size[1] < 1) {
    call.Fail(absl::StrCat("has a window of ", PairText(window[0], window[1]),
                           " over padded images smaller than that"));
    return std::nullopt;
  }
  return size;
}

// Returns the mean of each window, in which padding counts as zeros.
Tensor MeanOfWindows(const Tensor& x, const std::array<int64_t, 2>& window, const Pool2dOptions& options,
                     Where where) {
  Call call("AvgPool2d", where, {x});
  if (!call.ok()) return {};
  auto size = PoolSize(call, x, window, options.strides, options.padding);
  if (!size) return {};
  mlir::OpBuilder& builder = call.b().builder();
  mlir::Value result = builder.create<ir::AvgPool2dOp>(
      call.loc(), call.type(x.dtype(), {x.dim(0), x.dim(1), (*size)[0], (*size)[1]}), call.value(0),
      builder.getDenseI64ArrayAttr(window), builder.getDenseI64ArrayAttr(options.strides),
      builder.getDenseI64ArrayAttr(options.padding),
      ir::ImageLayoutAttr::get(builder.getContext(), ir::ImageLayout::nchw));
  return call.Done(result);
}

// Returns the window's size over the number of elements that count, for each position in one dimension.
std::vector<double> WeightsAlong(const Tensor& x, int64_t window, const Pool2dOptions& whole,
                                 const Pool2dOptions& asked, int64_t dim, int64_t positions) {
  const int64_t size = x.dim(2 + dim), front = asked.padding[2 * dim];
  const int64_t end = asked.count_include_pad ? size + asked.padding[2 * dim + 1] : size;
  std::vector<double> weights;
  for (int64_t i = 0; i < positions; ++i) {
    const int64_t at = i * whole.strides[dim] - front;
    const int64_t begin = asked.count_include_pad ? at : std::max<int64_t>(at, 0);
    weights.push_back(static_cast<double>(window) / static_cast<double>(std::min(at + window, end) - begin));
  }
  return weights;
}

}  // namespace

Tensor MaxPool2d(const Tensor& x, std::array<int64_t, 2> window, const Pool2dOptions& options, Where where) {
  Call call("MaxPool2d", where, {x});
  if (!call.ok()) return {};
  const Pool2dOptions whole = WithWholeWindows(x, window, options);
  auto size = PoolSize(call, x, window, whole.strides, whole.padding);
  if (!size) return {};
  if (window[0] * window[1] > 256) return call.Fail("has a window of more than 256 elements");
  Shape shape = {x.dim(0), x.dim(1), (*size)[0], (*size)[1]};
  mlir::OpBuilder& builder = call.b().builder();
  auto op = builder.create<ir::MaxPool2dOp>(
      call.loc(), call.type(x.dtype(), shape), call.type(DType::kU8, shape), call.value(0),
      builder.getDenseI64ArrayAttr(window), builder.getDenseI64ArrayAttr(whole.strides),
      builder.getDenseI64ArrayAttr(whole.padding),
      ir::ImageLayoutAttr::get(builder.getContext(), ir::ImageLayout::nchw));
  return call.Done(op.getResult());
}

Tensor AvgPool2d(const Tensor& x, std::array<int64_t, 2> window, const Pool2dOptions& options, Where where) {
  const Pool2dOptions whole = WithWholeWindows(x, window, options);
  const bool is_padded = std::ranges::any_of(whole.padding, [](int64_t padding) { return padding != 0; });
  const bool all_count = options.count_include_pad ? whole.padding == options.padding : !is_padded;
  if (all_count) return MeanOfWindows(x, window, whole, where);
  CompositeCall call("AvgPool2d", where, {x});
  if (!call.ok()) return {};
  const Tensor mean = MeanOfWindows(x, window, whole, where);
  if (!mean.ok()) return {};
  std::vector<double> weights;
  const std::vector<double> columns = WeightsAlong(x, window[1], whole, options, 1, mean.dim(3));
  for (const double row : WeightsAlong(x, window[0], whole, options, 0, mean.dim(2))) {
    for (const double column : columns) weights.push_back(row * column);
  }
  const absl::StatusOr<HostTensor> values = HostTensor::FromVector({mean.dim(2), mean.dim(3)}, weights);
  if (!values.ok()) return call.Fail(std::string(values.status().message()));
  return mean * Cast(Builder(x.function()).Constant(*values), x.dtype());
}

namespace {

// Returns signals [N, C, L] as images of one row. Not ok, with an error kept, if they are none.
Tensor AsImages(CompositeCall& call, const Tensor& x) {
  return x.rank() == 3 ? ExpandDims(x, 2) : call.Fail("takes float signals of shape [N, C, L]");
}
Pool2dOptions OfOneRow(const Pool1dOptions& options, int64_t window) {
  return {.strides = {1, options.stride == 0 ? window : options.stride},
          .padding = {0, 0, options.padding[0], options.padding[1]},
          .ceil_mode = options.ceil_mode,
          .count_include_pad = options.count_include_pad};
}

// Returns the size of the windows if they all have it and do not overlap.
std::optional<Shape> WholeWindows(const Tensor& x, const Shape& size) {
  Shape window = SpatialSizes(x);
  for (size_t i = 0; i < size.size(); ++i) {
    if (window[i] % size[i] != 0) return std::nullopt;
    window[i] /= size[i];
  }
  return window;
}

// Bounds of window i of n in a dimension of `from`.
std::pair<int64_t, int64_t> WindowOf(int64_t i, int64_t n, int64_t from) {
  return {i * from / n, ((i + 1) * from + n - 1) / n};
}

// Applies `reduce` to the windows of each dimension of x behind the channels.
template <typename Reduce>
Tensor PooledTo(const Tensor& x, const Shape& size, const Reduce& reduce) {
  Tensor y = x;
  for (size_t i = 0; i < size.size(); ++i) {
    const auto dim = static_cast<int64_t>(i) + 2;
    std::vector<Tensor> parts;
    for (int64_t k = 0; k < size[i]; ++k) {
      const auto [begin, end] = WindowOf(k, size[i], y.dim(dim));
      parts.push_back(reduce(SliceDim(y, dim, begin, end), Shape{dim}, ReduceOptions{.keep_dims = true},
                             Where::current()));
    }
    y = Concat(parts, dim);
  }
  return y;
}

Tensor AdaptiveMax(const char* name, const Tensor& x, const Shape& size, Where where) {
  CompositeCall call(name, where, {x});
  return call.ok() && CheckNewSizes(call, x, size) ? PooledTo(x, size, Max) : Tensor();
}

// The same for means. `pool` makes those of windows that do not overlap.
template <typename Pool>
Tensor AdaptiveMean(const char* name, const Tensor& x, const Shape& size, Where where, const Pool& pool) {
  CompositeCall call(name, where, {x});
  if (!call.ok() || !CheckNewSizes(call, x, size)) return {};
  const std::optional<Shape> window = WholeWindows(x, size);
  return window ? pool(*window) : PooledTo(x, size, Mean);
}

}  // namespace

Tensor MaxPool1d(const Tensor& x, int64_t window, const Pool1dOptions& options, Where where) {
  CompositeCall call("MaxPool1d", where, {x});
  if (!call.ok()) return {};
  const Tensor images = AsImages(call, x);
  return images.ok() ? Squeeze(MaxPool2d(images, {1, window}, OfOneRow(options, window)), 2) : Tensor();
}

Tensor AvgPool1d(const Tensor& x, int64_t window, const Pool1dOptions& options, Where where) {
  CompositeCall call("AvgPool1d", where, {x});
  if (!call.ok()) return {};
  const Tensor images = AsImages(call, x);
  return images.ok() ? Squeeze(AvgPool2d(images, {1, window}, OfOneRow(options, window)), 2) : Tensor();
}

Tensor AdaptiveAvgPool1d(const Tensor& x, int64_t size, Where where) {
  return AdaptiveMean("AdaptiveAvgPool1d", x, {size}, where,
                      [&](const Shape& window) { return AvgPool1d(x, window[0]); });
}
Tensor AdaptiveAvgPool2d(const Tensor& x, std::array<int64_t, 2> size, Where where) {
  return AdaptiveMean("AdaptiveAvgPool2d", x, {size[0], size[1]}, where,
                      [&](const Shape& window) { return AvgPool2d(x, {window[0], window[1]}); });
}
Tensor AdaptiveAvgPool3d(const Tensor& x, std::array<int64_t, 3> size, Where where) {
  return AdaptiveMean("AdaptiveAvgPool3d", x, {size[0], size[1], size[2]}, where,
                      [&](const Shape& window) { return AvgPool3d(x, {window[0], window[1], window[2]}); });
}

Tensor AdaptiveMaxPool1d(const Tensor& x, int64_t size, Where where) {
  return AdaptiveMax("AdaptiveMaxPool1d", x, {size}, where);
}
Tensor AdaptiveMaxPool2d(const Tensor& x, std::array<int64_t, 2> size, Where where) {
  return AdaptiveMax("AdaptiveMaxPool2d", x, {size[0], size[1]}, where);
}
Tensor AdaptiveMaxPool3d(const Tensor& x, std::array<int64_t, 3> size, Where where) {
  return AdaptiveMax("AdaptiveMaxPool3d", x, {size[0], size[1], size[2]}, where);
}

}  // namespace sinter
