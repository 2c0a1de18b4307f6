// Convolutions and pools of volumes, made of those of images.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/frontend/ops/window_checks.h"
#include "sinter/kernels/image_geometry.h"

namespace sinter {
namespace {

constexpr char kVolumes[] = "takes float volumes of shape [N, C, D, H, W]";

// Checks what is alike for a convolution and its transposed one. Returns an error, or an empty text.
std::string WrongVolumes(const Tensor& x, const Tensor& weights, const char* weights_shape, int64_t groups,
                         const std::array<int64_t, 3>& strides, const std::array<int64_t, 3>& dilations,
                         const std::array<int64_t, 6>& padding) {
  if (x.rank() != 5 || !IsFloat(x.dtype())) return kVolumes;
  if (weights.rank() != 5 || weights.dtype() != x.dtype())
    return absl::StrCat("takes weights of shape ", weights_shape, " and of the volumes' element type");
  if (groups < 1 || x.dim(1) % groups != 0)
    return absl::StrCat("has ", groups, " groups, which must divide ", x.dim(1), " input channels");
  const auto is_size = [](int64_t least) {
    return [least](int64_t n) { return n >= least && n <= kLargestWindow; };
  };
  if (!std::ranges::all_of(strides, is_size(1)) || !std::ranges::all_of(dilations, is_size(1)))
    return "needs strides and dilations of at least 1";
  if (!std::ranges::all_of(padding, is_size(0))) return "needs paddings of at least 0";
  const Shape sizes = weights.shape();
  if (!std::ranges::all_of(sizes, is_size(1))) return "needs weights that are not empty";
  return "";
}

std::string WindowText(const Shape& sizes) { return absl::StrCat(sizes[2], "x", sizes[3], "x", sizes[4]); }

// The last two entries of three, and the last four of six.
std::array<int64_t, 2> OfImages(const std::array<int64_t, 3>& sizes) { return {sizes[1], sizes[2]}; }
std::array<int64_t, 4> OfImages(const std::array<int64_t, 6>& padding) {
  return {padding[2], padding[3], padding[4], padding[5]};
}

// Returns the slices of each window's depth as channels: [N * positions, C * taps, H, W].
Tensor DepthAsChannels(const Tensor& x, int64_t taps, int64_t positions, const Conv3dOptions& options) {
  const int64_t n = x.dim(0), c = x.dim(1), h = x.dim(3), w = x.dim(4);
  const Tensor padded = Pad(x, {0, 0, options.padding[0], 0, 0}, {0, 0, options.padding[1], 0, 0});
  const int64_t stride = options.strides[0], reach = (positions - 1) * stride + 1;
  std::vector<Tensor> parts;
  for (int64_t tap = 0; tap < taps; ++tap) {
    const int64_t begin = tap * options.dilations[0];
    parts.push_back(Slice(padded, {0, 0, begin, 0, 0}, {n, c, begin + reach, h, w}, {1, 1, stride, 1, 1}));
  }
  return Reshape(Transpose(Stack(parts, 2), {0, 3, 1, 2, 4, 5}), {n * positions, c * taps, h, w});
}

// Returns x with `stride` - 1 zeros between the slices of its depth.
Tensor SpreadDepth(const Tensor& x, int64_t stride) {
  if (stride == 1) return x;
  const Tensor gaps = Pad(ExpandDims(x, 3), {0, 0, 0, 0, 0, 0}, {0, 0, 0, stride - 1, 0, 0});
  const Tensor spread = Reshape(gaps, {x.dim(0), x.dim(1), x.dim(2) * stride, x.dim(3), x.dim(4)});
  return SliceDim(spread, 2, 0, (x.dim(2) - 1) * stride + 1);
}

// Adds up the slices that windows of the depth overlap: [N, C, taps, D, H, W] to [N, C, D', H, W].
Tensor OverlapDepth(const Tensor& windows, const ConvTranspose3dOptions& options) {
  const int64_t taps = windows.dim(2), reach = (taps - 1) * options.dilations[0];
  const std::vector<Tensor> parts = Unbind(windows, 2);
  Tensor sum;
  for (int64_t tap = 0; tap < taps; ++tap) {
    const Tensor spread = SpreadDepth(parts[static_cast<size_t>(tap)], options.strides[0]);
    const int64_t low = tap * options.dilations[0];
    const Tensor placed =
        Pad(spread, {0, 0, low, 0, 0}, {0, 0, reach - low + options.output_padding[0], 0, 0});
    sum = tap == 0 ? placed : sum + placed;
  }
  return SliceDim(sum, 2, options.padding[0], sum.dim(2) - options.padding[1]);
}

// Applies a pool of images to height and width, then to the depth.
template <typename Pool>
Tensor PoolVolumes(CompositeCall& call, const Tensor& x, const std::array<int64_t, 3>& window,
                   const Pool3dOptions& options, const Pool& pool) {
  if (x.rank() != 5 || !IsFloat(x.dtype())) return call.Fail(kVolumes);
  const std::array<int64_t, 3> strides =
      options.strides == std::array<int64_t, 3>{0, 0, 0} ? window : options.strides;
  const int64_t n = x.dim(0), c = x.dim(1), d = x.dim(2);
  const Tensor flat = pool(Reshape(x, {n, c * d, x.dim(3), x.dim(4)}), {window[1], window[2]},
                           Pool2dOptions{.strides = OfImages(strides),
                                         .padding = OfImages(options.padding),
                                         .ceil_mode = options.ceil_mode,
                                         .count_include_pad = options.count_include_pad});
  if (!flat.ok()) return {};
  const int64_t h = flat.dim(2), w = flat.dim(3);
  const Tensor deep = pool(Reshape(flat, {n, c, d, h * w}), {window[0], 1},
                           Pool2dOptions{.strides = {strides[0], 1},
                                         .padding = {options.padding[0], options.padding[1], 0, 0},
                                         .ceil_mode = options.ceil_mode,
                                         .count_include_pad = options.count_include_pad});
  return deep.ok() ? Reshape(deep, {n, c, deep.dim(2), h, w}) : Tensor();
}

}  // namespace

Tensor Conv3d(const Tensor& x, const Tensor& weights, const Conv3dOptions& options, Where where) {
  CompositeCall call("Conv3d", where, {x, weights});
  if (!call.ok()) return {};
  const int64_t groups = options.groups;
  const std::string wrong = WrongVolumes(x, weights, "[C_out, C_in / groups, kd, kh, kw]", groups,
                                         options.strides, options.dilations, options.padding);
  if (!wrong.empty()) return call.Fail(wrong);
  if (weights.dim(0) % groups != 0 || x.dim(1) / groups != weights.dim(1)) {
    return call.Fail(absl::StrCat("has volumes of ", x.dim(1), " channels in ", groups,
                                  " groups, and weights from ", weights.dim(1), " to ", weights.dim(0),
                                  "; they must fit a group"));
  }
  const int64_t taps = weights.dim(2);
  const int64_t positions =
      kernels::WindowPositions(x.dim(2), options.padding[0], options.padding[1],
                               kernels::WindowExtent(taps, options.dilations[0]), options.strides[0]);
  if (positions < 1) {
    return call.Fail(absl::StrCat("has a window of ", WindowText(weights.shape()),
                                  " that does not fit volumes of ", WindowText(x.shape())));
  }
  const Shape w = weights.shape();
  const Tensor y =
      Conv2d(DepthAsChannels(x, taps, positions, options), Reshape(weights, {w[0], w[1] * taps, w[3], w[4]}),
             {.strides = OfImages(options.strides),
              .padding = OfImages(options.padding),
              .dilations = OfImages(options.dilations),
              .groups = groups,
              .math = options.math});
  if (!y.ok()) return {};
  return Transpose(Reshape(y, {x.dim(0), positions, w[0], y.dim(2), y.dim(3)}), {0, 2, 1, 3, 4});
}

Tensor ConvTranspose3d(const Tensor& x, const Tensor& weights, const ConvTranspose3dOptions& options,
                       Where where) {
  CompositeCall call("ConvTranspose3d", where, {x, weights});
  if (!call.ok()) return {};
  const std::string wrong = WrongVolumes(x, weights, "[C_in, C_out / groups, kd, kh, kw]", options.groups,
                                         options.strides, options.dilations, options.padding);
  if (!wrong.empty()) return call.Fail(wrong);
  if (x.dim(1) != weights.dim(0)) {
    return call.Fail(absl::StrCat("has volumes of ", x.dim(1), " channels and weights for ", weights.dim(0)));
  }
  for (size_t i = 0; i < 3; ++i) {
    if (options.output_padding[i] >= 0 && options.output_padding[i] < options.strides[i]) continue;
    return call.Fail(absl::StrCat("has an output_padding of ", options.output_padding[i],
                                  ", which must be below the stride of ", options.strides[i]));
  }
  const Shape w = weights.shape();
  const int64_t depth = (x.dim(2) - 1) * options.strides[0] +
                        kernels::WindowExtent(w[2], options.dilations[0]) + options.output_padding[0] -
                        options.padding[0] - options.padding[1];
  if (x.dim(2) < 1 || depth < 1) {
    return call.Fail(absl::StrCat("makes volumes of depth ", depth, "; the paddings are too large"));
  }
  const Tensor slices =
      Reshape(Transpose(x, {0, 2, 1, 3, 4}), {x.dim(0) * x.dim(2), w[0], x.dim(3), x.dim(4)});
  const Tensor y = ConvTranspose2d(slices, Reshape(weights, {w[0], w[1] * w[2], w[3], w[4]}),
                                   {.strides = OfImages(options.strides),
                                    .padding = OfImages(options.padding),
                                    .output_padding = OfImages(options.output_padding),
                                    .dilations = OfImages(options.dilations),
                                    .groups = options.groups,
                                    .math = options.math});
  if (!y.ok()) return {};
  const Tensor windows = Reshape(y, {x.dim(0), x.dim(2), w[1] * options.groups, w[2], y.dim(2), y.dim(3)});
  return OverlapDepth(Transpose(windows, {0, 2, 3, 1, 4, 5}), options);
}

Tensor MaxPool3d(const Tensor& x, std::array<int64_t, 3> window, const Pool3dOptions& options, Where where) {
  CompositeCall call("MaxPool3d", where, {x});
  if (!call.ok()) return {};
  return PoolVolumes(call, x, window, options,
                     [](const Tensor& y, std::array<int64_t, 2> size, const Pool2dOptions& flat) {
                       return MaxPool2d(y, size, flat);
                     });
}

Tensor AvgPool3d(const Tensor& x, std::array<int64_t, 3> window, const Pool3dOptions& options, Where where) {
  CompositeCall call("AvgPool3d", where, {x});
  if (!call.ok()) return {};
  return PoolVolumes(call, x, window, options,
                     [](const Tensor& y, std::array<int64_t, 2> size, const Pool2dOptions& flat) {
                       return AvgPool2d(y, size, flat);
                     });
}

}  // namespace sinter
