// Convolutions of the builder, and what is made of them.
#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/frontend/ops/window_checks.h"
#include "sinter/kernels/image_geometry.h"

namespace sinter {

Tensor Conv2d(const Tensor& x, const Tensor& weights, const Conv2dOptions& options, Where where) {
  Call call("Conv2d", where, {x, weights});
  if (!call.ok()) return {};
  if (x.rank() != 4) return call.Fail("takes images of shape [N, C, H, W]");
  if (weights.rank() != 4) return call.Fail("takes weights of shape [C_out, C_in / groups, kh, kw]");
  if (!IsFloat(x.dtype()) || x.dtype() != weights.dtype())
    return call.Fail("takes floats of one element type");
  int64_t groups = options.groups;
  if (groups < 1 || x.dim(1) % groups != 0 || weights.dim(0) % groups != 0) {
    return call.Fail(absl::StrCat("has ", groups, " groups, which must divide ", x.dim(1), " input and ",
                                  weights.dim(0), " output channels"));
  }
  if (x.dim(1) / groups != weights.dim(1)) {
    return call.Fail(absl::StrCat("has images of ", x.dim(1), " channels in ", groups,
                                  " groups and weights for ", weights.dim(1),
                                  "; they must be equal a group"));
  }
  if (!CheckWindow(call, "strides", options.strides, 1) ||
      !CheckWindow(call, "dilations", options.dilations, 1) ||
      !CheckWindow(call, "paddings", options.padding, 0) ||
      !CheckWindow(call, "images of sizes", x.shape(), 0) ||
      !CheckWindow(call, "weights of sizes", weights.shape(), 0)) {
    return {};
  }
  Shape shape = {x.dim(0), weights.dim(0)};
  for (int i = 0; i < 2; ++i) {
    int64_t size = kernels::WindowPositions(x.dim(2 + i), options.padding[2 * i], options.padding[2 * i + 1],
                                            kernels::WindowExtent(weights.dim(2 + i), options.dilations[i]),
                                            options.strides[i]);
    if (size < 1 || weights.dim(2 + i) < 1) {
      return call.Fail(absl::StrCat("has a window of ", PairText(weights.dim(2), weights.dim(3)),
                                    " that does not fit images of ", PairText(x.dim(2), x.dim(3))));
    }
    shape.push_back(size);
  }
  mlir::OpBuilder& builder = call.b().builder();
  auto* context = builder.getContext();
  mlir::Value result = builder.create<ir::Conv2dOp>(
      call.loc(), call.type(x.dtype(), shape), call.value(0), call.value(1), mlir::Value(),
      builder.getDenseI64ArrayAttr(options.strides), builder.getDenseI64ArrayAttr(options.padding),
      builder.getDenseI64ArrayAttr(options.dilations), builder.getI64IntegerAttr(groups),
      ir::ImageLayoutAttr::get(context, ir::ImageLayout::nchw),
      ir::ActivationAttr::get(context, ir::Activation::none),
      ir::MathModeAttr::get(context, static_cast<ir::MathMode>(options.math)));
  return call.Done(result);
}

Tensor ConvTranspose2d(const Tensor& x, const Tensor& weights, const ConvTranspose2dOptions& options,
                       Where where) {
  Call call("ConvTranspose2d", where, {x, weights});
  if (!call.ok()) return {};
  if (x.rank() != 4) return call.Fail("takes images of shape [N, C, H, W]");
  if (weights.rank() != 4) return call.Fail("takes weights of shape [C_in, C_out / groups, kh, kw]");
  if (!IsFloat(x.dtype()) || x.dtype() != weights.dtype())
    return call.Fail("takes floats of one element type");
  const int64_t groups = options.groups;
  if (groups < 1 || x.dim(1) % groups != 0) {
    return call.Fail(
        absl::StrCat("has ", groups, " groups, which must divide ", x.dim(1), " input channels"));
  }
  if (x.dim(1) != weights.dim(0)) {
    return call.Fail(absl::StrCat("has images of ", x.dim(1), " channels and weights for ", weights.dim(0)));
  }
  if (!CheckWindow(call, "strides", options.strides, 1) ||
      !CheckWindow(call, "dilations", options.dilations, 1) ||
      !CheckWindow(call, "paddings", options.padding, 0) ||
      !CheckWindow(call, "output_padding", options.output_padding, 0) ||
      !CheckWindow(call, "images of sizes", x.shape(), 0) ||
      !CheckWindow(call, "weights of sizes", weights.shape(), 1)) {
    return {};
  }
  Shape shape = {x.dim(0), weights.dim(1) * groups};
  for (size_t i = 0; i < 2; ++i) {
    const auto d = static_cast<int64_t>(i);
    if (options.output_padding[i] >= options.strides[i]) {
      return call.Fail(absl::StrCat("has an output_padding of ", options.output_padding[i],
                                    ", which must be below the stride of ", options.strides[i]));
    }
    const int64_t size = (x.dim(2 + d) - 1) * options.strides[i] +
                         kernels::WindowExtent(weights.dim(2 + d), options.dilations[i]) +
                         options.output_padding[i] - options.padding[2 * i] - options.padding[2 * i + 1];
    if (x.dim(2 + d) < 1 || size < 1) {
      return call.Fail(absl::StrCat("makes images of size ", size, " in dimension ", 2 + d,
                                    "; the paddings are too large"));
    }
    shape.push_back(size);
  }
  if (!CheckWindow(call, "results of sizes", shape, 0)) return {};
  // A convolution of the result with these weights gives x's sizes, so this is its gradient towards its
  // images.
  mlir::OpBuilder& builder = call.b().builder();
  auto* context = builder.getContext();
  mlir::Value result = builder.create<ir::Conv2dInputGradOp>(
      call.loc(), call.type(x.dtype(), shape), call.value(0), call.value(1),
      builder.getDenseI64ArrayAttr(options.strides), builder.getDenseI64ArrayAttr(options.padding),
      builder.getDenseI64ArrayAttr(options.dilations), builder.getI64IntegerAttr(groups),
      ir::ImageLayoutAttr::get(context, ir::ImageLayout::nchw),
      ir::ActivationAttr::get(context, ir::Activation::none),
      ir::MathModeAttr::get(context, static_cast<ir::MathMode>(options.math)));
  return call.Done(result);
}

Tensor Conv1d(const Tensor& x, const Tensor& weights, const Conv1dOptions& options, Where where) {
  CompositeCall call("Conv1d", where, {x, weights});
  if (!call.ok()) return {};
  if (x.rank() != 3) return call.Fail("takes signals of shape [N, C, L]");
  if (weights.rank() != 3) return call.Fail("takes weights of shape [C_out, C_in / groups, k]");
  return Squeeze(Conv2d(ExpandDims(x, 2), ExpandDims(weights, 2),
                        {.strides = {1, options.stride},
                         .padding = {0, 0, options.padding[0], options.padding[1]},
                         .dilations = {1, options.dilation},
                         .groups = options.groups,
                         .math = options.math}),
                 2);
}

Tensor ConvTranspose1d(const Tensor& x, const Tensor& weights, const ConvTranspose1dOptions& options,
                       Where where) {
  CompositeCall call("ConvTranspose1d", where, {x, weights});
  if (!call.ok()) return {};
  if (x.rank() != 3) return call.Fail("takes signals of shape [N, C, L]");
  if (weights.rank() != 3) return call.Fail("takes weights of shape [C_in, C_out / groups, k]");
  return Squeeze(ConvTranspose2d(ExpandDims(x, 2), ExpandDims(weights, 2),
                                 {.strides = {1, options.stride},
                                  .padding = {0, 0, options.padding[0], options.padding[1]},
                                  .output_padding = {0, options.output_padding},
                                  .dilations = {1, options.dilation},
                                  .groups = options.groups,
                                  .math = options.math}),
                 2);
}

namespace {

// Returns weights that copy each element of a window to a channel of its own.
Tensor WindowWeights(const Tensor& x, int64_t channels, const std::array<int64_t, 2>& window) {
  Builder b(x.function());
  const int64_t area = window[0] * window[1];
  const Tensor places = OneHot(b.Iota(I32, {area}), area, x.dtype());
  return Reshape(Tile(places, {channels, 1}), {channels * area, 1, window[0], window[1]});
}

Conv2dOptions WindowOptions(const UnfoldOptions& options, int64_t channels) {
  return {.strides = options.strides,
          .padding = options.padding,
          .dilations = options.dilations,
          .groups = channels};
}

}  // namespace

Tensor Unfold(const Tensor& x, std::array<int64_t, 2> window, const UnfoldOptions& options, Where where) {
  CompositeCall call("Unfold", where, {x});
  if (!call.ok()) return {};
  if (x.rank() != 4 || !IsFloat(x.dtype())) return call.Fail("takes float images of shape [N, C, H, W]");
  if (window[0] < 1 || window[1] < 1 || x.dim(1) < 1) return call.Fail("needs a window of 1x1 or more");
  const Tensor parts = Conv2d(x, WindowWeights(x, x.dim(1), window), WindowOptions(options, x.dim(1)));
  return parts.ok() ? Flatten(parts, 2) : Tensor();
}

Tensor Fold(const Tensor& x, std::array<int64_t, 2> image, std::array<int64_t, 2> window,
            const UnfoldOptions& options, Where where) {
  CompositeCall call("Fold", where, {x});
  if (!call.ok()) return {};
  if (x.rank() != 3 || !IsFloat(x.dtype())) return call.Fail("takes floats of shape [N, C * kh * kw, L]");
  const int64_t area = window[0] * window[1];
  if (window[0] < 1 || window[1] < 1 || x.dim(1) < 1 || x.dim(1) % area != 0) {
    return call.Fail(absl::StrCat("has windows of ", PairText(window[0], window[1]),
                                  ", which must divide the ", x.dim(1), " channels"));
  }
  const int64_t channels = x.dim(1) / area;
  std::array<int64_t, 2> positions, rest;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t extent = kernels::WindowExtent(window[i], options.dilations[i]);
    const int64_t padded = image[i] + options.padding[2 * i] + options.padding[2 * i + 1];
    if (options.strides[i] < 1 || options.dilations[i] < 1 || padded < extent) {
      return call.Fail(absl::StrCat("has a window of ", PairText(window[0], window[1]),
                                    " that does not fit images of ", PairText(image[0], image[1])));
    }
    positions[i] = (padded - extent) / options.strides[i] + 1;
    rest[i] = (padded - extent) % options.strides[i];
  }
  if (x.dim(2) != positions[0] * positions[1]) {
    return call.Fail(absl::StrCat("has ", x.dim(2), " windows, and images of ", PairText(image[0], image[1]),
                                  " have ", positions[0] * positions[1]));
  }
  return ConvTranspose2d(Reshape(x, {x.dim(0), x.dim(1), positions[0], positions[1]}),
                         WindowWeights(x, channels, window),
                         {.strides = options.strides,
                          .padding = options.padding,
                          .output_padding = rest,
                          .dilations = options.dilations,
                          .groups = channels});
}

}  // namespace sinter
