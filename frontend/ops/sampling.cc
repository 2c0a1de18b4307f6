#include "sinter/frontend/ops/sampling.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter {
namespace {

// The places of the pixels of a dimension, between -1 and 1.
Tensor PixelPlaces(Builder& b, int64_t size, DType dtype, bool align_corners) {
  const Tensor i = Cast(b.Iota(I32, {size}), dtype);
  const auto n = static_cast<double>(size);
  if (align_corners) return size == 1 ? i * 0.0 : i * (2 / (n - 1)) - 1.0;
  return (i * 2.0 + 1.0) * (1 / n) - 1.0;
}

// x mirrored at low and high until it is between them.
Tensor Mirrored(const Tensor& x, double low, double high) {
  if (high <= low) return x * 0.0 + low;
  const double span = high - low;
  const Tensor turn = Mod(x - low, 2 * span);
  return Select(turn > span, 2 * span - turn, turn) + low;
}

// Returns places between -1 and 1 as pixels of a dimension of this size.
Tensor PixelsOf(const Tensor& place, int64_t size, const GridSampleOptions& o) {
  const auto n = static_cast<double>(size);
  const Tensor pixel = o.align_corners ? (place + 1.0) * ((n - 1) / 2) : (place + 1.0) * (n / 2) - 0.5;
  switch (o.outside) {
    case OutsidePixels::kZeros:
      // Farther away there are only zeros too.
      return Clamp(pixel, -2, n + 1);
    case OutsidePixels::kBorder:
      return Clamp(pixel, 0, n - 1);
    case OutsidePixels::kReflection:
      return Clamp(o.align_corners ? Mirrored(pixel, 0, n - 1) : Mirrored(pixel, -0.5, n - 0.5), 0, n - 1);
  }
  return pixel;
}

// The images [N, C, H * W] at whole pixels x and y, floats [N, 1, P]: [N, C, P], and zeros outside.
Tensor At(const Tensor& images, const Tensor& x, const Tensor& y, int64_t height, int64_t width) {
  const auto right = static_cast<double>(width - 1), bottom = static_cast<double>(height - 1);
  const Tensor is_inside = x >= 0.0 && x <= right && y >= 0.0 && y <= bottom;
  const Tensor pixel = Cast(Clamp(y, 0, bottom), I32) * width + Cast(Clamp(x, 0, right), I32);
  const Shape shape = {images.dim(0), images.dim(1), x.dim(2)};
  return Select(is_inside, TakeAlong(images, BroadcastTo(pixel, shape), 2), 0.0);
}

Tensor Sampled(const Tensor& x, const Tensor& grid, const GridSampleOptions& o) {
  const int64_t batch = x.dim(0), height = x.dim(2), width = x.dim(3), count = grid.dim(1) * grid.dim(2);
  const Tensor images = Reshape(x, {batch, x.dim(1), height * width});
  const Tensor places = Reshape(grid, {batch, 1, count, 2});
  const Tensor px = PixelsOf(places[{Ellipsis, 0}], width, o),
               py = PixelsOf(places[{Ellipsis, 1}], height, o);
  if (o.interpolation == Interpolation::kNearest) return At(images, Round(px), Round(py), height, width);
  const Tensor left = Floor(px), top = Floor(py);
  const Tensor right = px - left, down = py - top;  // Weights of the pixels beyond.
  return At(images, left, top, height, width) * ((1.0 - right) * (1.0 - down)) +
         At(images, left + 1.0, top, height, width) * (right * (1.0 - down)) +
         At(images, left, top + 1.0, height, width) * ((1.0 - right) * down) +
         At(images, left + 1.0, top + 1.0, height, width) * (right * down);
}

double LowestOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return std::numeric_limits<double>::lowest();
    case DType::kF16:
      return -65504;
    case DType::kBf16:
      return -0x1.fep127;
    default:
      return std::numeric_limits<float>::lowest();
  }
}

// The places of the largest elements of the windows of x, at positions [N, C, h, w].
Tensor PlacesOf(const Tensor& x, std::array<int64_t, 2> window, std::array<int64_t, 2> strides,
                const std::array<int64_t, 4>& padding, const Shape& result) {
  const Tensor padded =
      Pad(x, {0, 0, padding[0], padding[2]}, {0, 0, padding[1], padding[3]}, LowestOf(x.dtype()));
  const Tensor windows = Reshape(Unfold(padded, window, {.strides = strides}),
                                 {x.dim(0), x.dim(1), window[0] * window[1], result[2], result[3]});
  const Tensor largest = ArgMax(windows, 2);
  Builder b(x.function());
  const Tensor row = largest / window[1], column = Rem(largest, window[1]);
  const Tensor y = b.Iota(I32, result, 2) * strides[0] - padding[0] + row;
  return y * x.dim(3) + b.Iota(I32, result, 3) * strides[1] - padding[2] + column;
}

}  // namespace

Tensor AffineGrid(const Tensor& theta, std::array<int64_t, 2> size, bool align_corners, Where where) {
  CompositeCall call("AffineGrid", where, {theta});
  if (!call.ok()) return {};
  if (!IsFloat(theta.dtype()) || theta.rank() != 3 || theta.dim(1) != 2 || theta.dim(2) != 3) {
    return call.Fail("takes floats [N, 2, 3]");
  }
  if (size[0] < 1 || size[1] < 1) {
    return call.Fail(absl::StrCat("makes a grid of ", size[0], "x", size[1], "; expected 1x1 or more"));
  }
  Builder b(theta.function());
  const int64_t batch = theta.dim(0);
  const Tensor x = PixelPlaces(b, size[1], theta.dtype(), align_corners),
               y = ExpandDims(PixelPlaces(b, size[0], theta.dtype(), align_corners), 1);
  std::vector<Tensor> coordinates;
  for (int64_t d = 0; d < 2; ++d) {
    const auto factor = [&](int64_t i) { return Reshape(theta[{Range{}, d, i}], {batch, 1, 1}); };
    coordinates.push_back(factor(0) * x + factor(1) * y + factor(2));
  }
  return Stack(coordinates, -1);
}

Tensor GridSample(const Tensor& x, const Tensor& grid, const GridSampleOptions& options, Where where) {
  CompositeCall call("GridSample", where, {x, grid});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype()) || x.rank() != 4 || x.dim(2) < 1 || x.dim(3) < 1) {
    return call.Fail("takes float images [N, C, H, W] of at least one pixel");
  }
  if (grid.dtype() != x.dtype() || grid.rank() != 4 || grid.dim(0) != x.dim(0) || grid.dim(3) != 2) {
    return call.Fail(absl::StrCat("takes a grid [", x.dim(0), ", H', W', 2] of the images' element type"));
  }
  if (options.interpolation == Interpolation::kBicubic) return call.Fail("samples kNearest or kBilinear");
  return Reshape(Sampled(x, grid, options), {x.dim(0), x.dim(1), grid.dim(1), grid.dim(2)});
}

MaxPool2dPlaces MaxPool2dWithPlaces(const Tensor& x, std::array<int64_t, 2> window,
                                    const Pool2dOptions& options, Where where) {
  CompositeCall call("MaxPool2dWithPlaces", where, {x});
  if (!call.ok()) return {};
  const Tensor values = MaxPool2d(x, window, options, where);
  if (!values.ok()) return {};
  const Pool2dOptions whole = WithWholeWindows(x, window, options);
  return {values, PlacesOf(x, window, whole.strides, whole.padding, values.shape())};
}

Tensor MaxUnpool2d(const Tensor& x, const Tensor& places, std::array<int64_t, 2> size, Where where) {
  CompositeCall call("MaxUnpool2d", where, {x, places});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype()) || x.rank() != 4) return call.Fail("takes float images [N, C, H, W]");
  if ((places.dtype() != DType::kI32 && places.dtype() != DType::kI64) || places.shape() != x.shape()) {
    return call.Fail(absl::StrCat("takes places of type ", TypeString(I32, x.shape())));
  }
  if (size[0] < 1 || size[1] < 1) {
    return call.Fail(absl::StrCat("makes images of ", size[0], "x", size[1], "; expected 1x1 or more"));
  }
  const int64_t images = x.dim(0) * x.dim(1), area = size[0] * size[1], count = x.dim(2) * x.dim(3);
  Builder b(x.function());
  const Tensor at = Reshape(Cast(places, I64), {images, count}) + b.Iota(I64, {images, 1}) * area;
  const Tensor flat = Reshape(at, {images * count});
  const Tensor zeros = b.Zeros(x.dtype(), {images * area});
  const Tensor sum = ScatterAdd(zeros, flat, Reshape(x, {images * count}), 0);
  const Tensor counts = ScatterAdd(zeros, flat, b.Ones(x.dtype(), {images * count}), 0);
  return Reshape(sum / Maximum(counts, 1.0), {x.dim(0), x.dim(1), size[0], size[1]});
}

}  // namespace sinter
