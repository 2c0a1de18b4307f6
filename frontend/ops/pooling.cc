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

// False, with an error kept, if x has no images or cannot be pooled to this size.
bool CheckAdaptive(CompositeCall& call, const Tensor& x, const std::array<int64_t, 2>& size) {
  if (x.rank() != 4 || !IsFloat(x.dtype())) {
    call.Fail("takes float images of shape [N, C, H, W]");
    return false;
  }
  for (size_t i = 0; i < 2; ++i) {
    const int64_t from = x.dim(2 + static_cast<int64_t>(i));
    if (size[i] >= 1 && from >= 1 && size[i] <= kLargestWindow) continue;
    call.Fail(absl::StrCat("makes images of ", PairText(size[0], size[1]), " of those of ",
                           PairText(x.dim(2), x.dim(3)), "; both need pixels"));
    return false;
  }
  return true;
}

// True if all windows have the same size and do not overlap.
bool Divides(const Tensor& x, const std::array<int64_t, 2>& size) {
  return x.dim(2) % size[0] == 0 && x.dim(3) % size[1] == 0;
}

// Bounds of window i of n in a dimension of `from`.
std::pair<int64_t, int64_t> WindowOf(int64_t i, int64_t n, int64_t from) {
  return {i * from / n, ((i + 1) * from + n - 1) / n};
}

// Applies `reduce` to the windows of one dimension of x.
template <typename Reduce>
Tensor PooledAlong(const Tensor& x, int64_t dim, int64_t size, const Reduce& reduce) {
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < size; ++i) {
    const auto [begin, end] = WindowOf(i, size, x.dim(dim));
    parts.push_back(reduce(SliceDim(x, dim, begin, end), dim));
  }
  return Concat(parts, dim);
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

Tensor AdaptiveAvgPool2d(const Tensor& x, std::array<int64_t, 2> size, Where where) {
  CompositeCall call("AdaptiveAvgPool2d", where, {x});
  if (!call.ok() || !CheckAdaptive(call, x, size)) return {};
  if (Divides(x, size)) return AvgPool2d(x, {x.dim(2) / size[0], x.dim(3) / size[1]});
  const auto mean = [](const Tensor& part, int64_t dim) { return Mean(part, {dim}, {.keep_dims = true}); };
  return PooledAlong(PooledAlong(x, 2, size[0], mean), 3, size[1], mean);
}

Tensor AdaptiveMaxPool2d(const Tensor& x, std::array<int64_t, 2> size, Where where) {
  CompositeCall call("AdaptiveMaxPool2d", where, {x});
  if (!call.ok() || !CheckAdaptive(call, x, size)) return {};
  const auto max = [](const Tensor& part, int64_t dim) { return Max(part, {dim}, {.keep_dims = true}); };
  return PooledAlong(PooledAlong(x, 2, size[0], max), 3, size[1], max);
}

}  // namespace sinter
